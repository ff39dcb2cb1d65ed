//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use coarsen::auto::MEMORY;
use serde::Serialize;

use super::aggregation::Aggregation;
use super::classical::Classical;
use super::domains::Domains;
use super::families::OfPreconds;
use super::minimize::Minimize;
use super::names::{FileFormat, Method, Precision, Precond, Reorder, UpdatePolicy};
use super::options::file_of_options;
use super::overlap::Overlap;
use super::skinning::ControlPoints;
use super::value::{BackendOption, NullSpace, Rhs, array, png, seconds, svg, tolerance};
use crate::error::Failure;

/// Examples and exit codes, as `--help` prints them.
macro_rules! after {
    ($($example:literal),* $(,)?) => {
        concat!(
            "Examples:\n", $("  ", $example, "\n",)*
            "\nExit codes: 0 converged, 2 wrong usage or an output that cannot be written, 3 invalid input, 4 not converged, \
             5 device unavailable. Every input file may be `-`, the standard input."
        )
    };
}

#[derive(Debug, Parser)]
#[command(name = "coarsen", version, about = "Solves large sparse linear systems", after_help = after!(
    "coarsen generate elasticity3d:12 --out cube",
    "coarsen solve cube/A.mtx --rhs cube/b.mtx --coordinates cube/coordinates.mtx",
    "coarsen info cube/A.mtx",
))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Solve a system
    #[command(after_help = after!(
        "coarsen solve A.mtx --rhs b.mtx --out x.mtx",
        "coarsen solve A.npz --rhs b.npy --out x.npy",
        "coarsen solve A.mtx --method cg --precond sa --tol 1e-6 --time-limit 60",
        "coarsen solve A.mtx --rhs ones --report r.json --plot history.svg",
        "coarsen solve --problem stack:12 --steps 5",
        "coarsen solve A.mtx --dump bug",
        "coarsen solve --options bug",
    ))]
    Solve(Box<Solve>),
    /// Solve a system with every suitable preconditioner and print a table
    #[command(after_help = after!(
        "coarsen compare A.mtx --rhs b.mtx",
        "coarsen compare --problem poisson2d:40 --time-limit 5 --plot methods.svg",
    ))]
    Compare(Box<Compare>),
    /// Print properties and possible faults of a matrix, and the method that `solve` would choose
    #[command(after_help = after!("coarsen info A.mtx", "coarsen info --problem cloth:20 --dt 0.01"))]
    Info(Box<Info>),
    /// Draw the sparsity pattern of a matrix
    #[command(after_help = after!("coarsen spy A.mtx --reorder rcm --out A.png"))]
    Spy(Spy),
    /// Write a problem of the gallery as files
    #[command(after_help = after!(
        "coarsen generate elasticity3d:12 --out cube",
        "coarsen generate poisson2d:100 --format npz --out square",
    ))]
    Generate(Generate),
    /// List the devices of this machine
    #[command(after_help = after!("coarsen devices"))]
    Devices(Devices),
    /// Minimise the energy of a soft body
    #[command(after_help = after!("coarsen minimize --problem bar-twist:4 --direction newton"))]
    Minimize(Minimize),
    /// Print a script for a shell, which completes commands and options
    #[command(after_help = after!("coarsen completions bash"))]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of the command, or of one of its commands, in troff format
    #[command(after_help = after!("coarsen man", "coarsen man solve"))]
    Man {
        /// A command such as `solve`
        command: Option<String>,
    },
}

/// A matrix, from a file or from the gallery.
#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Source {
    /// Matrix Market file, plain or compressed with gzip, or `.npz` of SciPy's `save_npz`; `-` reads standard
    /// input [default: the problem elasticity3d:31]
    pub(crate) matrix: Option<PathBuf>,
    /// Test problem in place of a file, such as poisson2d:100: those of `coarsen generate --help`, cloth-contact or stack
    #[arg(long, value_name = "NAME:SIZE", conflicts_with = "matrix")]
    pub(crate) problem: Option<String>,
    /// Time step of the problems cloth, pinned, garment, softbody, cloth-contact and stack, in seconds
    #[arg(
        long,
        value_name = "S",
        requires = "problem",
        conflicts_with = "matrix",
        allow_negative_numbers = true
    )]
    pub(crate) dt: Option<f64>,
    /// Ratio of the stiffnesses of hard and soft blocks in the problem elasticity3d
    #[arg(
        long,
        value_name = "F",
        requires = "problem",
        conflicts_with = "matrix",
        allow_negative_numbers = true
    )]
    pub(crate) jump: Option<f64>,
    /// Fraction of the vertices with a constraint in the problem pinned
    #[arg(
        long,
        value_name = "F",
        requires = "problem",
        conflicts_with = "matrix",
        allow_negative_numbers = true
    )]
    pub(crate) share: Option<f64>,
    /// Contact matrix, added to the matrix of the file but stored separately
    #[arg(long, value_name = "FILE", requires = "matrix")]
    pub(crate) contact: Option<PathBuf>,
    /// Coordinates of the nodes, one row for each node
    #[arg(long, value_name = "FILE")]
    pub(crate) coordinates: Option<PathBuf>,
}

/// A system: a matrix, a right-hand side, and additional data.
#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Given {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) source: Source,
    /// Right-hand side: a file, of which each column is solved, `ones`, or `random:SEED`
    #[arg(long, value_name = "FILE|ones|random:SEED", default_value = "random:1", value_hint = ValueHint::FilePath)]
    pub(crate) rhs: Rhs,
    /// Starting guess, one for each right-hand side or one for all [default: zero]
    #[arg(long, value_name = "FILE")]
    pub(crate) x0: Option<PathBuf>,
    /// Unknowns of a node; a complex one counts twice [default: detected from the pattern]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) block_size: Option<u32>,
    /// Near-kernel vectors, one column for each vector
    #[arg(long, value_name = "FILE")]
    pub(crate) near_kernel: Option<PathBuf>,
    /// Null space of a singular matrix: `none`, `constants`, or a file with one column for each vector
    #[arg(long, value_name = "none|constants|FILE", default_value = "none", value_hint = ValueHint::FilePath)]
    pub(crate) null_space: NullSpace,
    // Before the groups, which take their options away.
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) of_preconds: OfPreconds,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) aggregation: Aggregation,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) classical: Classical,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) domains: Domains,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) overlap: Overlap,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) skinning: ControlPoints,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Memory limit of a factor that `auto` may choose, in MiB
    #[arg(long = "memory", value_name = "MIB", default_value_t = (MEMORY >> 20) as u64)]
    pub(crate) memory_mib: u64,
    /// Take a matrix that is symmetric to single precision as symmetric: preconditioners are built from (A + A^T) / 2, and A is
    /// multiplied as it is; the method `auto` always does so
    #[arg(long)]
    pub(crate) symmetrize: bool,
    /// Tolerance for the relative residual |b - A x| / |b|
    #[arg(long, value_name = "T", default_value = "1e-8", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tol: f64,
    /// Tolerance for the residual |b - A x| itself, in the unit of b: the larger of both tolerances holds
    #[arg(long, value_name = "T", default_value = "0", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) atol: f64,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", default_value_t = MAX_ITERATIONS)]
    pub(crate) max_iterations: usize,
    /// Read options from a TOML file with lines such as `tol = 1e-6`, or from the folder of a `--dump`; those on
    /// the command line win. Names in it are relative to its folder
    #[arg(long, value_name = "FILE|DIR", value_parser = file_of_options())]
    pub(crate) options: Option<PathBuf>,
}

/// The default of `--max-iterations`.
pub(crate) const MAX_ITERATIONS: usize = 5000;

#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Solve {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) given: Given,
    /// Solution method
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    pub(crate) method: Method,
    /// Preconditioner
    #[arg(long, value_enum, default_value_t = Precond::Auto)]
    pub(crate) precond: Precond,
    /// Where to solve: `auto` takes a device if there is one, or the backend named by the variable
    /// COARSEN_BACKEND
    #[arg(long, value_name = "auto|cpu|opencl[:N]", default_value = "cpu")]
    pub(crate) backend: BackendOption,
    /// Precision; `mixed` stores the preconditioner in f32
    #[arg(long, value_enum, default_value_t = Precision::Auto)]
    pub(crate) precision: Precision,
    /// Number of steps of a sequence, --problem cloth-contact:N or stack:N [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) steps: Option<u32>,
    /// When to rebuild the preconditioner that --precond names, in a sequence, --problem cloth-contact:N or stack:N
    #[arg(long, value_enum, default_value_t = UpdatePolicy::Policy)]
    pub(crate) update: UpdatePolicy,
    /// Time limit in seconds for setup and iterations; a factorisation that has begun is not interrupted [default:
    /// none]
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) time_limit: Option<f64>,
    /// Write the solution to a file, `.mtx`, `.mtx.gz` or `.npy`, one column for each right-hand side; `-` is the
    /// standard output, and the text moves to the standard error
    #[arg(long, value_name = "X.mtx|X.npy", value_parser = array())]
    pub(crate) out: Option<PathBuf>,
    /// Write a report as JSON; `-` is the standard output, and the text moves to the standard error
    #[arg(long, value_name = "R.json")]
    pub(crate) report: Option<PathBuf>,
    /// Plot the residual over the iterations; for a sequence, iterations, decisions and seconds of each step
    #[arg(long, value_name = "HISTORY.svg", value_parser = svg())]
    pub(crate) plot: Option<PathBuf>,
    /// Write everything needed to repeat this run to a new or empty folder: matrix, right-hand side, options,
    /// versions
    #[arg(long, value_name = "DIR")]
    pub(crate) dump: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) talk: Talk,
}

/// What is printed during a run.
#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Talk {
    /// Seconds between two lines of progress, if the standard error is not a terminal
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) progress: f64,
    /// Print only errors
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Compare {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) given: Given,
    /// Where to solve; several backends, separated by commas, are compared
    #[arg(long, value_name = "auto|cpu|opencl[:N]", default_value = "cpu", value_delimiter = ',')]
    pub(crate) backend: Vec<BackendOption>,
    /// Time limit for each method in seconds, setup included
    #[arg(long, alias = "limit", value_name = "S", default_value_t = 60.0, value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) time_limit: f64,
    /// Write the table as JSON; `-` is the standard output, and the text moves to the standard error
    #[arg(long, value_name = "R.json")]
    pub(crate) report: Option<PathBuf>,
    /// Plot the residuals over iterations and over time
    #[arg(long, value_name = "PICTURE.svg", value_parser = svg())]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) talk: Talk,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Spy {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Order of rows and columns
    #[arg(long, value_enum, default_value_t = Reorder::Natural)]
    pub(crate) reorder: Reorder,
    /// The picture to write
    #[arg(long, value_name = "PICTURE.png", value_parser = png())]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Devices {
    /// Measure the best size of work groups for each device, and store it
    #[arg(long)]
    pub(crate) tune: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) given: Given,
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// Test problem, such as elasticity3d:10: poisson2d, poisson3d, anisotropic2d, jump3d, elasticity3d, cloth, pinned, graph or
    /// softbody with a size, garment or softbody with a mesh file
    #[arg(value_name = "NAME:SIZE")]
    pub(crate) problem: String,
    /// Time step of the problems cloth, pinned, garment and softbody, in seconds
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,
    /// Ratio of the stiffnesses of hard and soft blocks in the problem elasticity3d
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub(crate) jump: Option<f64>,
    /// Fraction of the vertices with a constraint in the problem pinned
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub(crate) share: Option<f64>,
    /// Format of the files: Matrix Market, or those of NumPy and SciPy
    #[arg(long, value_enum, default_value_t = FileFormat::Mtx)]
    pub(crate) format: FileFormat,
    /// Folder for A.mtx, b.mtx, coordinates.mtx and near_kernel.mtx (A.npz, b.npy and so on); created if it does
    /// not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

impl Solve {
    /// The options of `coarsen solve` with the same input.
    pub(crate) fn of(given: &Given) -> Self {
        match Arguments::parse_from(["coarsen", "solve"]).command {
            Command::Solve(options) => Self { given: given.clone(), ..*options },
            other => unreachable!("`solve` was parsed as {other:?}"),
        }
    }
}

impl Given {
    /// Rejects `--symmetrize` for a command that always does so.
    pub(crate) fn check_symmetrize(&self) -> Result<(), Failure> {
        let why = "a matrix that is symmetric to single precision is always taken as symmetric here";
        if self.symmetrize { Err(Failure::no_effect("--symmetrize", why)) } else { Ok(()) }
    }

    /// Rejects limits of a solve for a command that does not solve.
    pub(crate) fn check_unsolved(&self) -> Result<(), Failure> {
        let limits =
            [(self.max_iterations != MAX_ITERATIONS, "--max-iterations"), (self.atol != 0.0, "--atol")];
        match limits.into_iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(Failure::no_effect(option, "nothing is solved")),
            None => Ok(()),
        }
    }

    /// Memory limit of a factor in bytes.
    pub(crate) fn memory(&self) -> usize {
        usize::try_from(self.memory_mib).unwrap_or(usize::MAX).saturating_mul(1 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::names::name;

    fn solve(words: &str) -> Result<Solve, clap::Error> {
        let words = ["coarsen", "solve"].into_iter().chain(words.split_whitespace());
        match Arguments::try_parse_from(words)?.command {
            Command::Solve(options) => Ok(*options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_are_told_from_files() {
        let rhs = |text| solve(&format!("--rhs {text}")).map(|o| o.given.rhs);
        assert_eq!(rhs("ones").unwrap(), Rhs::Ones);
        assert_eq!(rhs("random:7").unwrap(), Rhs::Random(7));
        assert_eq!(rhs("./ones").unwrap(), Rhs::File("./ones".into()));
        assert!(rhs("random:seven").is_err());
        assert_eq!(solve("").unwrap().given.rhs, Rhs::Random(1));
        assert_eq!(solve("--null-space constants").unwrap().given.null_space, NullSpace::Constants);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for words in
            ["--tol -1", "--tol nan", "--block-size 0", "--threads 0", "--dt 0.1", "a.mtx --problem graph:4"]
        {
            assert!(solve(words).is_err(), "{words}");
        }
        assert_eq!(name(solve("--precond block-jacobi").unwrap().precond), "block-jacobi");
    }
}
