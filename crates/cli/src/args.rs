//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use coarsen::auto::MEMORY;
use coarsen::{BackendChoice, Unavailable};
use serde::Serialize;

use crate::aggregation::Aggregation;
use crate::domains::Domains;
use crate::minimize::Minimize;
use crate::overlap::Overlap;

/// Exit codes, as `--help` prints them.
const CODES: &str = "Exit codes: 0 converged, 2 wrong usage, 3 bad input (file, line, what is wrong), \
                     4 not converged or broken down (cause and cure), 5 device unavailable.";

#[derive(Debug, Parser)]
#[command(name = "coarsen", version, about = "Solves sparse linear systems, and says how well", after_help = CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Solve a system and report how it went
    #[command(after_help = CODES)]
    Solve(Box<Solve>),
    /// Solve a system with every preconditioner that fits, side by side
    #[command(after_help = CODES)]
    Compare(Box<Compare>),
    /// Say what is wrong, unusual or useful to know about a matrix
    Info(Info),
    /// Draw where the entries of a matrix are
    Spy(Spy),
    /// Write a problem of the gallery as Matrix Market files
    Generate(Generate),
    /// List the devices of this machine
    #[command(after_help = CODES)]
    Devices(Devices),
    /// Minimise the energy of a soft body
    #[command(after_help = CODES)]
    Minimize(Minimize),
}

/// A matrix, from a file or from the gallery.
#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Source {
    /// Matrix Market file, plain or gzip-ed; `-` reads the standard input [default: the problem elasticity3d:31]
    pub(crate) matrix: Option<PathBuf>,
    /// Problem of the gallery instead of a file, such as poisson2d:100
    #[arg(long, value_name = "NAME:SIZE", conflicts_with = "matrix")]
    pub(crate) problem: Option<String>,
    /// Time step of the problems cloth, pinned, garment, softbody, cloth-contact and stack, in seconds
    #[arg(long, value_name = "S", requires = "problem", conflicts_with = "matrix")]
    pub(crate) dt: Option<f64>,
    /// How much stiffer the hard blocks of the problem elasticity3d are
    #[arg(long, value_name = "F", requires = "problem", conflicts_with = "matrix")]
    pub(crate) jump: Option<f64>,
    /// Share of the vertices of the problem pinned that have a constraint
    #[arg(long, value_name = "F", requires = "problem", conflicts_with = "matrix")]
    pub(crate) share: Option<f64>,
    /// Matrix of contact, added to that of the file: forces between pairs, as a simulator keeps them apart
    #[arg(long, value_name = "FILE", requires = "matrix")]
    pub(crate) contact: Option<PathBuf>,
    /// Coordinates, a row a node
    #[arg(long, value_name = "FILE")]
    pub(crate) coordinates: Option<PathBuf>,
}

/// A system: a matrix, a right-hand side, and what is known beside them.
#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Given {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) source: Source,
    /// Right-hand side: a file, `ones`, or `random:SEED`
    #[arg(long, value_name = "FILE|ones|random:SEED", default_value = "random:1")]
    pub(crate) rhs: Rhs,
    /// Starting guess [default: zero]
    #[arg(long, value_name = "FILE")]
    pub(crate) x0: Option<PathBuf>,
    /// Unknowns of a node [default: found out from the pattern]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) block_size: Option<u32>,
    /// Near-kernel, a row an unknown and a column a vector
    #[arg(long, value_name = "FILE")]
    pub(crate) near_kernel: Option<PathBuf>,
    /// Null space of a singular matrix: `none`, `constants`, or a file with a column a vector
    #[arg(long, value_name = "none|constants|FILE", default_value = "none")]
    pub(crate) null_space: NullSpace,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) aggregation: Aggregation,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) domains: Domains,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) overlap: Overlap,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// MiB that a factor may take where `auto` decides
    #[arg(long = "memory", value_name = "MIB", default_value_t = (MEMORY >> 20) as u64)]
    pub(crate) memory_mib: u64,
    /// Relative residual to reach, |b - A x| / |b|
    #[arg(long, value_name = "T", default_value = "1e-8", value_parser = tolerance)]
    pub(crate) tol: f64,
    /// Iterations at most
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) max_iterations: usize,
}

#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Solve {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) given: Given,
    /// Method
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    pub(crate) method: Method,
    /// Preconditioner
    #[arg(long, value_enum, default_value_t = Precond::Auto)]
    pub(crate) precond: Precond,
    /// Where to solve: `auto` is a device if there is one, unless the variable COARSEN_BACKEND names another
    #[arg(long, value_name = "auto|cpu|opencl[:N]", default_value = "cpu")]
    pub(crate) backend: Wanted,
    /// Numbers of vectors and matrices; `mixed` keeps the preconditioner in f32
    #[arg(long, value_enum, default_value_t = Precision::Auto)]
    pub(crate) precision: Precision,
    /// Steps of a sequence, --problem cloth-contact:N or stack:N [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) steps: Option<u32>,
    /// How the preconditioner follows a sequence, --problem cloth-contact:N or stack:N
    #[arg(long, value_enum, default_value_t = Follow::Upkeep)]
    pub(crate) follow: Follow,
    /// Write the solution
    #[arg(long, value_name = "X.mtx")]
    pub(crate) out: Option<PathBuf>,
    /// Write a report for machines
    #[arg(long, value_name = "R.json")]
    pub(crate) report: Option<PathBuf>,
    /// Draw the history of the residual; of a sequence, iterations, decisions and seconds of every step
    #[arg(long, value_name = "HISTORY.svg", value_parser = svg)]
    pub(crate) plot: Option<PathBuf>,
    /// Leave all that is needed to run this again: matrix, right-hand side, options, versions
    #[arg(long, value_name = "DIR")]
    pub(crate) dump: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Compare {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) given: Given,
    /// Where to solve; several, separated by commas, are put side by side
    #[arg(long, value_name = "auto|cpu|opencl[:N]", default_value = "cpu", value_delimiter = ',')]
    pub(crate) backend: Vec<Wanted>,
    /// Seconds for each method, setup included
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) limit: f64,
    /// Write the table for machines
    #[arg(long, value_name = "R.json")]
    pub(crate) report: Option<PathBuf>,
    /// Draw the residuals against iterations and against time
    #[arg(long, value_name = "PICTURE.svg", value_parser = svg)]
    pub(crate) plot: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Spy {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Order of rows and columns
    #[arg(long, value_enum, default_value_t = Reorder::Natural)]
    pub(crate) reorder: Reorder,
    /// The picture
    #[arg(long, value_name = "PICTURE.png")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Devices {
    /// Measure which size of work groups suits each device, and keep it
    #[arg(long)]
    pub(crate) tune: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Matrix Market file, plain or gzip-ed; `-` reads the standard input
    pub(crate) matrix: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// Problem of the gallery, such as elasticity3d:10
    #[arg(value_name = "NAME:SIZE")]
    pub(crate) problem: String,
    /// Time step of the problems cloth, pinned, garment and softbody, in seconds
    #[arg(long, value_name = "S")]
    pub(crate) dt: Option<f64>,
    /// How much stiffer the hard blocks of the problem elasticity3d are
    #[arg(long, value_name = "F")]
    pub(crate) jump: Option<f64>,
    /// Share of the vertices of the problem pinned that have a constraint
    #[arg(long, value_name = "F")]
    pub(crate) share: Option<f64>,
    /// Folder for A.mtx, b.mtx, coordinates.mtx and near_kernel.mtx; made where there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

impl Given {
    /// Bytes that a factor may take.
    pub(crate) fn memory(&self) -> usize {
        usize::try_from(self.memory_mib).unwrap_or(usize::MAX).saturating_mul(1 << 20)
    }
}

/// A backend by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted(pub(crate) BackendChoice);

impl FromStr for Wanted {
    type Err = Unavailable;

    fn from_str(text: &str) -> Result<Self, Unavailable> {
        text.parse().map(Self)
    }
}

impl Serialize for Wanted {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            BackendChoice::Auto => to.serialize_str("auto"),
            BackendChoice::Cpu => to.serialize_str("cpu"),
            BackendChoice::OpenCl(None) => to.serialize_str("opencl"),
            BackendChoice::OpenCl(Some(index)) => to.serialize_str(&format!("opencl:{index}")),
        }
    }
}

/// Where a right-hand side comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rhs {
    Ones,
    Random(u64),
    File(PathBuf),
}

impl FromStr for Rhs {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match (text, text.strip_prefix("random:")) {
            ("ones", _) => Self::Ones,
            (_, Some(seed)) => Self::Random(seed.parse()?),
            _ => Self::File(text.into()),
        })
    }
}

/// What A does not see.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NullSpace {
    None,
    Constants,
    File(PathBuf),
}

impl FromStr for NullSpace {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "none" => Self::None,
            "constants" => Self::Constants,
            file => Self::File(file.into()),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// Decided from what the matrix shows
    Auto,
    /// Conjugate gradients: symmetric positive definite matrices
    Cg,
    /// Flexible conjugate gradients
    Fcg,
    /// MINRES: symmetric matrices
    Minres,
    /// Restarted GMRES: any matrix
    Gmres,
    /// BiCGStab: any matrix
    Bicgstab,
    /// Sparse Cholesky, LDL^T or LU
    Direct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Precond {
    /// Decided from what the matrix shows
    Auto,
    /// No preconditioner
    None,
    /// The diagonal
    Jacobi,
    /// The diagonal blocks
    BlockJacobi,
    /// Symmetric Gauss-Seidel
    Gs,
    /// Symmetric successive over-relaxation with omega = 1.3
    Ssor,
    /// Incomplete Cholesky without fill
    Ic0,
    /// Incomplete LU without fill
    Ilu0,
    /// A Chebyshev polynomial of degree 4 in the block-diagonally scaled matrix
    Chebyshev,
    /// Multigrid by smoothed aggregation
    Sa,
    /// Multilevel additive Schwarz
    Mas,
    /// One level of additive Schwarz, with overlap
    As,
    /// The same, restricted: for unsymmetric matrices, under gmres or bicgstab
    Ras,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Precision {
    /// `mixed` under conjugate gradients where the values of the matrix fit, and `f64` where it fails and in sequences
    Auto,
    /// 64 bits throughout
    F64,
    /// 64-bit matrix and vectors, 32-bit preconditioner
    Mixed,
    /// 32 bits throughout
    F32,
}

/// What is done with a preconditioner before each solve of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Follow {
    /// Kept or patched until the iterations lost are worth a build, then updated, then built
    Upkeep,
    /// Built in every step
    Build,
    /// Updated in every step
    Update,
}

/// An order of rows and columns for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reorder {
    /// As it is
    Natural,
    /// Along a space-filling curve; needs coordinates
    Morton,
    /// Reverse Cuthill-McKee: a narrow band
    Rcm,
    /// Parts of the graph, one after the other
    Parts,
}

/// A value as it is typed.
pub(crate) fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(t) if (0.0..f64::INFINITY).contains(&t) => Ok(t),
        _ => Err("expected a finite number, 0 or more, like 1e-8".to_owned()),
    }
}

/// A plot is written as SVG, whatever its name says, so its name must say that.
pub(crate) fn svg(text: &str) -> Result<PathBuf, &'static str> {
    let file = PathBuf::from(text);
    match file.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("svg")) {
        true => Ok(file),
        false => Err("plots are SVG files: give a name that ends with .svg"),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if s > 0.0 && s <= 1e6 => Ok(s),
        _ => Err("expected seconds, above 0 and up to 1e6".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
