//! Rows of the results: one for each scene, size and method.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Outcome;
use crate::solve::Times;

/// An animation, and how many of its systems are solved.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Case {
    pub(crate) scene: String,
    pub(crate) tessellation: String,
    /// The factor of all stiffnesses, and the most iterations of Newton's method in a step.
    pub(crate) stiffness: String,
    pub(crate) newton: String,
    pub(crate) systems: usize,
    pub(crate) vertices: usize,
}

impl Case {
    /// Whether this is cotton on the regular tessellation, in the steps of the paper.
    pub(crate) fn is_plain(&self) -> bool {
        (&*self.tessellation, &*self.stiffness, &*self.newton) == ("regular", "1", "1")
    }

    /// The folder of the animation.
    pub(crate) fn folder(&self) -> String {
        format!("cloth_{}", self.to_string().replace(',', "_"))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scene, tessellation, stiffness, newton, systems, vertices } = self;
        write!(f, "{scene},{tessellation},{stiffness},{newton},{systems},{vertices}")
    }
}

/// The sums over all systems of an animation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) case: Case,
    pub(crate) method: String,
    pub(crate) systems: usize,
    /// Seconds of setups.
    pub(crate) setup: f64,
    /// Iterations and seconds of the solves: to the norm of the preconditioner, and to the true residual.
    pub(crate) iterations: [usize; 2],
    pub(crate) solve: [f64; 2],
    /// The number of solves that failed; they count in no mean.
    pub(crate) failed: [usize; 2],
    pub(crate) unknowns: usize,
}

impl Row {
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
        let Self { case, method, systems, setup, unknowns, .. } = self;
        let ([own, true_], [short, long], [failed, lost]) = (self.iterations, self.solve, self.failed);
        write!(f, "{case},{method},{unknowns},{systems},{setup:.5},")?;
        write!(f, "{own},{short:.5},{true_},{long:.5},{failed},{lost}")
    }
}

impl FromStr for Row {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(line: &str) -> Outcome<Self> {
        let words: Vec<&str> = line.split(',').collect();
        let unlike = "a row of another form: measure it again with this bench";
        let &[scene, tessellation, stiffness, newton, asked, vertices, method, ref rest @ ..] = &words[..]
        else {
            return Err(unlike.into());
        };
        let &[unknowns, systems, setup, own, short, other, long, failed, lost] = rest else {
            return Err(unlike.into());
        };
        let [scene, tessellation, stiffness, newton] =
            [scene, tessellation, stiffness, newton].map(str::to_owned);
        let (asked, vertices) = (asked.parse()?, vertices.parse()?);
        Ok(Self {
            case: Case { scene, tessellation, stiffness, newton, systems: asked, vertices },
            method: method.to_owned(),
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
        let read = |(k, line): (usize, &str)| {
            line.parse().map_err(|error| format!("{}, line {}: {error}", file.display(), k + 1).into())
        };
        let rows = text.lines().enumerate().map(read).collect::<Outcome<_>>()?;
        Ok(Self { file: file.to_owned(), rows })
    }

    pub(crate) fn has(&self, case: &Case, method: &str) -> bool {
        self.rows.iter().any(|row| row.case == *case && row.method == method)
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: Row) -> Outcome<()> {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.file)?;
        writeln!(file, "{row}")?;
        self.rows.push(row);
        Ok(())
    }
}
