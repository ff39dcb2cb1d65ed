//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use coarsen::auto::MEMORY;
use serde::Serialize;

use super::aggregation::Aggregation;
use super::domains::Domains;
use super::minimize::Minimize;
use super::names::{Follow, Method, Precision, Precond, Reorder};
use super::overlap::Overlap;
use super::value::{NullSpace, Rhs, Wanted, seconds, svg, tolerance};

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
    #[arg(
        long,
        value_name = "S",
        requires = "problem",
        conflicts_with = "matrix",
        allow_negative_numbers = true
    )]
    pub(crate) dt: Option<f64>,
    /// How much stiffer the hard blocks of the problem elasticity3d are
    #[arg(
        long,
        value_name = "F",
        requires = "problem",
        conflicts_with = "matrix",
        allow_negative_numbers = true
    )]
    pub(crate) jump: Option<f64>,
    /// Share of the vertices of the problem pinned that have a constraint
    #[arg(
        long,
        value_name = "F",
        requires = "problem",
        conflicts_with = "matrix",
        allow_negative_numbers = true
    )]
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
    #[arg(long, value_name = "T", default_value = "1e-8", value_parser = tolerance, allow_negative_numbers = true)]
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
    #[arg(long, value_enum, default_value_t = Follow::Policy)]
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
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds, allow_negative_numbers = true)]
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
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,
    /// How much stiffer the hard blocks of the problem elasticity3d are
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub(crate) jump: Option<f64>,
    /// Share of the vertices of the problem pinned that have a constraint
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    pub(crate) share: Option<f64>,
    /// Folder for A.mtx, b.mtx, coordinates.mtx and near_kernel.mtx; made where there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

impl Solve {
    /// The options of `coarsen solve FILE`.
    pub(crate) fn of(file: &Path) -> Self {
        let words = ["coarsen", "solve", "--"].map(OsString::from).into_iter().chain([file.into()]);
        match Arguments::parse_from(words).command {
            Command::Solve(options) => *options,
            other => unreachable!("`solve` was parsed as {other:?}"),
        }
    }
}

impl Given {
    /// Bytes that a factor may take.
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
