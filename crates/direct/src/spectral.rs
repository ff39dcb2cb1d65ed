//! What a pseudo-inverse asks of an engine: A = V Λ Vᵀ, A = U Σ Vᵀ and one product.

use crate::DirectError;

/// A, and where its decomposition goes; matrices by columns.
pub(crate) struct Parts<'a> {
    /// A.
    pub(crate) full: &'a [f64],
    /// Λ rising, or Σ falling.
    pub(crate) spectrum: &'a mut [f64],
    /// V of the eigenvectors, or U.
    pub(crate) left: &'a mut [f64],
    /// V of the singular vectors.
    pub(crate) right: &'a mut [f64],
}

/// The decompositions of matrices of one size above 0. They allocate nothing but what a thread keeps.
pub(crate) trait Spectral: Send + Sync {
    /// A = V Λ Vᵀ for symmetric A; `right` is scratch.
    fn eigen(&mut self, parts: Parts<'_>) -> Result<(), DirectError>;
    /// A = U Σ Vᵀ; columns of U whose singular value is 0 may be 0.
    fn singular(&mut self, parts: Parts<'_>) -> Result<(), DirectError>;
    /// product = right · leftᵀ, all n x n.
    fn multiply(&self, n: usize, right: &[f64], left: &[f64], product: &mut [f64]);
}
