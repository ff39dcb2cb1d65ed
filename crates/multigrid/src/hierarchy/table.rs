//! The table of levels and the table of steps.

use std::fmt;

use coarsen_backend::Backend;
use coarsen_core::Real;

use super::{Hierarchy, Level};
use crate::Coarsening;

/// The bytes of one level by setup step.
#[derive(Clone, Copy, Default)]
struct Bytes {
    coarsening: usize,
    products: usize,
    smoothers: usize,
}

impl Bytes {
    /// Returns the bytes of a level at the place and on the host. Shared patterns count once.
    fn of<T: Real, B: Backend, C: Coarsening<T>>(level: &Level<T, B, C::State>, by: &C) -> Self {
        let (host, coarse) = (&level.host, &level.host.coarse);
        let kernel = coarse.near_kernel.as_ref().map_or(0, |k| 8 * k.size() * k.vectors());
        let points = coarse.positions.as_ref().map_or(0, |x| size_of_val(&x[..]));
        let vectors = coarse.prolongation.shape().0
            + (2 + 3 * usize::from(level.krylov.is_some())) * coarse.prolongation.shape().1;
        Self {
            coarsening: coarse.prolongation.bytes()
                + coarse.aggregates.as_ref().map_or(0, |g| size_of_val(&g[..]))
                + by.state_bytes(&coarse.state)
                + kernel
                + points,
            products: host.matrix.bytes()
                + host.galerkin.bytes()
                + host.spare_bytes()
                + level.transfer.bytes(),
            smoothers: level.smoother.bytes() + level.seen.bytes() + vectors * size_of::<B::Real>(),
        }
    }

    fn all(self) -> usize {
        self.coarsening + self.products + self.smoothers
    }
}

impl<T: Real, B: Backend, C: Coarsening<T>, S> Hierarchy<T, B, C, S> {
    /// Returns the bytes of all levels on the host and at the place. Shared patterns count once.
    pub fn bytes(&self) -> usize {
        self.levels.iter().map(|level| Bytes::of(level, &self.recipe.coarsening).all()).sum::<usize>()
            + self.bottom.bytes()
            + self.seen.bytes()
    }
}

impl<T: Real, B: Backend, C: Coarsening<T>, S> fmt::Display for Hierarchy<T, B, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cycle, name) = (self.recipe.cycle, self.recipe.coarsening.name());
        let (complexity, count) = (self.operator_complexity(), self.levels());
        let levels = if count == 1 { "level" } else { "levels" };
        writeln!(f, "{name}, {cycle:?}-cycle, {count} {levels}, operator complexity {complexity:.2}")?;
        writeln!(f, "level    unknowns    nonzeros   per row   special      dead       MiB")?;
        let row = |f: &mut fmt::Formatter<'_>, l: usize, n: usize, nnz: usize| {
            write!(f, "{l:>5} {n:>11} {nnz:>11} {:>9.1}", nnz as f64 / n.max(1) as f64)
        };
        let mut bytes = Bytes::default();
        for (l, level) in self.levels.iter().enumerate() {
            let (host, here) = (&level.host, Bytes::of(level, &self.recipe.coarsening));
            row(f, l, host.unknowns, host.nnz)?;
            writeln!(f, " {:>9} {:>9} {:>9.1}", host.special, host.coarse.dead.len(), mib(here.all()))?;
            bytes.coarsening += here.coarsening;
            bytes.products += here.products;
            bytes.smoothers += here.smoothers;
        }
        let bottom = self.bottom.bytes();
        row(f, self.levels.len(), self.bottom.size(), self.bottom.nnz())?;
        writeln!(f, " {:>19} {:>9.1}", format!("a {}", self.bottom.kind()), mib(bottom))?;
        let (s, all) = (&self.seconds, bytes.all() + bottom);
        let steps = [
            ("coarsening", s.coarsening, bytes.coarsening),
            ("products", s.products, bytes.products),
            ("smoothers", s.smoothers, bytes.smoothers),
            ("coarse solve", s.bottom, bottom),
            ("together", s.coarsening + s.products + s.smoothers + s.bottom, all),
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
