//! The table of levels and the table of steps.

use std::fmt;

use coarsen_backend::Backend;
use coarsen_core::Real;

use super::{Ended, Hierarchy, Level, Seconds};
use crate::Cycle;

/// The bytes of one level by setup step.
#[derive(Clone, Copy, Default)]
struct Bytes {
    coarsening: usize,
    products: usize,
    smoothers: usize,
}

impl Bytes {
    /// Returns the bytes of a level on the backend and on the host. Shared patterns count once.
    fn of<T: Real, B: Backend>(level: &Level<T, B>) -> Self {
        let (host, coarse) = (&level.host, &level.host.coarse);
        let kernel = coarse.near_kernel.as_ref().map_or(0, |k| 8 * k.size() * k.vectors());
        let points = coarse.positions.as_ref().map_or(0, |x| size_of_val(&x[..]));
        let vectors = coarse.prolongation.shape().0
            + (2 + 3 * usize::from(level.krylov.is_some()) + usize::from(level.coarse_whole.is_some()))
                * coarse.prolongation.shape().1;
        Self {
            coarsening: coarse.prolongation.bytes()
                + coarse.aggregates.as_ref().map_or(0, |g| size_of_val(&g[..]))
                + coarse.state_bytes
                + kernel
                + points,
            products: host.matrix.bytes()
                + host.galerkin.bytes()
                + host.spare_bytes()
                + level.transfer.bytes(),
            smoothers: level.smoother.bytes(host.nnz) + level.seen.bytes() + vectors * size_of::<B::Real>(),
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
            + self.seen.bytes()
            + self.given.bytes()
            + self.whole.as_ref().map_or(0, |whole| size_of_val(whole.values()))
    }
}

/// What is printed of a hierarchy. It has no type parameters, so that its formatting is compiled once.
struct Table {
    name: &'static str,
    cycle: Cycle,
    complexity: f64,
    /// What the last build took from an earlier one.
    earlier: Option<&'static str>,
    levels: Vec<Row>,
    /// Unknowns, nonzeros, bytes and kind of the coarsest solve.
    bottom: (usize, usize, usize, &'static str),
    ended: Option<Ended>,
    seconds: Seconds,
}

/// A level of the table.
struct Row {
    unknowns: usize,
    nnz: usize,
    decoupled: usize,
    without_basis: usize,
    bytes: Bytes,
}

impl<T: Real, B: Backend> fmt::Display for Hierarchy<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |level: &Level<T, B>| {
            let (host, bytes) = (&level.host, Bytes::of(level));
            let without_basis = host.coarse.without_basis.len();
            Row { unknowns: host.unknowns, nnz: host.nnz, decoupled: host.decoupled, without_basis, bytes }
        };
        let bottom = &self.bottom;
        let table = Table {
            name: self.method.name(),
            cycle: self.recipe.cycle,
            complexity: self.operator_complexity(),
            earlier: self.given.earlier,
            levels: self.levels.iter().map(row).collect(),
            bottom: (bottom.size(), bottom.nnz(), bottom.bytes(), bottom.name()),
            ended: self.ended,
            seconds: self.seconds,
        };
        table.fmt(f)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, cycle, complexity, earlier, levels, ended, .. } = self;
        let ((size, nnz, bottom, kind), s) = (&self.bottom, self.seconds);
        let count = levels.len() + 1;
        let noun = if count == 1 { "level" } else { "levels" };
        writeln!(f, "{name}, {cycle:?}-cycle, {count} {noun}, operator complexity {complexity:.2}")?;
        if let Some(parts) = earlier {
            writeln!(f, "{parts} of an earlier build, because the system of the last build had none")?;
        }
        writeln!(f, "level    unknowns    nonzeros   per row decoupled  no basis       MiB")?;
        let row = |f: &mut fmt::Formatter<'_>, l: usize, n: usize, nnz: usize| {
            write!(f, "{l:>5} {n:>11} {nnz:>11} {:>9.1}", nnz as f64 / n.max(1) as f64)
        };
        let mut bytes = Bytes::default();
        for (l, level) in levels.iter().enumerate() {
            row(f, l, level.unknowns, level.nnz)?;
            writeln!(
                f,
                " {:>9} {:>9} {:>9.1}",
                level.decoupled,
                level.without_basis,
                mib(level.bytes.all())
            )?;
            bytes.coarsening += level.bytes.coarsening;
            bytes.products += level.bytes.products;
            bytes.smoothers += level.bytes.smoothers;
        }
        row(f, levels.len(), *size, *nnz)?;
        writeln!(f, " {:>19} {:>9.1}", format!("a {kind}"), mib(*bottom))?;
        if let Some(ended) = ended {
            writeln!(f, "coarsening ends here: {ended}")?;
        }
        let steps = [
            ("coarsening", s.coarsening, bytes.coarsening),
            ("products", s.products, bytes.products),
            ("smoothers", s.smoothers, bytes.smoothers),
            ("coarse solve", s.bottom, *bottom),
            ("together", s.coarsening + s.products + s.smoothers + s.bottom, bytes.all() + bottom),
        ];
        write!(f, "{:<16} {:>11} {:>11}", "step", "seconds", "MiB")?;
        for (step, time, bytes) in steps {
            write!(f, "\n{step:<16} {:>11.3} {:>11.1}", time.as_secs_f64(), mib(bytes))?;
        }
        Ok(())
    }
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
