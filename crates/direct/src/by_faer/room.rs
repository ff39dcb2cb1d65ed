//! Memory for a factor and for scratch, requested so that a failed allocation is an error.

use faer::dyn_stack::{MemBuffer, StackReq};

use crate::DirectError;
use crate::own::fill;

/// Allocates `length` values and the scratch of `request`, on the first call.
pub(crate) fn room(
    values: &mut Vec<f64>,
    length: usize,
    scratch: &mut MemBuffer,
    request: StackReq,
) -> Result<(), DirectError> {
    if values.len() != length {
        fill(values, length)?;
    }
    if scratch.len() < request.size_bytes() {
        let bytes = request.unaligned_bytes_required();
        *scratch = MemBuffer::try_new(request).map_err(|_| DirectError::Memory { bytes })?;
    }
    Ok(())
}
