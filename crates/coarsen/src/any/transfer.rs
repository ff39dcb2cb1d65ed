//! Transfers between levels on any backend.

use coarsen_backend::{Cpu, SetupError, Transfer};
use coarsen_core::Real;
use coarsen_sparse::{Prolongation, TransposePlan};

use super::any_backend::AnyBackend;
use super::operand::Operand;
use super::vector::AnyVector;

/// A transfer of the CPU, applied to vectors of an [`AnyBackend`].
pub(super) struct HostTransfer<T: Real, V: Real, S: Real>(pub(super) Box<dyn Transfer<T, Cpu<V, S>>>);

impl<T: Real, V: Real, S: Real> Transfer<T, AnyBackend<V, S>> for HostTransfer<T, V, S> {
    fn prolong_add(&self, coarse: &AnyVector<V>, x: &mut AnyVector<V>) {
        self.0.prolong_add(coarse.inner(), x.inner_mut());
    }

    fn restrict(&self, r: &AnyVector<V>, coarse: &mut AnyVector<V>) {
        self.0.restrict(r.inner(), coarse.inner_mut());
    }

    fn set_values(&mut self, p: &Prolongation<T>, transpose: &TransposePlan) -> Result<(), SetupError> {
        self.0.set_values(p, transpose)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
