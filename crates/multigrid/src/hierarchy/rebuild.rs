//! All levels again, in the memory of old levels.
//!
//! A build with another set of nodes keeps the levels that it replaces. The next build fills them again: patterns,
//! matrices, prolongations, plans, smoothers, transfers and vectors change their size within the capacity that they
//! have. The hierarchy in use stays as it is until the new one is complete, so there are two of them. Each also keeps
//! the levels that a smaller set does not need. If a method or a smoother cannot do this, it makes a new object.

use coarsen_backend::{Backend, SetupError, SmootherFacts, check_range};
use coarsen_core::Real;

use super::{Ended, Hierarchy, Host, Level, Seconds, Spare, checked, give_diagonal, term, timed};
use crate::{Coarsening, Coarsest, Grid, Multigrid, SmootherRecipe};

impl<T: Real, B: Backend, C: Coarsening<T>, S> Hierarchy<T, B, C, S> {
    /// Replaces the method. The next update builds all levels with it, for the old or for another pattern.
    ///
    /// *Use* if data of the method belong to one set of nodes, and the set changes. Until the update, cycles
    /// use the old levels.
    pub fn replace_method(&mut self, coarsening: C) {
        (self.recipe.coarsening, self.replaced) = (coarsening, true);
    }

    /// Sets [`JacobiCg::total`](crate::JacobiCg::total) of the coarsest solve, also for later builds; a factor has none.
    pub fn limit_coarsest(&mut self, total: usize) {
        if let Coarsest::Iterative(cg) = &mut self.recipe.coarsest {
            cg.total = total;
            self.bottom.limit(total);
            self.spare.bottom.iter_mut().for_each(|bottom| bottom.limit(total));
        }
    }
}

impl<T: Real, B: Backend, X> Default for Spare<T, B, X> {
    fn default() -> Self {
        Self { levels: Vec::new(), beyond: Vec::new(), bottom: None }
    }
}

impl<T: Real, B: Backend, X> Spare<T, B, X> {
    /// Drops what no build would use: a solver and levels that cannot become others, and all levels below them. A
    /// transfer is kept; it is small beside the smoother.
    pub(super) fn of_use(mut self) -> Self {
        let used = self.levels.iter().take_while(|level| level.smoother.rebuilds()).count();
        if used < self.levels.len() || !self.beyond.iter().all(|level| level.smoother.rebuilds()) {
            self.beyond.clear();
        }
        self.levels.truncate(used);
        self.bottom = self.bottom.filter(|old| old.rebuilds());
        self
    }

    /// Lets go of all patterns that the levels share, so that each is held once.
    pub(super) fn released(mut self) -> Self {
        for level in self.levels.iter_mut().chain(&mut self.beyond) {
            level.smoother.release();
            level.transfer.release();
            level.host.galerkin.release();
            level.host.next = None;
            level.seen.next = None;
        }
        if let Some(bottom) = &mut self.bottom {
            bottom.release();
        }
        self
    }
}

impl<T: Real, B: Backend, X: Clone> Level<T, B, X> {
    /// Becomes the level of another grid, and returns whether the grid can be coarsened; if only a bound forbids it,
    /// `ended` is set.
    pub(super) fn rebuild<C: Coarsening<T, State = X>, S: SmootherRecipe<T, B>>(
        &mut self,
        recipe: &Multigrid<C, S>,
        (grid, above): (&Grid<'_, T>, Option<&X>),
        seconds: &mut Seconds,
        ended: &mut Option<Ended>,
        on: &B,
    ) -> Result<bool, SetupError> {
        let Self { smoother, transfer, residual, coarse_b, coarse_x, coarse_whole, krylov, seen, host } =
            self;
        let by = &recipe.coarsening;
        timed(&mut seconds.smoothers, || {
            term::see(by, grid, above, &mut seen.now)?;
            let a = seen.now.as_ref().unwrap_or(grid.a);
            if grid.depth > 0 && seen.now.is_none() {
                a.check_finite()?; // the finest matrix and sums with a term are checked already
            }
            if !smoother.rebuild(a)? {
                *smoother = recipe.smoothing.smoother(&Grid { a, ..*grid }, on)?;
            }
            Ok::<_, SetupError>(())
        })?;
        let SmootherFacts { radius, inverses, sets, .. } = smoother.facts();
        let (a, grid) = (grid.a, Grid { radius, sets, inverses, ..*grid });
        let coarsened = timed(&mut seconds.coarsening, || by.coarsen_into(&grid, above, &mut host.coarse))?;
        if !coarsened {
            return Ok(false);
        }
        *ended = Ended::slow(host.coarse.prolongation.shape());
        if ended.is_some() {
            return Ok(false);
        }
        if let Some(inverses) = inverses {
            inverses.check_positive(a, by.name())?;
        }
        timed(&mut seconds.products, || {
            host.rebuild(&grid, by)?;
            let (p, transpose) = (&host.coarse.prolongation, host.galerkin.transpose());
            check_range::<T, B::Stored>("the prolongation", p.values())?;
            if !transfer.rebuild(p, transpose)? {
                *transfer = on.transfer(p, transpose)?;
            }
            let (n, coarse) = p.shape();
            on.renew_vector(residual, n)?;
            on.renew_vector(coarse_b, coarse)?;
            on.renew_vector(coarse_x, coarse)?;
            coarse_whole.iter_mut().try_for_each(|v| on.renew_vector(v, coarse))?;
            krylov.iter_mut().flatten().try_for_each(|v| on.renew_vector(v, coarse))?;
            Ok(true)
        })
    }
}

impl<T: Real, X> Host<T, X> {
    /// Computes the next coarser matrix, once `coarse` is the step to it.
    fn rebuild<C: Coarsening<T, State = X>>(&mut self, grid: &Grid<'_, T>, by: &C) -> Result<(), SetupError> {
        let Self { coarse, galerkin, matrix, own, free, unknowns, nnz, special, .. } = self;
        let a = grid.a;
        galerkin.renew(a, &coarse.prolongation)?;
        let made = by.matrix(grid, coarse)?;
        *own = made.is_some();
        match made {
            Some(made) => *matrix = checked(made, &coarse.prolongation)?,
            None => by.product_into(a, coarse, galerkin, matrix)?,
        }
        give_diagonal(matrix, &coarse.dead);
        free.renew(a, matrix);
        if !*own && !by.has_term(Some(&coarse.state)) {
            free.hold(matrix, a, &coarse.prolongation, galerkin.transpose());
        }
        *special = coarse.aggregates.iter().flatten().filter(|&&g| g == u32::MAX).count();
        (*unknowns, *nnz) = (a.shape().0, a.nnz());
        Ok(())
    }
}
