//! Conversions for `nalgebra-sparse`. Its matrices are owned and have `usize` indices.
//!
//! The library has no borrowed matrix type. Offsets and values are moved. Columns are converted, to 8 bytes
//! per entry.

use crate::{Bsr, SparseError, assembly};
use ::nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
use coarsen_core::Real;

use super::InteropError;
use super::compressed::{from_rows, into_columns, into_rows, narrow, transpose, widen};

/// Returns the matrix as CSR. Values and offsets are moved if blocks are 1x1 and the pattern is not shared.
///
/// ```
/// let m = coarsen_sparse::interop::nalgebra_sparse::into_csr(coarsen_sparse::Bsr::<f64>::identity(2, 2)?)?;
/// assert_eq!((m.nrows(), m.nnz(), m.values()), (4, 8, &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0][..]));
/// assert_eq!(coarsen_sparse::interop::nalgebra_sparse::from_csr(&m)?.shape(), (4, 4));
/// # Ok::<(), coarsen_sparse::interop::InteropError>(())
/// ```
///
/// # Errors
/// [`InteropError::TooLarge`] if the library rejects the structure because a count overflows.
pub fn into_csr<T: Real>(a: Bsr<T>) -> Result<CsrMatrix<T>, InteropError> {
    let (rows, columns) = a.shape();
    let (offsets, indices, values) = into_rows(a)?;
    let count = indices.len();
    CsrMatrix::try_from_csr_data(rows, columns, offsets, widen(indices), values).map_err(|_| refused(count))
}

/// Returns the matrix as CSC: the compressed rows of its transpose.
///
/// # Errors
/// As [`into_csr`].
pub fn to_csc<T: Real>(a: &Bsr<T>) -> Result<CscMatrix<T>, InteropError> {
    let (rows, columns) = a.shape();
    let (offsets, indices, values) = into_columns(a)?;
    let count = indices.len();
    CscMatrix::try_from_csc_data(rows, columns, offsets, widen(indices), values).map_err(|_| refused(count))
}

/// Returns the matrix as triplets, row by row.
///
/// # Errors
/// As [`into_csr`].
pub fn into_coo<T: Real>(a: Bsr<T>) -> Result<CooMatrix<T>, InteropError> {
    let (rows, columns) = a.shape();
    let (offsets, indices, values) = into_rows(a)?;
    let count = indices.len();
    let places = (0..rows).flat_map(|i| std::iter::repeat_n(i, offsets[i + 1] - offsets[i])).collect();
    CooMatrix::try_from_triplets(rows, columns, places, widen(indices), values).map_err(|_| refused(count))
}

/// Returns a matrix from CSR; columns are converted in one pass.
///
/// # Errors
/// [`InteropError::TooLarge`] for sizes beyond `u32`.
pub fn from_csr<T: Real>(m: &CsrMatrix<T>) -> Result<Bsr<T>, InteropError> {
    let (offsets, indices, values) = m.csr_data();
    lanes((m.nrows(), m.ncols()), offsets, indices, values)
}

/// Returns a matrix from CSC, in one pass and a transpose.
///
/// # Errors
/// As [`from_csr`].
pub fn from_csc<T: Real>(m: &CscMatrix<T>) -> Result<Bsr<T>, InteropError> {
    let (offsets, indices, values) = m.csc_data();
    transpose(&lanes((m.ncols(), m.nrows()), offsets, indices, values)?)
}

/// Returns a matrix from triplets; duplicates are summed in the order of the list.
///
/// # Errors
/// As [`from_csr`].
pub fn from_coo<T: Real>(m: &CooMatrix<T>) -> Result<Bsr<T>, InteropError> {
    let mut entries = Vec::with_capacity(m.nnz());
    for (i, j, &v) in m.triplet_iter() {
        entries.push((narrow("row", i)?, narrow("column", j)?, v));
    }
    assembly::from_triplets(m.nrows(), m.ncols(), &entries).map_err(|error| match error {
        SparseError::TooLarge { what, count, limit } => InteropError::TooLarge { what, count, limit },
        other => InteropError::Sparse(other),
    })
}

/// Returns compressed rows with `usize` columns.
fn lanes<T: Real>(
    shape: (usize, usize),
    offsets: &[usize],
    indices: &[usize],
    values: &[T],
) -> Result<Bsr<T>, InteropError> {
    from_rows(shape, |i| {
        let range = offsets[i]..offsets[i + 1];
        (indices[range.clone()].iter().copied(), &values[range])
    })
}

/// The error if the library rejects a structure that was checked before: the structure is too large.
fn refused(count: usize) -> InteropError {
    InteropError::TooLarge { what: "entries", count, limit: isize::MAX as usize }
}
