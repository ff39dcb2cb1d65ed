//! The arguments of the bench, without those of Cargo.

use std::path::{Path, PathBuf};

/// The particles of all tables but `states`, `full`, `frames` and `stretched`.
const PARTICLES: usize = 8000;

/// The keys of values.
const KEYS: &str = "scenes, particles, frames, runs, methods, most, threads, states and results";

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The tables in the order of the arguments; none for those that are made without a name.
    pub(crate) tables: Vec<String>,
    pub(crate) scenes: Option<Vec<String>>,
    pub(crate) particles: Option<usize>,
    pub(crate) frames: Option<usize>,
    pub(crate) states: PathBuf,
    pub(crate) runs: Option<PathBuf>,
    pub(crate) methods: Option<Vec<String>>,
    /// The most states of a scene.
    pub(crate) most: usize,
    pub(crate) threads: usize,
    pub(crate) results: PathBuf,
}

/// An argument that the bench does not take.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentError {
    /// A word that is neither a table nor a key with a value.
    #[error(
        "`{word}` is no argument of this bench: a TABLE is one of {tables}, and KEY=VALUE has a key of {KEYS}; --help \
         explains them"
    )]
    Unknown {
        word: String,
        /// The names of all tables.
        tables: String,
    },
    /// A value that is not a number of its range.
    #[error("`{key}={found}`: expected a whole number of {least} or more")]
    Number {
        key: &'static str,
        /// The value.
        found: String,
        least: usize,
    },
}

impl Asked {
    /// The number of particles of a scene.
    pub(crate) fn particles(&self) -> usize {
        self.particles.unwrap_or(PARTICLES)
    }

    /// Reads the arguments; `None` if they ask for help. `tables` are the names of all tables, and states and results are
    /// in the folder `temporary` unless others are named.
    pub(crate) fn parse(
        words: impl IntoIterator<Item = String>,
        tables: &[&str],
        temporary: &Path,
    ) -> Result<Option<Self>, ArgumentError> {
        let mut asked = Self {
            tables: Vec::new(),
            scenes: None,
            particles: None,
            frames: None,
            states: temporary.join("mpm_states"),
            runs: None,
            methods: None,
            most: usize::MAX,
            threads: 2,
            results: temporary.join("mpm.csv"),
        };
        let number = |key: &'static str, found: &str, least: usize| {
            let value = found.parse().ok().filter(|value: &usize| *value >= least);
            value.ok_or_else(|| ArgumentError::Number { key, found: found.to_owned(), least })
        };
        let list = |text: &str| Some(text.split(',').map(str::to_owned).collect());
        for word in words {
            match word.split_once('=') {
                Some(("scenes", text)) => asked.scenes = list(text),
                Some(("particles", text)) => asked.particles = Some(number("particles", text, 1)?),
                Some(("frames", text)) => asked.frames = Some(number("frames", text, 0)?),
                Some(("most", text)) => asked.most = number("most", text, 1)?,
                Some(("states", text)) => asked.states = text.into(),
                Some(("runs", text)) => asked.runs = Some(text.into()),
                Some(("methods", text)) => asked.methods = list(text),
                Some(("threads", text)) => asked.threads = number("threads", text, 0)?,
                Some(("results", text)) => asked.results = text.into(),
                None if word == "--help" || word == "-h" => return Ok(None),
                None if word == "--bench" => {} // from Cargo
                None if tables.contains(&word.as_str()) => asked.tables.push(word),
                _ => return Err(ArgumentError::Unknown { word, tables: tables.join(", ") }),
            }
        }
        Ok(Some(asked))
    }
}
