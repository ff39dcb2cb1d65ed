//! Smoothers that only the CPU has.

use coarsen_backend::{Cpu, Reused, SetupError, Smoother, SmootherFacts, StoredBySmoother};
use coarsen_core::{LinearOperator, PreconditionerKind, Real};
use coarsen_sparse::Bsr;

use super::operand::Operand;
use super::{AnyBackend, AnyVector};

/// A smoother of the CPU that stores its matrix, applied to vectors of an [`AnyBackend`].
pub(super) struct CpuSmoother<T: Real, V: Real, S: Real>(pub(super) Box<dyn Smoother<Cpu<V, S>, T>>);

impl<T: Real, V: Real, S: Real> CpuSmoother<T, V, S> {
    fn stored(&self) -> &dyn LinearOperator<Vec<V>> {
        self.0.operator().expect("a smoother of the CPU stores its matrix")
    }
}

impl<T: Real, V: Real, S: Real> LinearOperator<AnyVector<V>> for CpuSmoother<T, V, S> {
    fn shape(&self) -> (usize, usize) {
        self.stored().shape()
    }

    fn apply(&self, x: &AnyVector<V>, y: &mut AnyVector<V>) {
        self.stored().apply(x.inner(), y.inner_mut());
    }

    fn residual(&self, b: &AnyVector<V>, x: &AnyVector<V>, r: &mut AnyVector<V>) {
        self.stored().residual(b.inner(), x.inner(), r.inner_mut());
    }
}

/// The A that each call is given.
type Given<'a, V> = &'a dyn LinearOperator<AnyVector<V>>;

impl<T: Real, V: Real, S: Real> Smoother<AnyBackend<V, S>, T> for CpuSmoother<T, V, S> {
    fn operator(&self) -> Option<&dyn LinearOperator<AnyVector<V>>> {
        Some(self)
    }

    fn kind(&self) -> PreconditionerKind {
        self.0.kind()
    }

    fn pre_smooth(&mut self, _: Given<'_, V>, b: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.pre_smooth(&StoredBySmoother, b.inner(), x.inner_mut());
    }

    fn pre_smooth_residual(
        &mut self,
        _: Given<'_, V>,
        b: &AnyVector<V>,
        x: &mut AnyVector<V>,
        r: &mut AnyVector<V>,
    ) {
        self.0.pre_smooth_residual(&StoredBySmoother, b.inner(), x.inner_mut(), r.inner_mut());
    }

    fn smooth(&mut self, _: Given<'_, V>, b: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.smooth(&StoredBySmoother, b.inner(), x.inner_mut());
    }

    fn post_smooth(&mut self, _: Given<'_, V>, b: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.post_smooth(&StoredBySmoother, b.inner(), x.inner_mut());
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        self.0.facts()
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        self.0.prepare(a)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.0.commit(a)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
