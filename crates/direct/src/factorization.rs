//! What the factorisations have in common: their trait, what they say of themselves, and the checks before them.

use coarsen_core::Real;
use coarsen_sparse::Bsr;
use faer::dyn_stack::{MemBuffer, StackReq};

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

/// NaN and infinity, named by row and column.
pub(crate) fn check_finite<T: Real>(a: &Bsr<T>) -> Result<(), DirectError> {
    a.check_finite().map_err(|error| match error {
        coarsen_sparse::SparseError::NotFinite { row, column } => DirectError::NotFinite { row, column },
        _ => DirectError::Pattern,
    })
}

/// |aᵢⱼ − aⱼᵢ| ≤ 64 ε max(|aᵢᵢ|, |aⱼⱼ|), ε of the type the matrix came in: an entry of a stiffness matrix is a sum of a few
/// dozen contributions, added in any order.
pub(crate) fn check_symmetric<T: Real>(a: &Bsr<T>) -> Result<(), DirectError> {
    let Some((row, column)) = a.asymmetric_pair(T::of(64.0) * T::EPSILON) else {
        return Ok(());
    };
    let (here, there) = (a.get(row, column).wide(), a.get(column, row).wide());
    Err(DirectError::NotSymmetric { row, column, here, there })
}

/// Makes room for `length` values and for the scratch that `request` asks for, on the first call.
pub(crate) fn room(
    values: &mut Vec<f64>,
    length: usize,
    scratch: &mut MemBuffer,
    request: StackReq,
) -> Result<(), DirectError> {
    if values.len() != length {
        let bytes = length.saturating_mul(8);
        values.try_reserve_exact(length).map_err(|_| DirectError::Memory { bytes })?;
        values.resize(length, 0.0);
    }
    if scratch.len() < request.size_bytes() {
        let bytes = request.unaligned_bytes_required();
        *scratch = MemBuffer::try_new(request).map_err(|_| DirectError::Memory { bytes })?;
    }
    Ok(())
}
