//! Errors of matrices and patterns.

/// Invalid input of a matrix, a pattern or an operation.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// Row offsets that decrease, do not start at 0, or do not end at the number of stored columns.
    #[error(
        "row offsets are broken at block row {row}: they must start at 0, never decrease, and end at the \
         number of blocks"
    )]
    Offsets {
        /// The first block row with a wrong offset.
        row: usize,
    },
    /// A column outside the matrix.
    #[error("block row {row} has a block in column {column}, but there are {columns} block columns")]
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
        "block row {row} is not sorted, or contains column {column} twice; assemble it with \
         assembly::from_triplets"
    )]
    Unsorted {
        /// The block row.
        row: usize,
        /// The first column out of order.
        column: usize,
    },
    /// A row outside the matrix.
    #[error(
        "entry {entry} lies in row {row}, but there are {rows} rows; count sizes and \
         positions in the same unit, scalars or blocks"
    )]
    Row {
        /// Index of the entry in the stream.
        entry: usize,
        /// The row found.
        row: usize,
        /// The number of rows.
        rows: usize,
    },
    /// A contact that contains a node twice.
    #[error(
        "contact {contact} contains node {node} twice; a node cannot be in contact with itself, or with a \
         face or an edge that contains it"
    )]
    Itself {
        /// Index of the contact in the list.
        contact: usize,
        /// The node.
        node: usize,
    },
    /// Memory that could not be allocated.
    #[error("{bytes} bytes for {what} could not be allocated; free memory, or solve a smaller system")]
    Memory {
        /// The purpose of the memory.
        what: &'static str,
        /// The number of bytes.
        bytes: usize,
    },
    /// An array of the wrong length.
    #[error("{what}: expected {expected} values, found {found}")]
    Length {
        /// The array.
        what: &'static str,
        /// The required length.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// A block size that does not divide the matrix, or is 0.
    #[error("blocks of {block_rows} x {block_columns} do not tile a matrix of {rows} x {columns}")]
    BlockSize {
        /// The number of rows of the matrix.
        rows: usize,
        /// The number of columns of the matrix.
        columns: usize,
        /// The number of rows of a block.
        block_rows: usize,
        /// The number of columns of a block.
        block_columns: usize,
    },
    /// More rows, columns or blocks than the index type can count.
    #[error("{what}: {count} exceeds the limit {limit}; use larger blocks, or split the system")]
    TooLarge {
        /// The quantity.
        what: &'static str,
        /// The number found.
        count: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// Two operands whose sizes do not match.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// The operation and the operand.
        what: &'static str,
        /// The size expected.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A plan or a matrix with another sparsity pattern than required.
    #[error("{what} has a different sparsity pattern; build the plan or the matrix again")]
    Pattern {
        /// The object.
        what: &'static str,
    },
    /// A diagonal block that is needed and not stored.
    #[error("node {node} stores no diagonal block; assemble an entry there, which may be 0")]
    NoDiagonal {
        /// The block row.
        node: usize,
    },
    /// NaN or infinity.
    #[error("row {row}, column {column} is not finite; check the code that computed it")]
    NotFinite {
        /// The scalar row.
        row: usize,
        /// The scalar column.
        column: usize,
    },
}

coarsen_core::debug_as_display!(SparseError);
