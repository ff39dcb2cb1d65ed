//! Errors that end the command, on all ranks or on none.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use coarsen_backend::SetupError;
use coarsen_distributed::{CommError, Communicator, DistError};
use coarsen_matrix_market::{ReadError, WriteError};
use coarsen_mpi::MpiError;
use coarsen_opencl::OpenClError;
use coarsen_problems::ProblemError;
use coarsen_sparse::SparseError;

use crate::division::Order;

/// The reason why the command ends without a solution.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A fault of the command line, or its help.
    #[error(transparent)]
    Parse(#[from] clap::Error),
    /// Options that exclude each other, or a system that the command does not take.
    #[error("{0}")]
    Usage(String),
    /// A file that cannot be used.
    #[error("{}: {problem}", file.display())]
    Input { file: PathBuf, problem: String },
    /// A matrix that the method does not take.
    #[error("{0}")]
    Unsuitable(String),
    /// A number that no device has.
    #[error("{0}")]
    NoDevice(String),
    /// An output that cannot be written.
    #[error("{}: cannot be written ({kind}); check the folder, its permissions and the free space", file.display())]
    File { file: PathBuf, kind: ErrorKind },
    #[error(transparent)]
    Start(#[from] MpiError),
    #[error(transparent)]
    Comm(#[from] CommError),
    #[error(transparent)]
    Dist(#[from] DistError),
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    OpenCl(#[from] OpenClError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Sparse(#[from] SparseError),
    #[error(transparent)]
    Core(coarsen_core::Error),
    /// Another rank has the error, and prints it.
    #[error("rank {rank} reports: {reason}")]
    Elsewhere { rank: usize, reason: String, code: u8 },
}

/// Whether a device has no memory, cannot build a kernel, or failed.
fn of_device(error: &coarsen_core::Error) -> bool {
    use coarsen_core::Error;
    matches!(
        error,
        Error::Device { .. } | Error::Memory { .. } | Error::Allocation { .. } | Error::Build { .. }
    )
}

/// Names in the library, and what the command calls them.
const OPTIONS: [(&str, &str); 4] = [
    ("Schwarz::domain, in unknowns,", "--mas-domain times the block size"),
    ("use smaller domains", "take a smaller --mas-domain"),
    ("store and eliminate in f32", "--mas-precision f32"),
    ("max_iterations", "--max-iterations"),
];

impl Failure {
    /// An error of a setup with rows and nodes of the file, which count from 1.
    pub(crate) fn in_file(mut self, order: &Order, block: usize) -> Self {
        if let Self::Dist(DistError::Setup(error)) = &mut self {
            let node = |k: usize| order.old(k as u64);
            error.renumber(|k| node(k) + 1, |row| node(row / block) * block + row % block + 1);
        }
        self
    }

    /// The text, with options in place of parameters in code.
    pub(crate) fn text(&self) -> String {
        let names = if matches!(self, Self::Dist(_) | Self::Core(_)) { &OPTIONS[..] } else { &[] };
        names.iter().fold(self.to_string(), |text, (name, option)| text.replace(name, option))
    }

    /// An error of the contents of a file.
    pub(crate) fn input(file: &Path, problem: impl Into<String>) -> Self {
        Self::Input { file: file.to_path_buf(), problem: problem.into() }
    }

    /// A backend that has not what the options ask for.
    pub(crate) fn on_device() -> Self {
        let takes = "--backend opencl takes --product halo and any --precond but jacobi";
        Self::Usage(format!("{takes}; choose block-jacobi, or --backend cpu"))
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Parse(error) => error.exit_code() as u8,
            Self::Elsewhere { code, .. } => *code,
            Self::Start(_) | Self::Comm(_) | Self::Dist(DistError::Comm(_)) => 6,
            Self::Core(coarsen_core::Error::Ranks { .. }) => 6,
            Self::Core(error) | Self::Dist(DistError::Setup(SetupError::Core(error))) if of_device(error) => {
                5
            }
            Self::OpenCl(_) | Self::NoDevice(_) => 5,
            Self::Unsuitable(_) => 4,
            Self::Problem(ProblemError::Mesh(_) | ProblemError::Body(_) | ProblemError::Constraints(_)) => 3,
            Self::Input { .. } | Self::Read(_) | Self::Sparse(_) | Self::Dist(_) | Self::Core(_) => 3,
            Self::Usage(_) | Self::Problem(_) | Self::Write(_) | Self::File { .. } => 2,
        }
    }

    /// Whether this rank is the first with an error of its own, and prints it. Ranks that cannot communicate say
    /// so at the end of MPI.
    pub(crate) fn is_first<C: Communicator>(&self, comm: &C) -> bool {
        // After such a fault other ranks may hang, and a wait for them would take another deadline.
        match self {
            Self::Start(_) => return true,
            Self::Comm(_) | Self::Dist(DistError::Comm(_)) => return false,
            Self::Core(coarsen_core::Error::Ranks { .. }) => return false,
            _ => (),
        }
        let other = matches!(self, Self::Elsewhere { .. } | Self::Dist(DistError::Elsewhere { .. }));
        let all = comm.all_gather(&[u8::from(!other)]).unwrap_or_default();
        all.iter().position(|own| own == &[1]).is_some_and(|first| first == comm.rank())
    }
}

/// The value if no rank has an error; otherwise every rank has one. All ranks call it.
pub(crate) fn together<C: Communicator, R>(comm: &C, result: Result<R, Failure>) -> Result<R, Failure> {
    let mut told = Vec::new();
    if let Err(error) = &result {
        told.push(error.code());
        told.extend(error.text().into_bytes());
    }
    let all = comm.all_gather(&told)?;
    match (result, all.iter().enumerate().find(|(_, told)| !told.is_empty())) {
        (Ok(_), Some((rank, told))) => {
            let reason = String::from_utf8_lossy(&told[1..]).into_owned();
            Err(Failure::Elsewhere { rank, reason, code: told[0] })
        }
        (result, _) => result,
    }
}

/// An error if a file has another number of rows than the system needs.
pub(crate) fn check_rows(file: &Path, what: &str, expected: usize, found: usize) -> Result<(), Failure> {
    match expected == found {
        true => Ok(()),
        false => Err(Failure::input(
            file,
            format!(
                "expected {expected} rows ({what}), found {found}; the file seems to belong to another system"
            ),
        )),
    }
}
