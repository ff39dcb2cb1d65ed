//! Errors that end the command, on all ranks or on none.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use coarsen_backend::SetupError;
use coarsen_diagnose::Witness;
use coarsen_distributed::{CommError, Communicator, DistError};
use coarsen_matrix_market::{ReadError, WriteError};
use coarsen_mpi::MpiError;
use coarsen_opencl::OpenClError;
use coarsen_problems::ProblemError;
use coarsen_sparse::SparseError;

/// The reason why the command ends without a solution.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Usage(#[from] clap::Error),
    #[error(transparent)]
    Start(#[from] MpiError),
    #[error(transparent)]
    Comm(#[from] CommError),
    #[error(transparent)]
    Dist(#[from] DistError),
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error("the problem {name} has constraints, which coarsen-mpi does not impose; use coarsen solve")]
    Constraints { name: String },
    #[error("--schedule queues needs a power of two as number of ranks, not {ranks}; use ring or pairwise")]
    Queues { ranks: usize },
    #[error(
        "--backend opencl takes --product halo and any --precond but jacobi; choose block-jacobi, or --backend cpu"
    )]
    OnDevice,
    #[error("--device {device} is the number of an OpenCL device; give --backend opencl")]
    DeviceOnCpu { device: usize },
    #[error(
        "--device {device}: this machine has {count} OpenCL devices, numbered from 0; `coarsen devices` lists them"
    )]
    NoDevice { device: usize, count: usize },
    #[error(transparent)]
    OpenCl(#[from] OpenClError),
    /// A value is prescribed by a huge diagonal entry; rows are counted from 1.
    #[error(
        "row {row} prescribes a value by a diagonal entry above 1e15 times its other entries (rows are counted from 1), which hides \
         the residuals of all other rows; eliminate such rows and columns, or use `coarsen solve`, which does"
    )]
    Prescribed { row: usize },
    /// The method needs a symmetric matrix; rows and columns are counted from 1.
    #[error(
        "--method {method} needs a symmetric matrix, but row {row}, column {column} holds {here:.17e}, and row {column}, \
         column {row} holds {there:.17e} (rows are counted from 1); {cure}"
    )]
    Unsymmetric { method: String, row: usize, column: usize, here: f64, there: f64, cure: &'static str },
    /// The method needs a positive definite matrix; rows are counted from 1.
    #[error(
        "--method {method} needs a positive definite matrix, but {why} (rows are counted from 1); use --method minres or \
         gmres, or correct the assembly"
    )]
    Indefinite { method: String, why: Witness },
    #[error("--rhs {text}: expected a file, `ones`, or `random:SEED` with a whole number")]
    Rhs { text: String },
    #[error("--block-size {size} does not divide the {n} unknowns; give the number of unknowns of a node")]
    BlockSize { size: usize, n: usize },
    #[error(
        "{}: {nodes} rows, one for each node, give each node {size} of the {n} unknowns; the file seems to belong to another \
         system; if {size} is right, give --block-size {size}", file.display()
    )]
    Blocks { file: PathBuf, nodes: usize, size: usize, n: usize },
    #[error("{}: {nodes} rows, one for each node, do not divide the {n} unknowns", file.display())]
    Nodes { file: PathBuf, nodes: usize, n: usize },
    #[error("--partition {partition} needs the coordinates of the nodes; give --coordinates FILE")]
    NoCoordinates { partition: String },
    #[error("rank {rank} has another command line than rank 0; start all ranks with the same one")]
    Differ { rank: usize },
    #[error(
        "{option} is an option of --precond {of}, and the preconditioner is {precond}; give --precond {of}"
    )]
    Unused { option: &'static str, of: String, precond: String },
    #[error(
        "--product reproducible divides rows at multiples of --leaf; use --partition even or morton, and no --parts"
    )]
    Unaligned,
    #[error("{}: line {line}: expected a rank below {ranks}, the number of ranks, found `{found}`; divide the nodes into as many parts as there are ranks", file.display())]
    Part { file: PathBuf, line: usize, found: String, ranks: usize },
    #[error("{}: cannot be read ({kind}); check the name and the permissions of the file of --parts", file.display())]
    PartsFile { file: PathBuf, kind: ErrorKind },
    #[error("{}: expected {expected} rows ({what}), found {found}; the file seems to belong to another system", file.display())]
    Rows { file: PathBuf, what: &'static str, expected: usize, found: usize },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Sparse(#[from] SparseError),
    #[error("{}: cannot be written ({kind}); check the folder, its permissions and the free space", file.display())]
    File { file: PathBuf, kind: ErrorKind },
    #[error(
        "{first} and {second} are both {}; give another name",
        if file.as_os_str() == "-" {
            "the standard output `-`".to_owned()
        } else {
            format!("the same file, {}", file.display())
        }
    )]
    SameFile { first: &'static str, second: &'static str, file: PathBuf },
    #[error(
        "{option} is the standard input, which ranks cannot share; give a file, or ./- for a file called `-`"
    )]
    StandardInput { option: &'static str },
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

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(error) => error.exit_code() as u8,
            Self::Elsewhere { code, .. } => *code,
            Self::Start(_) | Self::Comm(_) | Self::Dist(DistError::Comm(_)) => 6,
            Self::Core(coarsen_core::Error::Ranks { .. }) => 6,
            Self::Constraints { .. } | Self::Queues { .. } | Self::Rhs { .. } | Self::BlockSize { .. } => 2,
            Self::Differ { .. } | Self::Unused { .. } => 2,
            Self::SameFile { .. } | Self::StandardInput { .. } => 2,
            Self::NoCoordinates { .. } | Self::Unaligned | Self::OnDevice => 2,
            Self::Problem(ProblemError::Mesh(_) | ProblemError::Body(_) | ProblemError::Constraints(_)) => 3,
            Self::Problem(_) | Self::Write(_) | Self::File { .. } => 2,
            Self::DeviceOnCpu { .. } => 2,
            Self::Prescribed { .. } | Self::Unsymmetric { .. } | Self::Indefinite { .. } => 4,
            Self::OpenCl(_) | Self::NoDevice { .. } => 5,
            Self::Core(error) | Self::Dist(DistError::Setup(SetupError::Core(error))) if of_device(error) => {
                5
            }
            Self::Read(_)
            | Self::Rows { .. }
            | Self::Blocks { .. }
            | Self::Nodes { .. }
            | Self::Part { .. }
            | Self::PartsFile { .. }
            | Self::Sparse(_)
            | Self::Dist(_)
            | Self::Core(_) => 3,
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
        told.extend(error.to_string().into_bytes());
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
pub(crate) fn check_rows(
    file: &Path,
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), Failure> {
    let file = file.to_path_buf();
    if expected == found { Ok(()) } else { Err(Failure::Rows { file, what, expected, found }) }
}
