//! Rows of the results: one for each method on each scene.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Outcome;

/// How a method solved one step, or the mean of the steps of several frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Table with the number of threads, scene, particles, frames and method.
    pub(crate) key: String,
    /// The number of free nodes.
    pub(crate) nodes: usize,
    /// Whether all steps converged.
    pub(crate) converged: bool,
    /// Iterations of the descent, and of its linear solves.
    pub(crate) outer: f64,
    pub(crate) inner: f64,
    /// Seconds of descents, assemblies and setups, of all steps.
    pub(crate) seconds: f64,
    /// The blocks of the matrices of a hierarchy, from fine to coarse.
    pub(crate) blocks: Vec<usize>,
}

impl Row {
    /// The key of a row of a table that `threads` threads measure.
    pub(crate) fn key(
        (table, threads): (&str, usize),
        scene: &str,
        [particles, frames]: [usize; 2],
        method: &str,
    ) -> String {
        format!("{table}:{threads},{scene},{particles},{frames},{method}")
    }

    /// The frames before the step, of the key.
    pub(crate) fn frame(&self) -> usize {
        self.key.split(',').nth(3).and_then(|word| word.parse().ok()).unwrap_or(0)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, nodes, converged, outer, inner, seconds, blocks } = self;
        let blocks: Vec<String> = blocks.iter().map(usize::to_string).collect();
        write!(f, "{key},{nodes},{converged},{outer:.2},{inner:.2},{seconds:.4},{}", blocks.join("/"))
    }
}

impl FromStr for Row {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(line: &str) -> Outcome<Self> {
        let words: Vec<&str> = line.split(',').collect();
        let (key, &[nodes, converged, outer, inner, seconds, blocks]) = words
            .split_at_checked(5)
            .and_then(|(key, rest)| Some((key, rest.first_chunk()?)))
            .ok_or_else(|| format!("the row `{line}` is short"))?;
        let blocks = blocks.split('/').filter(|word| !word.is_empty());
        Ok(Self {
            key: key.join(","),
            nodes: nodes.parse()?,
            converged: converged.parse()?,
            outer: outer.parse()?,
            inner: inner.parse()?,
            seconds: seconds.parse()?,
            blocks: blocks.map(str::parse).collect::<Result<_, _>>()?,
        })
    }
}

/// The rows of a file, to which rows are appended.
pub(crate) struct Results {
    file: PathBuf,
    rows: Vec<Row>,
}

impl Results {
    /// Reads the rows of a file, if there is one.
    pub(crate) fn read(file: &Path) -> Outcome<Self> {
        let text = if file.exists() { std::fs::read_to_string(file)? } else { String::new() };
        let rows = text.lines().map(str::parse).collect::<Outcome<_>>()?;
        Ok(Self { file: file.to_owned(), rows })
    }

    /// The row of a key.
    pub(crate) fn find(&self, key: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.key == key)
    }

    /// The row of a key, which `make` measures if it is missing.
    pub(crate) fn get(&mut self, key: String, make: impl FnOnce() -> Outcome<Row>) -> Outcome<Row> {
        if let Some(row) = self.find(&key) {
            return Ok(row.clone());
        }
        let row = Row { key, ..make()? };
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.file)?;
        writeln!(file, "{row}")?;
        self.rows.push(row.clone());
        Ok(row)
    }
}
