//! New values on old structure.
//!
//! Level by level: the matrix (given, or a Galerkin product), its prolongation where it is not kept, its smoother. Products and
//! smoothers write into what they have, so `Keep::Transfers` allocates nothing.

use coarsen_backend::{Backend, Matrix, Reused, SetupError, Update};
use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern, System};

use super::{Hierarchy, Host, Seconds, give_unit_diagonal, timed};
use crate::{Coarsening, Grid, Keep};

impl<T: Real, B: Backend, C: Coarsening<T>> Update<T> for Hierarchy<T, B, C> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        system.check()?;
        let finest = system.whole()?;
        finest.check_finite()?;
        if self.recipe.keep == Keep::Nothing || !Pattern::same(finest.pattern(), &self.pattern) {
            let same = Pattern::same(finest.pattern(), &self.pattern);
            *self = Self::build(self.recipe.clone(), system, &self.on)?;
            return Ok(if same { Reused::Rest { redone: 1, of: 1 } } else { Reused::Nothing });
        }
        let mut seconds = Seconds::default();
        let grid =
            Grid { a: &*finest, near_kernel: system.near_kernel, positions: system.positions, depth: 0 };
        // What can fail on this pattern is the matrix itself: its smoother sees a bad diagonal before anything is written.
        let mut above: Option<&Host<T>> = None;
        for (depth, level) in self.levels.iter_mut().enumerate() {
            let grid = above.map_or(grid, |host| host.grid(depth));
            timed(&mut seconds.smoothers, || level.smoother.update_from(System::from(grid.a)))?;
            if self.recipe.keep == Keep::Aggregates {
                timed(&mut seconds.coarsening, || {
                    self.recipe.coarsening.refresh(&grid, &mut level.host.coarse)
                })?;
                let host = &mut level.host;
                host.transpose.update(&host.coarse.prolongation, &mut host.restriction)?;
                level.prolongation.set_values(&host.coarse.prolongation)?;
                level.restriction.set_values(&host.restriction)?;
            }
            timed(&mut seconds.products, || level.host.multiply(grid.a))?;
            above = Some(&level.host);
        }
        let coarsest: &Bsr<T> = above.map_or(&finest, |host| &host.matrix);
        timed(&mut seconds.bottom, || self.bottom.update(coarsest))?;
        self.seconds = seconds;
        Ok(Reused::Structure)
    }
}

impl<T: Real> Host<T> {
    /// PᵀAP into the coarse matrix.
    fn multiply(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.galerkin.update(a, &self.coarse.prolongation, &mut self.matrix)?;
        give_unit_diagonal(&mut self.matrix, &self.coarse.dead);
        Ok(())
    }
}
