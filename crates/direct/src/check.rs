//! What a matrix must be before it is factored, and room for its factor, asked for where it may be refused.

use coarsen_core::Real;
use coarsen_sparse::Bsr;
use faer::dyn_stack::{MemBuffer, StackReq};

use crate::DirectError;

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
