//! The parts of a hierarchy, for its users.

use coarsen_backend::Backend;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, Prolongation};

use super::Hierarchy;

impl<T: Real, B: Backend> Hierarchy<T, B> {
    /// Returns the number of levels, including the coarsest.
    pub fn levels(&self) -> usize {
        self.levels.len() + 1
    }

    /// Returns the operator complexity: the number of stored scalars of all levels divided by the number on
    /// the finest level.
    pub fn operator_complexity(&self) -> f64 {
        let finest = self.levels.first().map_or(self.bottom.nnz(), |level| level.host.nnz);
        let all: usize = self.levels.iter().map(|level| level.host.nnz).sum::<usize>() + self.bottom.nnz();
        all as f64 / finest.max(1) as f64
    }

    /// Returns the iterations of all coarsest solves since the last build; 0 for a factor.
    pub fn coarsest_iterations(&self) -> usize {
        self.bottom.iterations()
    }

    /// Returns the matrix of a level; level 1 is the level below the finest. `None` for level 0, because the
    /// caller owns the finest matrix.
    pub fn matrix(&self, level: usize) -> Option<&Bsr<T>> {
        self.levels.get(level.checked_sub(1)?).map(|above| &above.host.matrix)
    }

    /// Returns A + T of a level, the matrix of its smoother or of the coarsest solve; `None` if the level has no
    /// [term](crate::Coarse::has_term) T. Level 0 is the finest.
    pub fn matrix_with_term(&self, level: usize) -> Option<&Bsr<T>> {
        let with_term = self.levels.get(level).map(|level| &level.with_term);
        with_term.or((level == self.levels.len()).then_some(&self.with_term))?.now.as_ref()
    }

    /// Returns P from level `level` + 1 to level `level`, 0 for the finest; `None` for the coarsest level.
    pub fn prolongation(&self, level: usize) -> Option<&Prolongation<T>> {
        self.levels.get(level).map(|level| &level.host.coarse.prolongation)
    }

    /// Returns the aggregate of each node of a level, `u32::MAX` for nodes that only relaxation solves;
    /// `None` for the coarsest level, and if the method has no aggregates.
    pub fn aggregates(&self, level: usize) -> Option<&[u32]> {
        self.levels.get(level)?.host.coarse.aggregates.as_deref()
    }

    /// Returns the data of the method for the step from a level to the next coarser level, if it has the type `X`, the
    /// [`State`](crate::Coarsening::State) of the coarsening.
    pub fn state<X: 'static>(&self, level: usize) -> Option<&X> {
        self.levels.get(level)?.host.coarse.state.downcast_ref()
    }

    /// Returns the number of coarse unknowns without a basis function, over all levels.
    pub fn without_basis(&self) -> usize {
        self.levels.iter().map(|level| level.host.coarse.without_basis.len()).sum()
    }
}
