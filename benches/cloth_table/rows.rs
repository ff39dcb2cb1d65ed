//! Rows of the results: one for each scene, size and method.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Outcome;
use crate::solve::Times;

/// The sums over all systems of an animation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Scene, tessellation, stiffness, iterations of Newton's method in a step, vertices and method.
    pub(crate) key: String,
    pub(crate) systems: usize,
    /// Seconds of setups.
    pub(crate) setup: f64,
    /// Iterations and seconds of the solves: to the norm of the preconditioner, and to the true residual.
    pub(crate) iterations: [usize; 2],
    pub(crate) solve: [f64; 2],
    /// The number of solves that failed; they count in no mean.
    pub(crate) failed: [usize; 2],
    /// The number of unknowns.
    pub(crate) unknowns: usize,
}

impl Row {
    /// The key of a row.
    pub(crate) fn key(
        scene: &str,
        tessellation: &str,
        [stiffness, newton]: [&str; 2],
        vertices: usize,
        method: &str,
    ) -> String {
        format!("{scene},{tessellation},{stiffness},{newton},{vertices},{method}")
    }

    /// Adds a solve.
    pub(crate) fn add(&mut self, times: &Times) {
        self.systems += 1;
        self.setup += times.setup;
        self.unknowns = times.unknowns;
        for k in 0..2 {
            self.failed[k] += usize::from(times.failed[k]);
            self.iterations[k] += times.iterations[k];
            self.solve[k] += times.solve[k];
        }
    }

    /// Seconds with setups; `None` if a solve failed.
    pub(crate) fn total(&self, norm: usize) -> Option<f64> {
        (self.failed[norm] == 0).then_some(self.setup + self.solve[norm])
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, systems, setup, unknowns, .. } = self;
        let ([own, true_], [short, long], [failed, lost]) = (self.iterations, self.solve, self.failed);
        write!(f, "{key},{unknowns},{systems},{setup:.5},{own},{short:.5},{true_},{long:.5},{failed},{lost}")
    }
}

impl FromStr for Row {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(line: &str) -> Outcome<Self> {
        let words: Vec<&str> = line.split(',').collect();
        let (key, &[unknowns, systems, setup, own, short, other, long, failed, lost]) = words
            .split_at_checked(6)
            .and_then(|(key, rest)| Some((key, rest.first_chunk()?)))
            .ok_or("a row is short: measure it again with this bench")?;
        Ok(Self {
            key: key.join(","),
            unknowns: unknowns.parse()?,
            systems: systems.parse()?,
            setup: setup.parse()?,
            iterations: [own.parse()?, other.parse()?],
            solve: [short.parse()?, long.parse()?],
            failed: [failed.parse()?, lost.parse()?],
        })
    }
}

/// The rows of a file, to which rows are appended.
pub(crate) struct Results {
    file: PathBuf,
    pub(crate) rows: Vec<Row>,
}

impl Results {
    /// Reads the rows of a file, if there is one.
    pub(crate) fn read(file: &Path) -> Outcome<Self> {
        let text = if file.exists() { std::fs::read_to_string(file)? } else { String::new() };
        let rows = text.lines().map(str::parse).collect::<Outcome<_>>()?;
        Ok(Self { file: file.to_owned(), rows })
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.rows.iter().any(|row| row.key == key)
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: Row) -> Outcome<()> {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.file)?;
        writeln!(file, "{row}")?;
        self.rows.push(row);
        Ok(())
    }
}
