//! The table of levels.

use std::fmt;

use coarsen_backend::Backend;
use coarsen_core::Real;

use super::Hierarchy;
use crate::Coarsening;

impl<T: Real, B: Backend, C: Coarsening<T>> fmt::Display for Hierarchy<T, B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {:?}-cycle, {} levels, operator complexity {:.2}",
            self.recipe.coarsening.name(),
            self.recipe.cycle,
            self.levels(),
            self.operator_complexity()
        )?;
        writeln!(f, "level    unknowns    nonzeros   per row   special      dead       MiB")?;
        let row = |f: &mut fmt::Formatter<'_>, l: usize, n: usize, nnz: usize| {
            write!(f, "{l:>5} {n:>11} {nnz:>11} {:>9.1}", nnz as f64 / n.max(1) as f64)
        };
        for (l, level) in self.levels.iter().enumerate() {
            let host = &level.host;
            row(f, l, host.unknowns, host.nnz)?;
            let mib = host.bytes as f64 / f64::from(1 << 20);
            writeln!(f, " {:>9} {:>9} {mib:>9.1}", host.special, host.coarse.dead.len())?;
        }
        row(f, self.levels.len(), self.bottom.size(), self.bottom.nnz())?;
        writeln!(f, "  solved by a {}", self.bottom.kind())?;
        let s = &self.seconds;
        write!(
            f,
            "seconds: coarsening {:.3}, products {:.3}, smoothers {:.3}, coarse solve {:.3}",
            s.coarsening.as_secs_f64(),
            s.products.as_secs_f64(),
            s.smoothers.as_secs_f64(),
            s.bottom.as_secs_f64()
        )
    }
}
