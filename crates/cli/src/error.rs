//! Errors of the command line and of files.
//!
//! A solve that does not converge is not an error of the program: see `refuse`.

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
    /// Options that have no effect, or that exclude each other.
    #[error("{0}")]
    Usage(String),
    /// A file that cannot be used.
    #[error("{}: {problem}", file.display())]
    Input { file: PathBuf, problem: String },
    /// A report, a picture or a folder that cannot be written.
    #[error("{}: cannot be written ({kind}); check the folder, its permissions and the free space", file.display())]
    File { file: PathBuf, kind: ErrorKind },
    /// A system that no method can solve.
    #[error("{file}: {finding}")]
    Unsolvable { file: String, finding: Finding },
    /// A problem that is not in the gallery.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Constraints that cannot be imposed.
    #[error(transparent)]
    Constraints(#[from] ConstraintError),
    /// A preconditioner of a Hessian that cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A step of a sequence that cannot be taken.
    #[error(transparent)]
    Step(#[from] AnyError),
    /// A descent that ended with an error of the machine or of a Hessian.
    #[error(transparent)]
    Descent(#[from] DescentError),
    /// A backend that is not available.
    #[error(transparent)]
    Backend(#[from] Unavailable),
    /// A thread pool that could not be started, a device that failed, or sizes that do not match.
    #[error(transparent)]
    Core(#[from] Error),
    /// A reordering that does not match the matrix.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// A result that cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Rows for Failure {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::Setup(error) => error.number(of),
            Self::Step(error) => error.number(of),
            Self::Core(error) => error.number(of),
            Self::Sparse(error) => error.number(of),
            Self::Unsolvable { finding, .. } => finding.number(of),
            _ => {}
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
    /// An error of the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// An option that a command or a method would ignore.
    pub(crate) fn no_effect(option: &str, why: &str) -> Self {
        Self::Usage(format!("{option} has no effect: {why}; leave it out"))
    }

    /// An error of the contents of a file.
    pub(crate) fn input(file: &Path, problem: impl Into<String>) -> Self {
        Self::Input { file: file.to_path_buf(), problem: problem.into() }
    }

    /// A file whose number of rows is not that of the system.
    pub(crate) fn rows_differ(file: &Path, what: &str, expected: usize, found: usize) -> Self {
        let rows = format!("expected {expected} rows ({what}), found {found}");
        Self::input(file, format!("{rows}; the file seems to belong to another system"))
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Setup(SetupError::Core(error))
            | Self::Step(AnyError::Setup(SetupError::Core(error)) | AnyError::Core(error))
            | Self::Descent(DescentError::Core(error))
            | Self::Core(error)
                if of_device(error) =>
            {
                5
            }
            Self::Backend(_) | Self::Core(Error::Threads { .. }) => 5,
            Self::Setup(_) | Self::Step(_) | Self::Descent(_) => 4,
            Self::Problem(ProblemError::Mesh(_) | ProblemError::Body(_) | ProblemError::Constraints(_)) => 3,
            Self::Input { .. } | Self::Read(_) | Self::Constraints(_) | Self::Unsolvable { .. } => 3,
            Self::Core(_) | Self::Sparse(_) => 3,
            Self::Usage(_) | Self::Problem(_) | Self::File { .. } | Self::Write(_) => 2,
        }
    }

    /// The message, with the messages of its causes that it does not contain.
    pub(crate) fn words(&mut self) -> String {
        self.number(&|row| row + 1);
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
