//! The table of levels and the table of steps.

use std::fmt;

use coarsen_backend::Backend;
use coarsen_core::Real;

use super::{CoarseningEnd, Hierarchy, Level};
use crate::Cycle;

/// The bytes of one level by setup step.
#[derive(Clone, Copy, Default)]
struct Bytes {
    coarsening: usize,
    products: usize,
    smoothers: usize,
}

impl Bytes {
    /// Returns the bytes of a level on the backend and on the host. Shared patterns count once, and values that both share
    /// count for the backend.
    fn of<T: Real, B: Backend>(level: &Level<T, B>) -> Self {
        let (host, coarse) = (&level.host, &level.host.coarse);
        let kernel = coarse.near_kernel.as_ref().map_or(0, |k| 8 * k.size() * k.vectors());
        let points = coarse.positions.as_ref().map_or(0, |x| size_of_val(&x[..]));
        let vectors = coarse.prolongation.shape().0
            + (2 + 3 * usize::from(level.vectors.krylov.is_some())
                + usize::from(level.vectors.coarse_whole.is_some()))
                * coarse.prolongation.shape().1;
        Self {
            coarsening: coarse.prolongation.bytes()
                + coarse.aggregates.as_ref().map_or(0, |g| size_of_val(&g[..]))
                + coarse.state_bytes
                + kernel
                + points,
            products: host.matrix.bytes()
                + host.galerkin.bytes()
                + host.workspace_bytes()
                + level.transfer.bytes(),
            smoothers: level.smoother.bytes(host.nnz)
                + level.with_term.bytes()
                + vectors * size_of::<B::Real>(),
        }
    }

    fn all(self) -> usize {
        self.coarsening + self.products + self.smoothers
    }
}

impl<T: Real, B: Backend> Hierarchy<T, B> {
    /// Returns the bytes of all levels on the host and on the backend. Shared patterns count once.
    pub fn bytes(&self) -> usize {
        self.levels.iter().map(|level| Bytes::of(level).all()).sum::<usize>()
            + self.bottom.bytes()
            + self.with_term.bytes()
            + self.given.bytes()
            + self.merged.bytes()
            + self.interleaved.as_ref().map_or(0, |with| with.bytes())
    }
}

/// The size of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelSize {
    /// The number of scalar unknowns.
    pub unknowns: usize,
    /// The number of stored entries of its matrix.
    pub nonzeros: usize,
    /// The number of rows without a coarse unknown, because they are prescribed or hardly coupled.
    pub decoupled: usize,
    /// The number of coarse unknowns without a basis function.
    pub without_basis: usize,
    /// The bytes on the host and on the backend. Shared patterns count once.
    pub bytes: usize,
}

/// A step of a setup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetupStep {
    /// Its name.
    pub step: &'static str,
    /// Its seconds.
    pub seconds: f64,
    /// The bytes of what it made.
    pub bytes: usize,
}

/// What is printed of a hierarchy. It has no type parameters, so that its formatting is compiled once.
struct Table {
    name: &'static str,
    cycle: Cycle,
    complexity: f64,
    /// What the last build took from an earlier one.
    earlier: Option<&'static str>,
    levels: Vec<LevelSize>,
    /// The kind of the coarsest solve.
    bottom: &'static str,
    ended: Option<CoarseningEnd>,
    steps: [SetupStep; 4],
}

impl<T: Real, B: Backend> Hierarchy<T, B> {
    /// The sizes of all levels, from the finest.
    pub fn level_sizes(&self) -> Vec<LevelSize> {
        let size = |level: &Level<T, B>| {
            let host = &level.host;
            LevelSize {
                unknowns: host.unknowns,
                nonzeros: host.nnz,
                decoupled: host.decoupled,
                without_basis: host.coarse.without_basis.len(),
                bytes: Bytes::of(level).all(),
            }
        };
        let bottom = &self.bottom;
        let (unknowns, nonzeros, bytes) = (bottom.size(), bottom.nnz(), bottom.bytes());
        let coarsest = LevelSize { unknowns, nonzeros, decoupled: 0, without_basis: 0, bytes };
        self.levels.iter().map(size).chain([coarsest]).collect()
    }

    /// The steps of the last setup.
    pub fn setup_steps(&self) -> [SetupStep; 4] {
        let mut bytes = Bytes::default();
        for of in self.levels.iter().map(Bytes::of) {
            bytes.coarsening += of.coarsening;
            bytes.products += of.products;
            bytes.smoothers += of.smoothers;
        }
        let s = self.seconds;
        [
            ("coarsening", s.coarsening, bytes.coarsening),
            ("products", s.products, bytes.products),
            ("smoothers", s.smoothers, bytes.smoothers),
            ("coarse solve", s.bottom, self.bottom.bytes()),
        ]
        .map(|(step, time, bytes)| SetupStep { step, seconds: time.as_secs_f64(), bytes })
    }
}

impl<T: Real, B: Backend> fmt::Display for Hierarchy<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = Table {
            name: self.method.name(),
            cycle: self.parameters.cycle,
            complexity: self.operator_complexity(),
            earlier: self.given.earlier,
            levels: self.level_sizes(),
            bottom: self.bottom.name(),
            ended: self.ended,
            steps: self.setup_steps(),
        };
        table.fmt(f)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, cycle, complexity, earlier, levels, ended, bottom, steps } = self;
        let noun = if levels.len() == 1 { "level" } else { "levels" };
        writeln!(f, "{name}, {cycle:?}-cycle, {} {noun}, operator complexity {complexity:.2}", levels.len())?;
        if let Some(parts) = earlier {
            writeln!(f, "{parts} of an earlier build, because the system of the last build had none")?;
        }
        writeln!(f, "level    unknowns    nonzeros   per row decoupled  no basis       MiB")?;
        for (l, level) in levels.iter().enumerate() {
            let LevelSize { unknowns, nonzeros, decoupled, without_basis, bytes } = *level;
            let per_row = nonzeros as f64 / unknowns.max(1) as f64;
            write!(f, "{l:>5} {unknowns:>11} {nonzeros:>11} {per_row:>9.1}")?;
            match l + 1 == levels.len() {
                true => write!(f, " {:>19}", format!("a {bottom}"))?,
                false => write!(f, " {decoupled:>9} {without_basis:>9}")?,
            }
            writeln!(f, " {:>9.1}", mib(bytes))?;
        }
        if let Some(ended) = ended {
            writeln!(f, "coarsening ends here: {ended}")?;
        }
        let seconds = steps.iter().map(|step| step.seconds).sum();
        let together =
            SetupStep { step: "together", seconds, bytes: steps.iter().map(|step| step.bytes).sum() };
        write!(f, "{:<16} {:>11} {:>11}", "step", "seconds", "MiB")?;
        for SetupStep { step, seconds, bytes } in steps.iter().chain([&together]) {
            write!(f, "\n{step:<16} {seconds:>11.3} {:>11.1}", mib(*bytes))?;
        }
        Ok(())
    }
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
