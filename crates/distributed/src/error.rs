//! Errors of communication between ranks, and of distributed objects.

use std::time::Duration;

use coarsen_backend::SetupError;
use coarsen_core::Error;
use coarsen_sparse::SparseError;

/// The reason why ranks cannot communicate. Each error names the rank that found it, and the stage.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CommError {
    /// A message did not arrive before the deadline.
    #[error(
        "rank {rank} waited {} s for rank {from} in {stage}; that rank hangs, is overloaded or calls other operations; correct it, or set a later deadline",
        .deadline.as_secs_f64()
    )]
    Late {
        /// The rank that waited.
        rank: usize,
        /// The rank whose message is missing.
        from: usize,
        /// The stage of the communication.
        stage: &'static str,
        /// The time limit of a wait.
        deadline: Duration,
    },
    /// A rank ended without sending a message for which another rank waits.
    #[error(
        "rank {rank} waits for rank {lost} in {stage}, but that rank has ended; all ranks must call the same operations in the same order"
    )]
    Lost {
        /// The rank that waited.
        rank: usize,
        /// The rank that ended.
        lost: usize,
        /// The stage of the communication.
        stage: &'static str,
    },
    /// A rank panicked.
    #[error("rank {rank} panicked; its own message says why")]
    Panicked {
        /// The rank that panicked.
        rank: usize,
    },
    /// The thread of a rank could not be started.
    #[error("the thread of rank {rank} could not be started; use fewer ranks")]
    Threads {
        /// The rank.
        rank: usize,
    },
    /// A message of the wrong length: it was cut off, or the ranks disagree on sizes.
    #[error(
        "rank {rank} expects {expected} bytes from rank {from} in {stage}, but received {found}; the message was cut off, or the ranks hold objects of different sizes"
    )]
    Length {
        /// The rank that received the message.
        rank: usize,
        /// The rank that sent the message.
        from: usize,
        /// The stage of the communication.
        stage: &'static str,
        /// The number of bytes expected.
        expected: usize,
        /// The number of bytes received.
        found: usize,
    },
    /// A message to or from a rank that does not exist, or to the rank itself.
    #[error(
        "rank {rank} of {size} cannot exchange messages with rank {peer} in {stage}; take another rank below {size}"
    )]
    Peer {
        /// The rank that made the call.
        rank: usize,
        /// The other rank.
        peer: usize,
        /// The stage of the communication.
        stage: &'static str,
        /// The number of ranks.
        size: usize,
    },
    /// Two ranks hold different data that must be equal.
    #[error("ranks {rank} and {other} disagree on {stage}; pass the same values on all ranks")]
    Disagree {
        /// The first rank.
        rank: usize,
        /// The first rank that differs from it.
        other: usize,
        /// The data on which they disagree.
        stage: &'static str,
    },
    /// The library that carries the messages reports an error.
    #[error("rank {rank} cannot exchange messages in {stage}: {reason}")]
    Transport {
        /// The rank that made the call.
        rank: usize,
        /// The stage of the communication.
        stage: &'static str,
        /// The text of the library.
        reason: String,
    },
}

coarsen_core::debug_as_display!(CommError);

impl From<CommError> for Error {
    fn from(e: CommError) -> Self {
        let reason = e.to_string();
        let (rank, stage) = match e {
            CommError::Late { rank, stage, .. }
            | CommError::Lost { rank, stage, .. }
            | CommError::Length { rank, stage, .. }
            | CommError::Peer { rank, stage, .. }
            | CommError::Disagree { rank, stage, .. }
            | CommError::Transport { rank, stage, .. } => (rank, stage),
            CommError::Panicked { rank } => (rank, "a panic"),
            CommError::Threads { rank } => (rank, "the start of threads"),
        };
        Self::Ranks { rank, stage, reason }
    }
}

/// The reason why a distributed object cannot be created.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DistError {
    /// Rows and columns of a matrix that are divided over different communicators.
    #[error(
        "rows and columns of the matrix belong to different communicators; make both partitions with the same one"
    )]
    Communicators,
    /// The ranks cannot communicate.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// A layout that does not begin with row 0.
    #[error(
        "the layout begins at block row {start}, so no rank has the rows before; list the starts beginning with 0"
    )]
    FirstStart {
        /// The first block row of rank 0.
        start: u64,
    },
    /// A layout whose parts are not in order.
    #[error(
        "the rows of rank {rank} begin at {start}, after their end {end}; list the starts in increasing order"
    )]
    Starts {
        /// The rank.
        rank: usize,
        /// Its first block row.
        start: u64,
        /// The first block row of the next rank.
        end: u64,
    },
    /// A rank that begins inside a leaf of reductions.
    #[error(
        "rank {rank} begins at block row {start}, inside a leaf of {leaf} rows; begin at a multiple of {leaf}, or take a reduction by ranks"
    )]
    Unaligned {
        /// The rank.
        rank: usize,
        /// Its first block row.
        start: u64,
        /// The number of block rows of a leaf.
        leaf: usize,
    },
    /// The number of parts differs from the number of ranks.
    #[error("a layout of {parts} parts for {ranks} ranks; create it for {ranks}")]
    Ranks {
        /// The number of parts of the layout or schedule.
        parts: usize,
        /// The number of ranks of the communicator.
        ranks: usize,
    },
    /// A size or parameter that is not allowed.
    #[error("{what} is {found}, but must be {range}")]
    Value {
        /// The number.
        what: &'static str,
        /// The value found.
        found: u64,
        /// The allowed range.
        range: &'static str,
    },
    /// A row that belongs to no rank, or to another rank.
    #[error(
        "block row {row} is outside rows {first} to {end} of rank {rank}; set only rows of this rank here"
    )]
    Row {
        /// The global block row.
        row: u64,
        /// The rank.
        rank: usize,
        /// Its first block row.
        first: u64,
        /// The end of its block rows.
        end: u64,
    },
    /// A column outside the matrix.
    #[error("block row {row} has an entry in column {column}, but there are only {columns} columns")]
    Column {
        /// The global block row.
        row: u64,
        /// The global block column.
        column: u64,
        /// The number of block columns.
        columns: u64,
    },
    /// The columns of a row that do not increase.
    #[error(
        "block row {row} has column {column} after column {before}; list the columns of a row in increasing order, each once"
    )]
    Order {
        /// The global block row.
        row: u64,
        /// The column that precedes it in the list.
        before: u64,
        /// The column that is not above `before`.
        column: u64,
    },
    /// Offsets that do not divide the columns into rows.
    #[error("the offset of row {row} of the list is {found}, but must be {range}")]
    Offset {
        /// The position in the list of offsets.
        row: usize,
        /// The offset.
        found: usize,
        /// The allowed values.
        range: &'static str,
    },
    /// A range of rows that a matrix does not have.
    #[error("rows {start} to {end} of a matrix with {rows} block rows; take a range within them")]
    Range {
        /// The first row asked for.
        start: u64,
        /// The end of the rows asked for.
        end: u64,
        /// The number of block rows.
        rows: u64,
    },
    /// The switch above a node of a topology.
    #[error(
        "node {node} is below node {found}, but must be below a switch from {first} to {root}; number the ranks first, and every switch after the nodes below it"
    )]
    Switch {
        /// The node.
        node: usize,
        /// The node above it.
        found: usize,
        /// The first switch that may be above it.
        first: usize,
        /// The root, the last switch.
        root: usize,
    },
    /// The capacity of a link of a topology.
    #[error("the link above node {node} has capacity {found}; give a positive finite number")]
    Capacity {
        /// The node below the link.
        node: usize,
        /// The capacity.
        found: f64,
    },
    /// A list of the wrong length.
    #[error("{what}: found {found} entries, expected {expected}")]
    Length {
        /// The list.
        what: &'static str,
        /// The number of entries needed.
        expected: usize,
        /// The number of entries found.
        found: usize,
    },
    /// Another rank found an error.
    #[error("rank {rank} reports: {reason}")]
    Elsewhere {
        /// The first rank with an error.
        rank: usize,
        /// The text of its error.
        reason: String,
    },
    /// The local part of a matrix is invalid.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The local part of a preconditioner is invalid.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl DistError {
    /// An error of the rows of a rank, with the numbers of rows and nodes of the whole matrix. The rows begin at scalar
    /// row `first_row`, and a node has `size` rows.
    pub fn of_rows(mut error: SetupError, first_row: usize, size: usize) -> Self {
        error.renumber(|node| first_row / size.max(1) + node, |row| first_row + row);
        Self::Setup(error)
    }

    /// Adds the level of the hierarchy on which a setup failed. Level 0, the given matrix, is not added.
    pub fn on_level(self, level: usize) -> Self {
        if let Self::Setup(error) = self { Self::Setup(error.on_level(level)) } else { self }
    }
}

coarsen_core::debug_as_display!(DistError);
