//! Smoothers that only the CPU has.

use coarsen_backend::{Cpu, SetupError, Smoother, SmootherFacts};
use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind, Real};
use coarsen_sparse::Bsr;

use super::{AnyBackend, AnyVector};

/// A smoother of the CPU, applied to vectors of an [`AnyBackend`].
pub(super) struct CpuSmoother<T: Real, V: Real, S: Real>(pub(super) Box<dyn Smoother<T, Cpu<V, S>>>);

impl<T: Real, V: Real, S: Real> LinearOperator<AnyVector<V>> for CpuSmoother<T, V, S> {
    fn shape(&self) -> (usize, usize) {
        self.0.operator().shape()
    }

    fn apply(&self, x: &AnyVector<V>, y: &mut AnyVector<V>) {
        self.0.operator().apply(x.cpu(), y.cpu_mut());
    }

    fn residual(&self, b: &AnyVector<V>, x: &AnyVector<V>, r: &mut AnyVector<V>) {
        self.0.operator().residual(b.cpu(), x.cpu(), r.cpu_mut());
    }
}

impl<T: Real, V: Real, S: Real> Preconditioner<AnyVector<V>> for CpuSmoother<T, V, S> {
    fn apply(&mut self, r: &AnyVector<V>, z: &mut AnyVector<V>) {
        self.0.apply(r.cpu(), z.cpu_mut());
    }

    fn kind(&self) -> PreconditionerKind {
        self.0.kind()
    }

    fn size(&self) -> Option<usize> {
        self.0.size()
    }
}

impl<T: Real, V: Real, S: Real> Smoother<T, AnyBackend<V, S>> for CpuSmoother<T, V, S> {
    fn operator(&self) -> &dyn LinearOperator<AnyVector<V>> {
        self
    }

    fn pre_smooth(&mut self, b: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.pre_smooth(b.cpu(), x.cpu_mut());
    }

    fn pre_smooth_residual(&mut self, b: &AnyVector<V>, x: &mut AnyVector<V>, r: &mut AnyVector<V>) {
        self.0.pre_smooth_residual(b.cpu(), x.cpu_mut(), r.cpu_mut());
    }

    fn smooth(&mut self, b: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.smooth(b.cpu(), x.cpu_mut());
    }

    fn post_smooth(&mut self, b: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.post_smooth(b.cpu(), x.cpu_mut());
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        self.0.facts()
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.0.prepare(a)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.0.commit(a)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
