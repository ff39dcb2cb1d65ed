//! The operations that a pseudo-inverse requires of an engine: A = V Λ Vᵀ, A = U Σ Vᵀ and one product.

use crate::DirectError;

/// A, and the memory for its decomposition; matrices are stored by columns.
pub(crate) struct Parts<'a> {
    /// The matrix A.
    pub(crate) full: &'a [f64],
    /// Λ in ascending order, or Σ in descending order.
    pub(crate) spectrum: &'a mut [f64],
    /// The eigenvectors V, or U.
    pub(crate) left: &'a mut [f64],
    /// The right singular vectors V.
    pub(crate) right: &'a mut [f64],
}

/// The decompositions of matrices of one size above 0. They allocate nothing except the buffer that each
/// thread keeps.
pub(crate) trait Spectral: Send + Sync {
    /// A = V Λ Vᵀ for symmetric A; `right` is scratch.
    fn eigen(&mut self, parts: Parts<'_>) -> Result<(), DirectError>;
    /// A = U Σ Vᵀ; columns of U whose singular value is 0 may be 0.
    fn singular(&mut self, parts: Parts<'_>) -> Result<(), DirectError>;
    /// product = right · leftᵀ, all n x n.
    fn multiply(&self, n: usize, right: &[f64], left: &[f64], product: &mut [f64]);
}
