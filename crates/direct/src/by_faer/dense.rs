//! Eigenvalues and singular values of small matrices by faer.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::{evd, svd};
use faer::{ColMut, MatMut, MatRef, Par, Spec};

use super::products;
use crate::DirectError;
use crate::spectral::{Parts, Spectral};

/// Scratch for either decomposition of an n x n matrix.
pub(crate) struct Decompositions(MemBuffer);

impl Decompositions {
    /// The number of bytes of scratch for matrices of size n.
    pub(crate) fn bytes(n: usize) -> usize {
        scratch(n).unaligned_bytes_required()
    }

    /// Scratch for matrices of size n, or an error with `bytes` if it does not fit in memory.
    pub(crate) fn new(n: usize, bytes: usize) -> Result<Self, DirectError> {
        MemBuffer::try_new(scratch(n)).map(Self).map_err(|_| DirectError::Memory { bytes })
    }
}

/// The scratch that either decomposition of an n x n matrix requires.
fn scratch(n: usize) -> StackReq {
    if n == 0 {
        return StackReq::EMPTY;
    }
    let (vectors, both) = (evd::ComputeEigenvectors::Yes, svd::ComputeSvdVectors::Full);
    let eigen = evd::self_adjoint_evd_scratch::<f64>(n, vectors, Par::Seq, Spec::default());
    eigen.or(svd::svd_scratch::<f64>(n, n, both, both, Par::Seq, Spec::default()))
}

impl Spectral for Decompositions {
    fn eigen(&mut self, parts: Parts<'_>) -> Result<(), DirectError> {
        products::reserve()?;
        let n = parts.spectrum.len();
        let full = MatRef::from_column_major_slice(parts.full, n, n);
        let lambda = ColMut::from_slice_mut(parts.spectrum);
        let v = MatMut::from_column_major_slice_mut(parts.left, n, n);
        let stack = MemStack::new(&mut self.0);
        evd::self_adjoint_evd(full, lambda.as_diagonal_mut(), Some(v), Par::Seq, stack, Spec::default())
            .map_err(|_| DirectError::Spectrum { size: n })
    }

    fn singular(&mut self, parts: Parts<'_>) -> Result<(), DirectError> {
        products::reserve()?;
        let n = parts.spectrum.len();
        let full = MatRef::from_column_major_slice(parts.full, n, n);
        let sigma = ColMut::from_slice_mut(parts.spectrum);
        let u = MatMut::from_column_major_slice_mut(parts.left, n, n);
        let v = MatMut::from_column_major_slice_mut(parts.right, n, n);
        let stack = MemStack::new(&mut self.0);
        svd::svd(full, sigma.as_diagonal_mut(), Some(u), Some(v), Par::Seq, stack, Spec::default())
            .map_err(|_| DirectError::Spectrum { size: n })
    }

    fn multiply(&self, n: usize, right: &[f64], left: &[f64], product: &mut [f64]) {
        faer::linalg::matmul::matmul(
            MatMut::from_column_major_slice_mut(product, n, n),
            faer::Accum::Replace,
            MatRef::from_column_major_slice(right, n, n),
            MatRef::from_column_major_slice(left, n, n).transpose(),
            1.0,
            Par::Seq,
        );
    }
}
