//! The errors of a setup.

use std::ops::Deref;
use std::sync::Arc;

use coarsen_core::{Cancel, Error};
use coarsen_sparse::SparseError;

/// The reason why a preconditioner cannot be built or updated. After a failed update the old preconditioner
/// can still be used.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A preconditioner needs a square matrix with square blocks.
    #[error(
        "the matrix is {rows} x {columns} in blocks of {block_rows} x {block_columns}, but a preconditioner needs square ones"
    )]
    NotSquare {
        /// The number of rows of the matrix.
        rows: usize,
        /// The number of columns of the matrix.
        columns: usize,
        /// The number of rows of a block.
        block_rows: usize,
        /// The number of columns of a block.
        block_columns: usize,
    },
    /// A diagonal entry that is zero or missing.
    #[error(
        "row {row} has a zero or missing diagonal entry, which {method} divides by; renumber, constrain that unknown, or use no preconditioner"
    )]
    ZeroDiagonal {
        /// The scalar row.
        row: usize,
        /// The method that divides by the entry.
        method: &'static str,
    },
    /// A diagonal block that cannot be inverted.
    #[error(
        "the diagonal block of node {node} (rows {first_row} and following) is singular to round-off; that node is free to move: constrain it, or use point relaxation"
    )]
    SingularBlock {
        /// The block row.
        node: usize,
        /// The first scalar row of the node.
        first_row: usize,
    },
    /// A factorisation met an unusable pivot, even after all shifts of the diagonal.
    #[error(
        "{method} met a pivot of {pivot:.3e} at row {row}, also after shifting the diagonal by {shift:.1e} of itself; the matrix is not positive definite: use ilu0, or GMRES or MINRES without it"
    )]
    Pivot {
        /// The method.
        method: &'static str,
        /// The scalar row.
        row: usize,
        /// The pivot found.
        pivot: f64,
        /// The largest relative shift tried.
        shift: f64,
    },
    /// Elimination without shifts met a block by which it cannot divide.
    #[error(
        "{method} met a singular diagonal block at row {row} during elimination; renumber the unknowns, or add a little to the diagonal"
    )]
    ZeroPivot {
        /// The method.
        method: &'static str,
        /// The first scalar row of the block.
        row: usize,
    },
    /// A method for positive definite matrices met a diagonal block that is not positive definite.
    #[error(
        "{method} needs a positive definite matrix, but has {diagonal:.3e} on the diagonal of the block at row {row}; use ilu0 with GMRES, or MINRES"
    )]
    NotPositive {
        /// The method.
        method: &'static str,
        /// The first scalar row of the block.
        row: usize,
        /// The smallest diagonal entry of the block.
        diagonal: f64,
    },
    /// A diagonal entry whose inverse does not fit the precision in which a method stores it.
    #[error(
        "{method} stores the inverse of the diagonal in {storage}, but row {row} has {diagonal:e}, which is out of its range; scale the system, or store the inverses in f64"
    )]
    DiagonalRange {
        /// The method.
        method: &'static str,
        /// The scalar row.
        row: usize,
        /// The diagonal entry.
        diagonal: f64,
        /// The precision of the storage.
        storage: &'static str,
    },
    /// A method for symmetric matrices met an unsymmetric matrix.
    #[error(
        "{method} needs a symmetric matrix, but entries ({row}, {column}) and ({column}, {row}) differ; use ilu0 with GMRES or BiCGStab"
    )]
    Unsymmetric {
        /// The method.
        method: &'static str,
        /// The scalar row of the worst pair.
        row: usize,
        /// The scalar column of the worst pair.
        column: usize,
    },
    /// A method that can only be updated on the host.
    #[error(
        "{method} cannot be updated from a matrix of a device; update it with the matrix of the host, or take Chebyshev or Gauss-Seidel"
    )]
    HostOnly {
        /// The method.
        method: &'static str,
    },
    /// A node that had no couplings when domains were chosen has couplings now.
    #[error(
        "node {node} (rows {first_row} and following) had no couplings when domains were chosen and has some now, as a constraint that was released: it is still solved alone; build anew, or update with the matrix of the host"
    )]
    Released {
        /// The block row.
        node: usize,
        /// The first scalar row of the node.
        first_row: usize,
    },
    /// A method for matrices a ⊗ I met a block that couples components, or has different diagonal entries.
    #[error(
        "entry ({row}, {column}) belongs to a block that is no multiple of the identity, as the matrix of Projective Dynamics has them; build the method without `Componentwise`"
    )]
    Coupled {
        /// The scalar row.
        row: usize,
        /// The scalar column.
        column: usize,
    },
    /// A method that requires positions met a system without positions.
    #[error(
        "{method} needs the rest position of every node: set `System::positions` (`--coordinates` in the command)"
    )]
    NoPositions {
        /// The method.
        method: &'static str,
    },
    /// A node of a parameter that the system does not have.
    #[error("node {node} of {what} does not exist: the system has {nodes} nodes, counted from 0")]
    NoNode {
        /// The parameter.
        what: &'static str,
        /// The node.
        node: usize,
        /// The number of nodes of the system.
        nodes: usize,
    },
    /// A matrix that a direct method cannot factor.
    #[error("{why}")]
    Factor {
        /// The message of the factorisation.
        why: String,
    },
    /// The coarsest matrix of a hierarchy cannot be solved.
    #[error(
        "the coarsest matrix, of {unknowns} unknowns, can be neither factored nor inverted: {why}; fix a degree of freedom, or allow more levels"
    )]
    Coarsest {
        /// The number of its scalar unknowns.
        unknowns: usize,
        /// The message of the factorisation.
        why: String,
    },
    /// Coarsening makes no progress, and the matrix of the last level is too large to factor.
    #[error(
        "coarsening stops at {unknowns} unknowns, whose factor would take {bytes} bytes; for smoothed aggregation, give fewer near-kernel vectors or a lower strength θ; for skinning, add a coarser level of control points; or use another preconditioner"
    )]
    Stalled {
        /// The number of scalar unknowns of the level that is not coarsened.
        unknowns: usize,
        /// The size of its factor in bytes.
        bytes: usize,
    },
    /// The limit of levels leaves a coarsest matrix whose factor is beyond the memory limit.
    #[error(
        "with at most {levels} levels the coarsest has {unknowns} unknowns, whose factor would take {bytes} bytes of at most {limit}; allow more levels, solve the coarsest one by iterations, or use a direct method"
    )]
    TooFewLevels {
        /// The limit of levels.
        levels: usize,
        /// The number of scalar unknowns of the coarsest level.
        unknowns: usize,
        /// The size of its factor in bytes.
        bytes: usize,
        /// The memory limit in bytes.
        limit: u64,
    },
    /// A domain of an overlapping Schwarz method that cannot be factored.
    #[error(
        "A restricted to the domain of {unknowns} unknowns that holds node {node} cannot be factored: {why} (rows count in the domain); other domain sizes, or more overlap, make other restrictions"
    )]
    Domain {
        /// A node of the domain.
        node: usize,
        /// The number of scalar unknowns of the domain.
        unknowns: usize,
        /// The message of the factorisation.
        why: String,
    },
    /// An error on a coarser level of a hierarchy; rows and nodes are numbered on this level.
    #[error("on level {level} of the hierarchy (0 is the given matrix; rows count on that level): {cause}")]
    Level {
        /// The number of finer levels.
        level: usize,
        /// The error on that level.
        #[source]
        cause: Box<SetupError>,
    },
    /// An error that only one method has. Its type is that of the method: `error.downcast_ref` finds it.
    #[error("{}{error}", .node.map_or(String::new(), |node| format!("node {node}: ")))]
    Method {
        /// The block row of the node at fault, if there is one.
        node: Option<usize>,
        /// The error of the method.
        error: MethodError,
    },
    /// The caller cancelled the setup, see `System::cancel`. Objects built before are unchanged.
    #[error("the setup was cancelled between two of its steps")]
    Cancelled,
    /// The matrix is invalid.
    #[error(transparent)]
    Matrix(#[from] SparseError),
    /// The backend failed, values do not fit, or a parameter is out of range.
    #[error(transparent)]
    Core(#[from] Error),
}

/// An error of one method, see [`SetupError::Method`]. Two are equal if their messages are.
#[derive(Clone)]
pub struct MethodError(Arc<dyn std::error::Error + Send + Sync>);

impl Deref for MethodError {
    type Target = dyn std::error::Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for MethodError {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl std::fmt::Display for MethodError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

coarsen_core::debug_as_display!(SetupError);

impl SetupError {
    /// Changes the numbers of nodes and of scalar rows, which count from 0 in the matrix of the setup, into those of its source:
    /// a file, or the whole matrix of which it has some rows. Numbers of coarse levels stay.
    pub fn renumber(&mut self, node: impl Fn(usize) -> usize, row: impl Fn(usize) -> usize) {
        match self {
            Self::SingularBlock { node: i, first_row: r } | Self::Released { node: i, first_row: r } => {
                (*i, *r) = (node(*i), row(*r));
            }
            Self::ZeroDiagonal { row: r, .. }
            | Self::Pivot { row: r, .. }
            | Self::ZeroPivot { row: r, .. }
            | Self::NotPositive { row: r, .. }
            | Self::DiagonalRange { row: r, .. } => *r = row(*r),
            Self::Method { node: Some(i), .. } | Self::Domain { node: i, .. } => *i = node(*i),
            Self::Unsymmetric { row: r, column, .. } | Self::Coupled { row: r, column } => {
                (*r, *column) = (row(*r), row(*column));
            }
            _ => (),
        }
    }

    /// Returns the error of one method, and the block row of the node at fault, if there is one.
    pub fn of_method(
        node: impl Into<Option<usize>>,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Method { node: node.into(), error: MethodError(Arc::new(error)) }
    }

    /// Returns an error if the setup is cancelled. Methods of several steps call it between steps, before
    /// changes that cannot be undone.
    ///
    /// # Errors
    /// [`SetupError::Cancelled`] if the flag of the system is set: `System::cancel`.
    pub fn unless_cancelled(flag: Option<&Cancel>) -> Result<(), Self> {
        if flag.is_some_and(Cancel::is_cancelled) { Err(Self::Cancelled) } else { Ok(()) }
    }

    /// Adds the level of the hierarchy on which the error occurred. Level 0, the given matrix, is not added, and no level
    /// is added to [`Cancelled`](Self::Cancelled).
    pub fn on_level(self, level: usize) -> Self {
        match level == 0 || matches!(self, Self::Cancelled) {
            true => self,
            false => Self::Level { level, cause: Box::new(self) },
        }
    }
}
