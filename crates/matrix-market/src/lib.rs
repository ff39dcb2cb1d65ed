//! Matrix Market files: the exchange format of sparse matrices.
//!
//! | file | what |
//! |---|---|
//! | `header` | the banner and the size line, and which sizes are believed |
//! | `read` | [`Source`]: streams, batches of lines, records, on several threads |
//! | `number` | numbers from text, correctly rounded |
//! | `expand` | mirrored triangles, duplicates, zeros |
//! | `write` | whole files or none, numbers that come back |
//! | `dense` | [`Dense`] |
//! | `error` | [`ReadError`], [`WriteError`] |
//!
//! Read: `coordinate` and `array`; `real`, `integer`, `pattern` (values 1); `general`, `symmetric`, `skew-symmetric`; case
//! does not matter. Comments and blank lines may stand anywhere after the banner. A symmetric file may store either
//! triangle, but not both. Entries given twice are summed; zeros that are stored stay.
//!
//! Written: `real`, `coordinate` (symmetric where the matrix is) or `array`; plain, or gzip-ed by the extension.
//!
//! *Reference* Boisvert, Pozo, Remington 1996, "The Matrix Market exchange formats: initial design", NISTIR 5935.

mod dense;
mod error;
mod expand;
mod header;
mod number;
mod read;
mod write;

use std::path::Path;

use coarsen_sparse::Bsr;

pub use self::dense::Dense;
pub use self::error::{Problem, ReadError, WriteError};
pub use self::read::Source;
pub use self::write::{Symmetry, write, write_dense, write_vector};

/// The matrix of a file, plain or gzip-ed, with 1x1 blocks; rectangular ones allowed.
///
/// Both triangles of a symmetric file are filled. An array file gives its entries that are not zero.
/// *Use* [`read_system`] for a matrix to solve with, which refuses what cannot be one; [`Source`] for other streams.
///
/// # Errors
/// [`ReadError`] names the file, the line, what is wrong there and what to do.
pub fn read(path: impl AsRef<Path>) -> Result<Bsr<f64>, ReadError> {
    Source::open(path)?.matrix()
}

/// The matrix of a square system, as [`read`] reads it.
///
/// Refuses a rectangular matrix, and one whose entries cannot reach all rows, at its size line: before anything is
/// allocated for a size that a file merely declares.
///
/// # Errors
/// As [`read`], [`Problem::Rectangular`] and [`Problem::EmptyRows`].
pub fn read_system(path: impl AsRef<Path>) -> Result<Bsr<f64>, ReadError> {
    Source::open(path)?.system()
}

/// A dense matrix: right-hand sides, coordinates, near-kernels. Coordinate files are filled up with zeros.
///
/// # Errors
/// As [`read`].
pub fn read_dense(path: impl AsRef<Path>) -> Result<Dense, ReadError> {
    Source::open(path)?.dense()
}

/// A vector: a file of one column, or of one row.
///
/// # Errors
/// As [`read`], and [`Problem::NotVector`].
pub fn read_vector(path: impl AsRef<Path>) -> Result<Vec<f64>, ReadError> {
    Source::open(path)?.vector()
}
