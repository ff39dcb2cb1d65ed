//! What cannot be converted, and why.

use coarsen_sparse::SparseError;

/// A matrix that does not fit the other library's types, or that breaks the rules of compressed rows.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InteropError {
    /// More rows, columns or entries than the index type can name.
    #[error(
        "{what}: {count} exceeds the limit {limit} of the index type; use wider indices, or split the system"
    )]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Offsets that do not fit the matrix they are given for.
    #[error(
        "the offsets belong to another matrix: expected {expected} of them ending at {entries}, found {found} ending at {end}"
    )]
    Offsets {
        /// Block rows + 1.
        expected: usize,
        /// Entries of the matrix.
        entries: usize,
        /// Offsets found.
        found: usize,
        /// The last of them.
        end: usize,
    },
    /// A view is asked of a matrix in larger blocks.
    #[error(
        "blocks of {rows} x {columns} cannot be viewed as scalars; convert by into_*, or reblock to (1, 1) first"
    )]
    Blocks {
        /// Rows of a block.
        rows: usize,
        /// Columns of a block.
        columns: usize,
    },
    /// A structure that is not a matrix.
    #[error(transparent)]
    Sparse(#[from] SparseError),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for InteropError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
