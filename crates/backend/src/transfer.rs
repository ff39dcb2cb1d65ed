//! Transfer between two levels on a backend.

use coarsen_core::{LinearOperator, Real};
use coarsen_sparse::{Prolongation, TransposePlan};
use num_traits::one;

use crate::{Backend, Matrix, SetupError};

/// P and Pᵀ on a backend: the transfer between a fine and a coarse level.
///
/// *Implement* if a backend has kernels for weights or identities; [`MatrixTransfer`] works at every backend.
/// *Panics* on vectors of another length.
pub trait Transfer<T: Real, B: Backend>: Send {
    /// Computes x ← x + P x_c.
    fn prolong_add(&self, coarse: &B::Vector, x: &mut B::Vector);

    /// Computes r_c = Pᵀ r.
    fn restrict(&self, r: &B::Vector, coarse: &mut B::Vector);

    /// Returns P, if it is stored as a matrix of the backend.
    fn matrix(&self) -> Option<&B::Matrix> {
        None
    }

    /// Replaces the numbers; the structure stays the same. `transpose` is the transpose plan of P's pattern.
    ///
    /// # Errors
    /// [`SetupError::Matrix`] or [`SetupError::Core`] for a prolongation of another structure or numbers
    /// that storage cannot hold. After an error the numbers must be replaced before the transfer is used.
    fn set_values(&mut self, p: &Prolongation<T>, transpose: &TransposePlan) -> Result<(), SetupError>;

    /// Returns the size of the numbers on the backend in bytes.
    fn bytes(&self) -> usize;
}

/// P and Pᵀ as two matrices of the backend, for any form of P on the host.
///
/// *Cost* one pass over P per use. *Memory* all entries of P, twice.
pub struct MatrixTransfer<B: Backend> {
    prolongation: B::Matrix,
    restriction: B::Matrix,
    bytes: usize,
}

impl<B: Backend> MatrixTransfer<B> {
    /// Copies P and its transpose to the backend.
    ///
    /// # Errors
    /// The errors of [`Backend::matrix`].
    pub fn new<T: Real>(
        backend: &B,
        p: &Prolongation<T>,
        transpose: &TransposePlan,
    ) -> Result<Self, SetupError> {
        let p = p.to_matrix()?;
        Ok(Self::of(backend.matrix(&p)?, backend.matrix(&transpose.build(&p)?)?, p.nnz()))
    }

    /// P and Pᵀ with `entries` stored scalars each.
    pub(crate) fn of(prolongation: B::Matrix, restriction: B::Matrix, entries: usize) -> Self {
        Self { prolongation, restriction, bytes: 2 * entries * size_of::<B::Stored>() }
    }
}

impl<T: Real, B: Backend> Transfer<T, B> for MatrixTransfer<B> {
    fn prolong_add(&self, coarse: &B::Vector, x: &mut B::Vector) {
        self.prolongation.apply_add(one(), coarse, one(), x);
    }

    fn restrict(&self, r: &B::Vector, coarse: &mut B::Vector) {
        self.restriction.apply(r, coarse);
    }

    fn matrix(&self) -> Option<&B::Matrix> {
        Some(&self.prolongation)
    }

    fn set_values(&mut self, p: &Prolongation<T>, transpose: &TransposePlan) -> Result<(), SetupError> {
        let p = p.to_matrix()?;
        self.prolongation.set_values(&*p)?;
        self.restriction.set_values(&transpose.build(&p)?)?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
