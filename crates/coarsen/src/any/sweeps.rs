//! Sweeps over half of a matrix, for the CPU only.

use coarsen_backend::{Cpu, DenseBlocks, Sweep, Sweeps};
use coarsen_core::{Error, LinearOperator, Real};
use coarsen_sparse::Bsr;

use super::{AnyBackend, AnyVector};

/// Sweeps of the CPU, for vectors of any place.
pub(super) struct HostSweeps<T: Real, V: Real, S: Real>(pub(super) Box<dyn Sweeps<T, Cpu<V, S>>>);

impl<T: Real, V: Real, S: Real> LinearOperator<AnyVector<V>> for HostSweeps<T, V, S> {
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

impl<T: Real, V: Real, S: Real> Sweeps<T, AnyBackend<V, S>> for HostSweeps<T, V, S> {
    fn operator(&self) -> &dyn LinearOperator<AnyVector<V>> {
        self
    }

    fn sweep(&mut self, direction: Sweep, omega: V, b: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.sweep(direction, omega, b.cpu(), x.cpu_mut());
    }

    fn start(&mut self, omega: V, b: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.start(omega, b.cpu(), x.cpu_mut());
    }

    fn start_residual(&mut self, omega: V, b: &AnyVector<V>, x: &mut AnyVector<V>, r: &mut AnyVector<V>) {
        self.0.start_residual(omega, b.cpu(), x.cpu_mut(), r.cpu_mut());
    }

    fn set_values(&mut self, a: &Bsr<T>, d: &DenseBlocks<T>) -> Result<(), Error> {
        self.0.set_values(a, d)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
