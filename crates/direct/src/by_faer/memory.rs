//! Memory for a factor and for scratch, requested so that a failed allocation is an error.

use faer::dyn_stack::{MemBuffer, StackReq};

use crate::DirectError;

/// Allocates `length` values and the scratch of `request`, on the first call.
pub(crate) fn reserve(
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
