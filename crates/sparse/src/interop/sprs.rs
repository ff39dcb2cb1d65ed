//! Conversions for `sprs`. Its matrices have any integer type as index, and are CSR or CSC, which is known
//! only at run time.
//!
//! `CsMatI<T, u32, usize>` has the array types of [`Bsr`] and is viewed or moved without a copy. Prefer it to
//! `CsMat<T>`: converting its `usize` columns costs 12 bytes of memory traffic per entry.

use std::ops::Deref;

use crate::Bsr;
use ::sprs::{CsMatBase, CsMatI, CsMatViewI, SpIndex};
use coarsen_core::Real;

use super::InteropError;
use super::compressed::{check_scalar, from_parts, from_rows, into_columns, into_rows, transpose};

/// Returns a borrowed CSR view of a matrix with 1x1 blocks; no array is copied.
///
/// *Cost*: one pass over the columns, in which `sprs` checks the structure.
///
/// ```
/// let a = coarsen_sparse::Bsr::<f64>::identity(3, 1)?;
/// let view = coarsen_sparse::interop::sprs::view(&a)?;
/// assert_eq!((view.shape(), view.is_csr(), view.get(1, 1)), ((3, 3), true, Some(&1.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`InteropError::Blocks`] for larger blocks; [`InteropError::TooLarge`] if `sprs` rejects the structure,
/// which happens for more entries than `isize` can count.
pub fn view<T: Real>(a: &Bsr<T>) -> Result<CsMatViewI<'_, T, u32, usize>, InteropError> {
    check_scalar(a)?;
    let (offsets, indices) = (a.pattern().offsets(), a.pattern().indices());
    CsMatViewI::try_new(a.shape(), offsets, indices, a.values()).map_err(|_| refused(indices.len()))
}

/// Returns the matrix as CSR. Its arrays are moved if blocks are 1x1 and the pattern is not shared.
///
/// # Errors
/// [`InteropError::TooLarge`] as for [`view`]. Blocks of any size are accepted and converted to scalars.
pub fn into_csr<T: Real>(a: Bsr<T>) -> Result<CsMatI<T, u32, usize>, InteropError> {
    let shape = a.shape();
    let (offsets, indices, values) = into_rows(a)?;
    CsMatI::try_new(shape, offsets, indices, values).map_err(|(_, indices, _, _)| refused(indices.len()))
}

/// Returns the matrix as CSC: the compressed rows of its transpose.
///
/// # Errors
/// As [`into_csr`].
pub fn to_csc<T: Real>(a: &Bsr<T>) -> Result<CsMatI<T, u32, usize>, InteropError> {
    let (offsets, indices, values) = into_columns(a)?;
    CsMatI::try_new_csc(a.shape(), offsets, indices, values)
        .map_err(|(_, indices, _, _)| refused(indices.len()))
}

/// Returns a matrix from CSR or CSC with the index types of [`Bsr`]; the arrays of CSR are moved. A part of a
/// matrix is accepted, such as `slice_outer(1..3).to_owned()`.
///
/// # Errors
/// [`InteropError::Sparse`] for the first row that is not sorted, or a size beyond `u32`.
pub fn from_owned<T: Real>(m: CsMatI<T, u32, usize>) -> Result<Bsr<T>, InteropError> {
    let (csr, inner) = (m.is_csr(), m.inner_dims());
    let (mut offsets, indices, values) = m.into_raw_storage();
    // The offsets of a part of another matrix continue its count.
    if let Some(&first) = offsets.first().filter(|first| **first > 0) {
        offsets.iter_mut().for_each(|offset| *offset -= first);
    }
    let a = from_parts(inner, (offsets, indices, values))?;
    if csr { Ok(a) } else { transpose(&a) }
}

/// Returns a matrix from CSR or CSC with any storage and index types, in one pass, and a transpose for CSC.
///
/// # Errors
/// [`InteropError::TooLarge`] for sizes beyond `u32`.
pub fn from_sprs<T, I, Iptr, P, J, D>(m: &CsMatBase<T, I, P, J, D, Iptr>) -> Result<Bsr<T>, InteropError>
where
    T: Real,
    I: SpIndex,
    Iptr: SpIndex,
    P: Deref<Target = [Iptr]>,
    J: Deref<Target = [I]>,
    D: Deref<Target = [T]>,
{
    let (indptr, indices, data) = (m.indptr(), m.indices(), m.data());
    let outer = |i: usize| {
        let range = indptr.outer_inds_sz(i);
        (indices[range.clone()].iter().map(|j| j.index()), &data[range])
    };
    let a = from_rows((m.outer_dims(), m.inner_dims()), outer)?;
    if m.is_csr() { Ok(a) } else { transpose(&a) }
}

/// The error if `sprs` rejects a structure that was checked before: the structure is too large.
fn refused(count: usize) -> InteropError {
    InteropError::TooLarge { what: "entries", count, limit: isize::MAX as usize }
}
