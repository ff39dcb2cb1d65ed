//! What is wrong with the command line or a file.
//!
//! How the mathematics ended is no error of the program: see `ending`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use coarsen::backend::SetupError;
use coarsen::constraints::ConstraintError;
use coarsen::diagnose::Finding;
use coarsen::matrix_market::{ReadError, WriteError};
use coarsen::optimize::DescentError;
use coarsen::problems::ProblemError;
use coarsen::sparse::SparseError;
use coarsen::{Error, Unavailable};

/// What ends the program before it can solve, or keeps it from writing what it found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A problem that the gallery does not hold.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Constraints that cannot be imposed.
    #[error(transparent)]
    Constraints(#[from] ConstraintError),
    /// A body without a mesh.
    #[error("the problem armadillo-stretch needs a mesh of tetrahedra; give --mesh FILE")]
    NoMesh,
    /// A mesh for a problem that makes its own.
    #[error("--mesh is for armadillo-stretch; a bar makes its own tetrahedra, so leave --mesh out")]
    UnusedMesh,
    /// A preconditioner of a Hessian that cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A descent that the machine or a Hessian ended.
    #[error(transparent)]
    Descent(#[from] DescentError),
    /// A block size that does not fit.
    #[error("--block-size {size} does not divide the {n} unknowns; leave it out to have it found")]
    BlockSize { size: usize, n: usize },
    /// An option that a sequence would ignore.
    #[error("a sequence of systems takes no {option}; leave it out, or solve a single system")]
    Sequence { option: &'static str },
    /// Steps without a sequence.
    #[error(
        "--steps counts those of a sequence; give --problem cloth-contact:N or stack:N, or leave --steps out"
    )]
    NoSequence,
    /// An option of sequences, and a single system.
    #[error("{option} is an option of sequences, --problem cloth-contact:N or stack:N; leave it out")]
    NotSequence { option: &'static str },
    /// An option that a direct solve would ignore.
    #[error("--method direct takes no {option}; leave it out, or take an iterative method")]
    Direct { option: &'static str },
    /// An option of smoothed aggregation, and another preconditioner.
    #[error("{option} is an option of --precond sa; leave it out, or take that preconditioner")]
    NotAggregation { option: &'static str },
    /// An option of multilevel additive Schwarz, and another preconditioner.
    #[error("{option} is an option of --precond mas; leave it out, or take that preconditioner")]
    NotDomains { option: &'static str },
    /// Factors of levels that follow each other.
    #[error(
        "--mas-weights energy is for levels that are added up; with --mas-coarse sa they follow each other: leave one of the two out"
    )]
    NothingAdded,
    /// An option of additive Schwarz on one level, and another preconditioner.
    #[error("{option} is an option of --precond as and ras; leave it out, or take one of these")]
    NotOverlap { option: &'static str },
    /// An option of a preconditioner that a comparison leaves out.
    #[error(
        "{option} is an option of --precond {precond}, which is left out here: {why}; leave the option out"
    )]
    NotCompared { option: &'static str, precond: &'static str, why: &'static str },
    /// A preconditioner that changes from one application to the next, and a method that needs a fixed one.
    #[error(
        "--sa-cycle k is another map in every application, which {method} does not allow; take --method fcg, or another cycle"
    )]
    Varies { method: String },
    /// A preconditioner that only the CPU applies.
    #[error(
        "--precond {precond} works on the CPU alone, where rows can wait for each other; on the backend {backend} take sa, chebyshev, gs or \
         block-jacobi"
    )]
    NotThere { precond: String, backend: &'static str },
    /// A backend that is not there.
    #[error(transparent)]
    Backend(#[from] Unavailable),
    /// A picture along a curve through points that are not known.
    #[error("--reorder morton needs a point a node; give --coordinates FILE, or take --reorder rcm")]
    NoCoordinates,
    /// A picture under the name of another format.
    #[error("{}: a picture is written as PNG; let the name end in .png", file.display())]
    NotPng { file: PathBuf },
    /// A pool that could not be started, a device that failed; or parts that do not fit together.
    #[error(transparent)]
    Place(#[from] Error),
    /// A matrix that an order of its rows does not fit.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// A result that cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A report, a picture or a folder that cannot be written.
    #[error("{}: cannot be written ({kind}); check the folder, its permissions and the space left", file.display())]
    File { file: PathBuf, kind: ErrorKind },
    /// A file that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file that belongs to another system.
    #[error("{}: expected {expected} rows ({what}), found {found}; it belongs to another system", file.display())]
    Rows { file: PathBuf, what: &'static str, expected: usize, found: usize },
    /// Coordinates of no space we know.
    #[error("{}: expected 1 to 3 columns, an axis each, found {found}; a row holds the coordinates of a node", file.display())]
    Axes { file: PathBuf, found: usize },
    /// Coordinates for a number of nodes that no block size gives.
    #[error("{}: {nodes} rows, a node each, do not divide the {n} unknowns; it belongs to another system", file.display())]
    Nodes { file: PathBuf, nodes: usize, n: usize },
    /// Coordinates of so few nodes that each would have more unknowns than nodes have.
    #[error(
        "{}: {nodes} rows, a node each, would give each node {size} of the {n} unknowns; it belongs to another system, or give --block-size \
         {size} to say so", file.display()
    )]
    Blocks { file: PathBuf, nodes: usize, size: usize, n: usize },
    /// A system that no method can solve.
    #[error("{file}: {finding}")]
    Unsolvable { file: String, finding: Finding },
    /// Vectors to be, of which there are none.
    #[error("{}: expected a column a vector, found none", file.display())]
    NoColumns { file: PathBuf },
}

/// Whether the place failed, not the mathematics.
pub(crate) fn of_device(error: &Error) -> bool {
    matches!(error, Error::Device { .. } | Error::Memory { .. } | Error::Build { .. })
}

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Problem(error) => match error {
                ProblemError::Mesh(_) | ProblemError::Body(_) | ProblemError::Constraints(_) => 3,
                _ => 2,
            },
            Self::BlockSize { .. } | Self::Direct { .. } | Self::NoMesh | Self::UnusedMesh => 2,
            Self::Setup(SetupError::Place(error)) | Self::Descent(DescentError::Core(error))
                if of_device(error) =>
            {
                5
            }
            Self::Setup(_) | Self::Descent(_) => 4,
            Self::Constraints(_) | Self::Unsolvable { .. } => 3,
            Self::NotAggregation { .. }
            | Self::NotDomains { .. }
            | Self::NothingAdded
            | Self::NotOverlap { .. }
            | Self::Varies { .. }
            | Self::Sequence { .. }
            | Self::NoSequence
            | Self::NotCompared { .. }
            | Self::NotSequence { .. }
            | Self::NotThere { .. }
            | Self::NoCoordinates
            | Self::NotPng { .. } => 2,
            Self::Write(_) | Self::File { .. } => 2,
            Self::Read(_) | Self::Rows { .. } | Self::Axes { .. } => 3,
            Self::Nodes { .. } | Self::Blocks { .. } | Self::NoColumns { .. } | Self::Sparse(_) => 3,
            Self::Backend(_) => 5,
            Self::Place(error) if of_device(error) => 5,
            Self::Place(Error::Threads { .. }) => 5,
            Self::Place(_) => 3,
        }
    }

    /// The message, and those of its causes that it does not quote.
    pub(crate) fn words(&self) -> String {
        let mut words = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let said = error.to_string();
            if !words.contains(&said) {
                words = format!("{words}: {said}");
            }
            cause = error.source();
        }
        words
    }

    /// For `map_err` after writing to `file`.
    pub(crate) fn write(file: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |error| Self::File { file: file.to_path_buf(), kind: error.kind() }
    }
}
