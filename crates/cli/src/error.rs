//! Errors of the command line and of files.
//!
//! A solve that does not converge is not an error of the program: see `ending`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use coarsen::backend::SetupError;
use coarsen::constraints::ConstraintError;
use coarsen::diagnose::Finding;
use coarsen::matrix_market::{ReadError, WriteError};
use coarsen::optimize::DescentError;
use coarsen::problems::ProblemError;
use coarsen::sparse::SparseError;
use coarsen::{AnyError, Error, Unavailable};

use crate::words::{Rows, options};

/// An error that ends the program before the solve, or when results are written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A problem that is not in the gallery.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Constraints that cannot be imposed.
    #[error(transparent)]
    Constraints(#[from] ConstraintError),
    /// A body without a mesh.
    #[error("the problem armadillo-stretch needs a mesh of tetrahedra; give --mesh FILE")]
    NoMesh,
    /// A mesh for a problem that generates its own.
    #[error(
        "--mesh is an option of armadillo-stretch only; a bar generates its own tetrahedra, so leave --mesh out"
    )]
    UnusedMesh,
    /// A preconditioner of a Hessian that cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A step of a sequence that cannot be taken.
    #[error(transparent)]
    Step(#[from] AnyError),
    /// A descent that ended with an error of the machine or of a Hessian.
    #[error(transparent)]
    Descent(#[from] DescentError),
    /// A block size that does not fit.
    #[error("--block-size {size} does not divide the {n} unknowns; leave it out to have it detected")]
    BlockSize { size: usize, n: usize },
    /// An option that a sequence would ignore.
    #[error("a sequence of systems does not support {option}; leave it out, or solve a single system")]
    Sequence { option: &'static str },
    /// Steps without a sequence.
    #[error("--steps needs a sequence; give --problem cloth-contact:N or stack:N, or leave --steps out")]
    NoSequence,
    /// An option of sequences, and a single system.
    #[error("{option} needs a sequence, --problem cloth-contact:N or stack:N; leave it out")]
    NotSequence { option: &'static str },
    /// An option that a direct solve would ignore.
    #[error("--method direct does not support {option}; leave it out, or use an iterative method")]
    Direct { option: &'static str },
    /// An option of smoothed aggregation, and another preconditioner.
    #[error("{option} is an option of --precond sa; leave it out, or use that preconditioner")]
    NotAggregation { option: &'static str },
    /// An option of skinning-space multigrid, and another preconditioner.
    #[error("{option} is an option of --precond skinning; leave it out, or use that preconditioner")]
    NotSkinning { option: &'static str },
    /// An option of multilevel additive Schwarz, and another preconditioner.
    #[error("{option} is an option of --precond mas; leave it out, or use that preconditioner")]
    NotDomains { option: &'static str },
    /// Weights for multiplicative levels.
    #[error(
        "--mas-weights energy needs additive levels, and with --mas-coarse sa levels are multiplicative; leave one of the two out"
    )]
    NothingAdded,
    /// An option of additive Schwarz on one level, and another preconditioner.
    #[error("{option} is an option of --precond as and ras only; leave it out, or use one of these")]
    NotOverlap { option: &'static str },
    /// An option of a preconditioner that is not in the comparison.
    #[error(
        "{option} is an option of --precond {precond}, which is not compared here because {why}; leave the option out"
    )]
    NotCompared { option: &'static str, precond: &'static str, why: &'static str },
    /// An option that the command would ignore.
    #[error("{option} has no effect: {why}; leave it out")]
    NoEffect { option: &'static str, why: &'static str },
    /// A file of options that cannot be used.
    #[error("{}: {problem}", file.display())]
    Options { file: PathBuf, problem: String },
    /// A manual page of a command that does not exist.
    #[error("there is no command `{name}`; see coarsen --help")]
    NoCommand { name: String },
    /// Several right-hand sides, and a command that solves one.
    #[error(
        "--rhs has {columns} columns, but `compare` takes one right-hand side; give a file with one column"
    )]
    Several { columns: usize },
    /// A file of NumPy that cannot be read.
    #[error("{}: {problem}", file.display())]
    Numpy { file: PathBuf, problem: String },
    /// Starting guesses whose number is not that of the right-hand sides.
    #[error(
        "{}: {found} columns, but --rhs has {expected}; give one guess for each right-hand side, or one for all", file.display()
    )]
    Guesses { file: PathBuf, expected: usize, found: usize },
    /// A preconditioner that changes from one application to the next, and a method that needs a fixed
    /// preconditioner.
    #[error(
        "--sa-cycle k is a variable preconditioner, and {method} needs a fixed one; use --method fcg, or another cycle"
    )]
    Varies { method: String },
    /// A preconditioner for the CPU only.
    #[error(
        "--precond {precond} is available on the CPU only, not on the backend {backend}; use sa, chebyshev, gs or \
         block-jacobi"
    )]
    NotThere { precond: String, backend: &'static str },
    /// A backend that is not available.
    #[error(transparent)]
    Backend(#[from] Unavailable),
    /// A Morton order without coordinates.
    #[error("--reorder morton needs coordinates; give --coordinates FILE, or use --reorder rcm")]
    NoCoordinates,
    /// A picture whose name has the extension of another format.
    #[error("{}: the picture is written as PNG; give a name that ends with .png", file.display())]
    NotPng { file: PathBuf },
    /// A thread pool that could not be started, a device that failed, or sizes that do not match.
    #[error(transparent)]
    Core(#[from] Error),
    /// A reordering that does not match the matrix.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// A result that cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A report, a picture or a folder that cannot be written.
    #[error("{}: cannot be written ({kind}); check the folder, its permissions and the free space", file.display())]
    File { file: PathBuf, kind: ErrorKind },
    /// An output that would replace an input or another output, or two inputs from the standard input.
    #[error(
        "{first} and {second} are both {}; give another name",
        if file.as_os_str() == "-" {
            "the standard stream `-`".to_owned()
        } else {
            format!("the same file, {}", file.display())
        }
    )]
    SameFile { first: &'static str, second: &'static str, file: PathBuf },
    /// A folder that is the standard output.
    #[error(
        "{option} takes a folder, which cannot be the standard output; give a name, or ./- for a folder called `-`"
    )]
    StandardFolder { option: &'static str },
    /// A dump into the folder of an input file.
    #[error(
        "{}: --dump could replace {}, which is an input; give another folder", folder.display(), file.display()
    )]
    DumpOfInput { folder: PathBuf, file: PathBuf },
    /// A dump into a folder with files of something else.
    #[error(
        "{}: --dump could replace files there that are not from an earlier --dump; give a new or empty folder",
        folder.display()
    )]
    DumpOverFiles { folder: PathBuf },
    /// A file that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file that belongs to another system.
    #[error("{}: expected {expected} rows ({what}), found {found}; the file seems to belong to another system", file.display())]
    Rows { file: PathBuf, what: &'static str, expected: usize, found: usize },
    /// Complex numbers where real ones are needed.
    #[error("{}: has complex numbers, but {what}; give a file of real numbers", file.display())]
    Complex { file: PathBuf, what: &'static str },
    /// Coordinates that are all equal, or that overflow.
    #[error(
        "{}: the longest side of the bounding box of the coordinates is {side:e}, but must be positive and finite; check the file",
        file.display()
    )]
    Extent { file: PathBuf, side: f64 },
    /// Coordinates with more than three axes.
    #[error("{}: expected 1 to 3 columns, one for each axis, found {found}; a row holds the coordinates of a node", file.display())]
    Axes { file: PathBuf, found: usize },
    /// Coordinates for a number of nodes that does not divide the unknowns.
    #[error("{}: {nodes} rows, one for each node, do not divide the {n} unknowns; the file seems to belong to another system", file.display())]
    Nodes { file: PathBuf, nodes: usize, n: usize },
    /// Coordinates of so few nodes that each node would have implausibly many unknowns.
    #[error(
        "{}: {nodes} rows, one for each node, give each node {size} of the {n} unknowns; the file seems to belong to another system; \
         if {size} is right, give --block-size {size}", file.display()
    )]
    Blocks { file: PathBuf, nodes: usize, size: usize, n: usize },
    /// A system that no method can solve.
    #[error("{file}: {finding}")]
    Unsolvable { file: String, finding: Finding },
    /// A file of vectors without columns.
    #[error("{}: expected one column for each vector, found none", file.display())]
    NoColumns { file: PathBuf },
}

impl Rows for Failure {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Setup(error) => error.rows(),
            Self::Step(error) => error.rows(),
            Self::Core(error) => error.rows(),
            Self::Sparse(error) => error.rows(),
            Self::Unsolvable { finding, .. } => finding.rows(),
            _ => Vec::new(),
        }
    }
}

/// Whether the error is a failure of the device and not of the numerical method.
pub(crate) fn of_device(error: &Error) -> bool {
    matches!(
        error,
        Error::Device { .. } | Error::Memory { .. } | Error::Allocation { .. } | Error::Build { .. }
    )
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
            Self::Setup(SetupError::Core(error))
            | Self::Step(AnyError::Setup(SetupError::Core(error)) | AnyError::Core(error))
            | Self::Descent(DescentError::Core(error))
                if of_device(error) =>
            {
                5
            }
            Self::Setup(_) | Self::Step(_) | Self::Descent(_) => 4,
            Self::Constraints(_) | Self::Unsolvable { .. } => 3,
            Self::NotAggregation { .. }
            | Self::NotSkinning { .. }
            | Self::NotDomains { .. }
            | Self::NothingAdded
            | Self::NotOverlap { .. }
            | Self::Varies { .. }
            | Self::Sequence { .. }
            | Self::NoSequence
            | Self::NoEffect { .. }
            | Self::NotCompared { .. }
            | Self::NotSequence { .. }
            | Self::NotThere { .. }
            | Self::NoCoordinates
            | Self::NotPng { .. }
            | Self::NoCommand { .. }
            | Self::Several { .. } => 2,
            Self::Write(_) | Self::File { .. } => 2,
            Self::SameFile { .. } | Self::StandardFolder { .. } => 2,
            Self::DumpOfInput { .. } | Self::DumpOverFiles { .. } => 2,
            Self::Options { .. } | Self::Numpy { .. } | Self::Guesses { .. } => 3,
            Self::Read(_)
            | Self::Rows { .. }
            | Self::Complex { .. }
            | Self::Axes { .. }
            | Self::Extent { .. } => 3,
            Self::Nodes { .. } | Self::Blocks { .. } | Self::NoColumns { .. } | Self::Sparse(_) => 3,
            Self::Backend(_) => 5,
            Self::Core(error) if of_device(error) => 5,
            Self::Core(Error::Threads { .. }) => 5,
            Self::Core(_) => 3,
        }
    }

    /// The message, with the messages of its causes that it does not contain.
    pub(crate) fn words(&mut self) -> String {
        self.rows().into_iter().for_each(|row| *row += 1);
        let mut words = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let said = error.to_string();
            if !words.contains(&said) {
                words = format!("{words}: {said}");
            }
            cause = error.source();
        }
        options(&words)
    }

    /// Returns a closure for `map_err` that converts an error of writing to `file`.
    pub(crate) fn write(file: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |error| Self::File { file: file.to_path_buf(), kind: error.kind() }
    }
}
