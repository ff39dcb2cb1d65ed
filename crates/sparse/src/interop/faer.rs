//! Conversions for `faer`. Its matrices use one integer type for offsets and columns, and may have unsorted
//! rows and gaps between rows.
//!
//! [`Bsr`] has `u32` columns and `usize` offsets, so no index type of faer can borrow both. [`view`] borrows
//! columns and values. Its offsets, 4 bytes per row, come from [`narrow_offsets`]. The owned conversions move
//! offsets and values, and convert the columns to `usize`, the usual index type of faer.

use crate::Bsr;
use ::faer::Index;
use ::faer::sparse::{
    SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseColMat, SymbolicSparseRowMat,
    SymbolicSparseRowMatRef,
};
use coarsen_core::Real;

use super::InteropError;
use super::compressed::{check_scalar, from_rows, into_columns, into_rows, narrow, transpose, widen};

/// Returns the row offsets as `u32`, for [`view`].
///
/// # Errors
/// [`InteropError::TooLarge`] for more than `u32::MAX` entries.
pub fn narrow_offsets<T: Real>(a: &Bsr<T>) -> Result<Vec<u32>, InteropError> {
    narrow("entries", a.nnz())?;
    a.pattern().offsets().iter().map(|&o| narrow("entries", o)).collect()
}

/// Returns a borrowed view of a matrix with 1x1 blocks; columns and values are not copied.
///
/// *Cost*: one pass over offsets and columns, in which faer checks the structure.
///
/// ```
/// let a = coarsen_sparse::Bsr::<f64>::identity(3, 1)?;
/// let offsets = coarsen_sparse::interop::faer::narrow_offsets(&a)?;
/// let view = coarsen_sparse::interop::faer::view(&a, &offsets)?;
/// assert_eq!((view.nrows(), view.val()), (3, &[1.0; 3][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`InteropError::Blocks`] for larger blocks, [`InteropError::Offsets`] for offsets of a different matrix.
pub fn view<'a, T: Real>(
    a: &'a Bsr<T>,
    offsets: &'a [u32],
) -> Result<SparseRowMatRef<'a, u32, T>, InteropError> {
    check_scalar(a)?;
    let own = a.pattern().offsets();
    if offsets.len() != own.len() || own.iter().zip(offsets).any(|(&o, &n)| o != n as usize) {
        return Err(InteropError::Offsets {
            expected: own.len(),
            entries: a.nnz(),
            found: offsets.len(),
            end: offsets.last().map_or(0, |&o| o as usize),
        });
    }
    let (rows, columns) = a.shape();
    let symbolic = SymbolicSparseRowMatRef::new_checked(rows, columns, offsets, None, a.pattern().indices());
    Ok(SparseRowMatRef::new(symbolic, a.values()))
}

/// Returns the matrix by rows. Values and offsets are moved if blocks are 1x1 and the pattern is not shared.
///
/// # Errors
/// [`InteropError::Sparse`] if there are too many scalars for the index types of [`Bsr`].
pub fn into_row_mat<T: Real>(a: Bsr<T>) -> Result<SparseRowMat<usize, T>, InteropError> {
    let (rows, columns) = a.shape();
    let (offsets, indices, values) = into_rows(a)?;
    let symbolic = SymbolicSparseRowMat::new_checked(rows, columns, offsets, None, widen(indices));
    Ok(SparseRowMat::new(symbolic, values))
}

/// Returns the matrix by columns, which are the compressed rows of its transpose.
///
/// # Errors
/// The errors of [`into_row_mat`].
pub fn to_col_mat<T: Real>(a: &Bsr<T>) -> Result<SparseColMat<usize, T>, InteropError> {
    let (rows, columns) = a.shape();
    let (offsets, indices, values) = into_columns(a)?;
    let symbolic = SymbolicSparseColMat::new_checked(rows, columns, offsets, None, widen(indices));
    Ok(SparseColMat::new(symbolic, values))
}

/// Returns a matrix from rows with any index type, in one pass. Gaps are removed, unsorted rows are sorted,
/// and duplicates are summed.
///
/// # Errors
/// [`InteropError::TooLarge`] for sizes beyond `u32`.
pub fn from_row_mat<T: Real, I: Index>(m: SparseRowMatRef<'_, I, T>) -> Result<Bsr<T>, InteropError> {
    from_rows((m.nrows(), m.ncols()), |i| (m.symbolic().col_idx_of_row(i), m.val_of_row(i)))
}

/// Returns a matrix from columns with any index type, in one pass and a transpose.
///
/// # Errors
/// The errors of [`from_row_mat`].
pub fn from_col_mat<T: Real, I: Index>(m: SparseColMatRef<'_, I, T>) -> Result<Bsr<T>, InteropError> {
    transpose(&from_rows((m.ncols(), m.nrows()), |j| (m.symbolic().row_idx_of_col(j), m.val_of_col(j)))?)
}
