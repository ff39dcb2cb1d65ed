//! What cannot be a matrix, and why.

/// A matrix or pattern that cannot be made.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// Row offsets that do not start at 0, decrease, or do not end at the number of columns stored.
    #[error(
        "row offsets are broken at block row {row}: they must start at 0, never fall, and end at the number of blocks"
    )]
    Offsets {
        /// The first block row where they are broken.
        row: usize,
    },
    /// A column outside the matrix.
    #[error("block row {row} names column {column}, but there are {columns} block columns")]
    Column {
        /// The block row.
        row: usize,
        /// The column found.
        column: usize,
        /// The number of block columns.
        columns: usize,
    },
    /// Columns of a row that are not strictly increasing.
    #[error(
        "block row {row} is not sorted, or holds column {column} twice; assemble it with assembly::from_triplets"
    )]
    Unsorted {
        /// The block row.
        row: usize,
        /// The column out of order.
        column: usize,
    },
    /// A row outside the matrix.
    #[error(
        "entry {entry} names row {row}, but there are {rows} rows; sizes of a matrix count scalars, places of blocks count blocks"
    )]
    Row {
        /// Which entry of the stream.
        entry: usize,
        /// The row found.
        row: usize,
        /// The number of rows.
        rows: usize,
    },
    /// A contact of a node with itself.
    #[error(
        "contact {contact} names node {node} twice; a node does not touch itself, nor a face or an edge it belongs to"
    )]
    Itself {
        /// Which contact of the list.
        contact: usize,
        /// The node.
        node: usize,
    },
    /// Memory that is not to be had.
    #[error("{bytes} bytes for {what} are not to be had; free some, or take a smaller system")]
    Memory {
        /// What they are for.
        what: &'static str,
        /// How many.
        bytes: usize,
    },
    /// An array of the wrong length.
    #[error("{what}: expected {expected} values, found {found}")]
    Length {
        /// The array.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A block size that does not divide the matrix, or is 0.
    #[error("blocks of {block_rows} x {block_columns} do not tile a matrix of {rows} x {columns}")]
    BlockSize {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
        /// Rows of a block.
        block_rows: usize,
        /// Columns of a block.
        block_columns: usize,
    },
    /// More rows, columns or blocks than indices can name.
    #[error("{what}: {count} exceeds the limit {limit}; use larger blocks, or split the system")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Two operands that do not fit together.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// The operation and the operand.
        what: &'static str,
        /// The size needed.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A plan or a matrix of another pattern.
    #[error("{what} belongs to another sparsity pattern; build it anew")]
    Pattern {
        /// The object.
        what: &'static str,
    },
    /// NaN or infinity.
    #[error("row {row}, column {column} is not finite; look at what computed it")]
    NotFinite {
        /// The scalar row.
        row: usize,
        /// The scalar column.
        column: usize,
    },
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for SparseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
