//! The smoother of a level, with A if the smoother stores no copy.

use coarsen_backend::{Backend, Matrix, NumericBackend, Reused, SetupError, Smoother, SmootherFacts};
use coarsen_backend::{StoredBySmoother, check_storable};
use coarsen_core::{Error, LinearOperator, PreconditionerKind, Real};
use coarsen_sparse::Bsr;

use super::method::Method;
use crate::Grid;

pub(super) struct LevelSmoother<T: Real, B: Backend> {
    smoother: Box<dyn Smoother<B, T>>,
    /// A, unless the smoother stores it.
    a: Option<B::Matrix>,
    /// The smoother for the prepared matrix, if it was built again.
    next: Option<Box<dyn Smoother<B, T>>>,
}

impl<T: Real, B: Backend> LevelSmoother<T, B> {
    pub(super) fn new(
        method: &dyn Method<T, B>,
        grid: &Grid<'_, T>,
        backend: &B,
    ) -> Result<Self, SetupError> {
        let smoother = method.smoother(grid, backend)?;
        let a = match smoother.operator() {
            Some(_) => None,
            None => {
                grid.a.check_finite()?;
                Some(backend.matrix(grid.a)?)
            }
        };
        Ok(Self { smoother, a, next: None })
    }

    /// Returns the smoother and the A of its calls.
    fn parts(&mut self) -> (&mut dyn Smoother<B, T>, &dyn LinearOperator<B::Vector>) {
        let a = self.a.as_ref().map_or(&StoredBySmoother as &dyn LinearOperator<_>, |a| a);
        (&mut *self.smoother, a)
    }

    pub(super) fn pre_smooth(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let (smoother, a) = self.parts();
        smoother.pre_smooth(a, b, x);
    }

    pub(super) fn pre_smooth_residual(&mut self, b: &B::Vector, x: &mut B::Vector, r: &mut B::Vector) {
        let (smoother, a) = self.parts();
        smoother.pre_smooth_residual(a, b, x, r);
    }

    pub(super) fn smooth(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let (smoother, a) = self.parts();
        smoother.smooth(a, b, x);
    }

    pub(super) fn post_smooth(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let (smoother, a) = self.parts();
        smoother.post_smooth(a, b, x);
    }

    /// Returns A.
    pub(super) fn operator(&self) -> &dyn LinearOperator<B::Vector> {
        let own = self.a.as_ref().map(|a| a as &dyn LinearOperator<_>);
        own.or_else(|| self.smoother.operator()).expect("either the level or its smoother stores A")
    }

    /// Returns A, if it is stored as a matrix of the backend.
    pub(super) fn matrix(&self) -> Option<&B::Matrix> {
        self.a.as_ref().or_else(|| self.smoother.matrix())
    }

    /// As [`Smoother::interleaves`].
    pub(super) fn interleaves(&self) -> bool {
        self.smoother.interleaves()
    }

    pub(super) fn kind(&self) -> PreconditionerKind {
        self.smoother.kind()
    }

    /// Whether the smoother solves sets of nodes, so that one step is symmetric.
    pub(super) fn solves_sets(&self) -> bool {
        self.smoother.facts().sets.is_some()
    }

    /// Returns the facts of the matrix of the build or of the last [`prepare`](Self::prepare).
    pub(super) fn facts(&self) -> SmootherFacts<'_, T> {
        self.next.as_ref().unwrap_or(&self.smoother).facts()
    }

    /// As [`Smoother::prepare`]; a smoother that cannot be updated is built again.
    pub(super) fn prepare(
        &mut self,
        method: &dyn Method<T, B>,
        grid: &Grid<'_, T>,
        backend: &B,
    ) -> Result<(), SetupError> {
        self.next = None;
        let is_built_again = self.smoother.prepare(grid.a)? == Reused::Nothing;
        if self.a.is_some() || is_built_again {
            check_storable::<T, B::Stored>("the matrix", grid.a)?;
        }
        if is_built_again {
            self.next = Some(method.smoother(grid, backend)?);
        }
        Ok(())
    }

    /// As [`Smoother::commit`].
    pub(super) fn commit(&mut self, a: &Bsr<T>, backend: &B) -> Result<(), SetupError> {
        match self.next.take() {
            Some(next) => self.smoother = next,
            None => self.smoother.commit(a)?,
        }
        match (self.smoother.operator(), &mut self.a) {
            (Some(_), own) => *own = None,
            (None, Some(own)) => own.set_values(a)?,
            (None, none) => *none = Some(backend.matrix(a)?),
        }
        Ok(())
    }

    /// Returns the bytes of the smoother and of A, which has `nnz` scalars.
    pub(super) fn bytes(&self, nnz: usize) -> usize {
        self.smoother.bytes() + if self.a.is_some() { nnz * size_of::<B::Stored>() } else { 0 }
    }

    pub(super) fn update_on_device(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericBackend,
    {
        self.smoother.update_on_device(fill)
    }
}
