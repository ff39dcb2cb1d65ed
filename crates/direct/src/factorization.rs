//! What the factorisations have in common: their trait, and what they say of themselves.

use coarsen_sparse::Bsr;

use crate::DirectError;

/// One factorisation of one sparsity pattern: what `cholesky.rs`, `ldlt.rs` and `lu.rs` implement.
pub(crate) trait Factorization: Send + Sync {
    /// Computes the factors of a matrix of the planned pattern, in place of older ones; allocates on the first call only,
    /// as far as the method can promise it.
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError>;
    /// x = A⁻¹ x.
    fn solve(&mut self, x: &mut [f64]);
    /// x = A⁻ᵀ x.
    fn solve_transpose(&mut self, x: &mut [f64]) {
        self.solve(x);
    }
    /// Sizes, as far as they are known.
    fn figures(&self) -> Figures;
}

/// What the pivots say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pivots {
    pub(crate) inertia: Option<Inertia>,
    /// The row whose pivot is smallest against the row's own entries, and that ratio.
    pub(crate) weakest: Option<(usize, f64)>,
}

/// How many eigenvalues are positive and negative: the signs of the pivots (Sylvester's law of inertia).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inertia {
    /// Positive eigenvalues.
    pub positive: usize,
    /// Negative eigenvalues.
    pub negative: usize,
}

/// The size of a factorisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Entries of L, diagonal included; unknown for LU, whose fill depends on its pivots.
    pub nnz: Option<usize>,
    /// Bytes of the factor, its structure and its copy of the matrix; without L and U for LU.
    pub bytes: usize,
    /// Bytes of the buffer for dense products that each thread keeps which factors, about twice its last cache; 0 where no dense products are
    /// made. One buffer serves all factors of a thread.
    pub products: usize,
    /// Multiplications and additions of the numeric factorisation; unknown for LU.
    pub flops: Option<f64>,
}
