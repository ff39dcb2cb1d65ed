//! Matrix Market files, the exchange format of sparse matrices.
//!
//! | file | what |
//! |---|---|
//! | `header` | the banner and the size line, with plausibility checks of sizes |
//! | `read` | [`Source`]: streams, batches of lines, records, with several threads |
//! | [`read/piece`](read_piece) | one of several pieces of a file |
//! | `number` | conversion of text to numbers, correctly rounded |
//! | `expand` | symmetric entries, sums of duplicates, zeros of dense matrices |
//! | `write` | writing: a complete file or none, with exact numbers |
//! | `dense` | [`Dense`] |
//! | `same_file` | [`is_same_file`], [`is_standard`] |
//! | `error` | [`ReadError`], [`WriteError`] |
//!
//! Reading: `coordinate` and `array`; `real`, `integer`, `complex` and `pattern` (all values are 1); `general`,
//! `symmetric`, `skew-symmetric` and `hermitian`. A complex matrix of n rows is read as the real one of 2n rows in which a + ib
//! is the block [a −b; b a]; a complex vector alternates real and imaginary parts. Case does not matter. Comments and blank lines may occur anywhere after
//! the banner. The banner may start with one `%`, have a blank behind `%%`, or follow a byte order mark. Zeros may
//! follow a gzip stream. A symmetric file may contain either triangle, but not both. Duplicate entries are summed.
//! Stored zeros are kept.
//!
//! Writing: `real`, and `complex` arrays; `coordinate` (`symmetric` if the matrix is symmetric) or `array`; plain or gzip,
//! depending on the extension.
//!
//! *Reference* Boisvert, Pozo, Remington 1996, "The Matrix Market exchange formats: initial design", NISTIR
//! 5935.

mod dense;
mod error;
mod expand;
mod header;
mod number;
mod read;
mod same_file;
mod write;

use std::path::Path;

use coarsen_sparse::Bsr;

pub use self::dense::Dense;
pub use self::error::{Problem, ReadError, WriteError};
pub use self::read::{Piece, Source, read_piece};
pub use self::same_file::{is_same_file, is_standard};
pub use self::write::{Symmetry, print_dense, replace, write, write_dense, write_vector};

/// Reads a matrix from a plain or gzip file, with 1x1 blocks, or 2x2 blocks if it is complex. Rectangular matrices are allowed.
///
/// For a symmetric file, both triangles are filled. For an array file, the nonzero entries are stored. *Use*
/// [`read_system`] for a system to solve; it also checks the shape and the number of entries. *Use*
/// [`Source`] for other streams.
///
/// # Errors
/// [`ReadError`] gives the file, the line, the problem and the remedy.
pub fn read(path: impl AsRef<Path>) -> Result<Bsr<f64>, ReadError> {
    Source::open(path)?.matrix()
}

/// Reads the matrix of a square system; otherwise as [`read`].
///
/// If the matrix is rectangular or has too few entries to fill all rows, an error is returned at the size
/// line, before memory is allocated for the declared sizes.
///
/// # Errors
/// As [`read`], [`Problem::Rectangular`] and [`Problem::EmptyRows`].
pub fn read_system(path: impl AsRef<Path>) -> Result<Bsr<f64>, ReadError> {
    Source::open(path)?.system()
}

/// Reads a dense matrix, for example right-hand sides, coordinates or a near-kernel. Missing entries of a
/// coordinate file are zero.
///
/// # Errors
/// As [`read`].
pub fn read_dense(path: impl AsRef<Path>) -> Result<Dense, ReadError> {
    Source::open(path)?.dense()
}

/// Reads a vector: a file with one column or one row.
///
/// # Errors
/// As [`read`], and [`Problem::NotVector`].
pub fn read_vector(path: impl AsRef<Path>) -> Result<Vec<f64>, ReadError> {
    Source::open(path)?.vector()
}
