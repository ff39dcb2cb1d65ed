//! Errors of conversions.

use crate::SparseError;

/// A matrix that does not fit the types of the other library, or invalid compressed rows.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InteropError {
    /// More rows, columns or entries than the index type can represent.
    #[error(
        "{what}: {count} exceeds the limit {limit} of the index type; use wider indices, or split the system"
    )]
    TooLarge {
        /// The quantity.
        what: &'static str,
        /// The number found.
        count: usize,
        /// The largest allowed number.
        limit: usize,
    },
    /// Offsets that do not fit the matrix.
    #[error(
        "the offsets belong to another matrix: expected {expected} offsets with last value {entries}, \
         found {found} with last value {end}"
    )]
    Offsets {
        /// The number of block rows plus 1.
        expected: usize,
        /// The number of entries of the matrix.
        entries: usize,
        /// The number of offsets found.
        found: usize,
        /// The last offset found.
        end: usize,
    },
    /// A view of a matrix with larger blocks than 1x1.
    #[error(
        "blocks of {rows} x {columns} cannot be viewed as scalars; convert the matrix with into_*, or \
         reblock it to (1, 1) first"
    )]
    Blocks {
        /// The number of rows of a block.
        rows: usize,
        /// The number of columns of a block.
        columns: usize,
    },
    /// Invalid compressed rows.
    #[error(transparent)]
    Sparse(#[from] SparseError),
}

coarsen_core::debug_as_display!(InteropError);
