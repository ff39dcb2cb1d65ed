//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;

use crate::parameters::{Aggregation, Domains};

/// Exit codes, as `--help` prints them.
const CODES: &str = "Exit codes: 0 converged, 2 wrong usage, 3 invalid input, 4 not converged, 6 ranks cannot \
                     communicate.\nStart: mpirun -n 4 coarsen-mpi solve --problem cloth:100";

#[derive(Debug, Parser)]
#[command(name = "coarsen-mpi", version, about = "Solves large sparse linear systems on several machines", after_help = CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Solve a system
    #[command(after_help = CODES)]
    Solve(Box<Solve>),
}

#[derive(Clone, Debug, Args, Serialize)]
pub(crate) struct Solve {
    /// Matrix Market file [default: the problem elasticity3d:31]
    #[serde(skip)]
    pub(crate) matrix: Option<PathBuf>,
    /// Test problem in place of a file, such as poisson2d:100
    #[arg(long, value_name = "NAME:SIZE", conflicts_with = "matrix")]
    #[serde(skip)]
    pub(crate) problem: Option<String>,
    /// Time step of the problems cloth, garment and softbody, in seconds
    #[arg(long, value_name = "S", requires = "problem", allow_negative_numbers = true)]
    #[serde(skip)]
    pub(crate) dt: Option<f64>,
    /// Ratio of the stiffnesses of hard and soft blocks in the problem elasticity3d
    #[arg(long, value_name = "F", requires = "problem", allow_negative_numbers = true)]
    #[serde(skip)]
    pub(crate) jump: Option<f64>,
    /// Right-hand side: a file, `ones`, or `random:SEED`
    #[arg(long, value_name = "FILE|ones|random:SEED", default_value = "random:1")]
    #[serde(skip)]
    pub(crate) rhs: String,
    /// Unknowns of a node of a file [default: the unknowns for each of the coordinates, else detected from the pattern]
    #[arg(long, value_name = "N", requires = "matrix", value_parser = clap::value_parser!(u32).range(1..=1024))]
    #[serde(skip)]
    pub(crate) block_size: Option<u32>,
    /// Starting guess [default: zero]
    #[arg(long, value_name = "FILE")]
    pub(crate) x0: Option<PathBuf>,
    /// Coordinates of the nodes of a file, one row for each node
    #[arg(long, value_name = "FILE", requires = "matrix")]
    #[serde(skip)]
    pub(crate) coordinates: Option<PathBuf>,
    /// Near-kernel vectors of a file, one column for each vector [default: rigid-body motions, if coordinates are
    /// given and nodes have 2 or 3 unknowns; otherwise constants]
    #[arg(long, value_name = "FILE", requires = "matrix")]
    #[serde(skip)]
    pub(crate) near_kernel: Option<PathBuf>,
    /// Which nodes a rank takes
    #[arg(long, value_enum, default_value_t = Division::Even)]
    pub(crate) partition: Division,
    /// The rank of each node, one number per line, as METIS writes it
    #[arg(long, value_name = "FILE", conflicts_with = "partition")]
    pub(crate) parts: Option<PathBuf>,
    /// Solution method
    #[arg(long, value_enum, default_value_t = Method::Cg)]
    pub(crate) method: Method,
    /// Preconditioner
    #[arg(long, value_enum, default_value_t = Precond::BlockJacobi)]
    pub(crate) precond: Precond,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) aggregation: Aggregation,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) domains: Domains,
    /// Where each rank keeps its rows, vectors and preconditioner; opencl is for the product halo, and for all
    /// preconditioners but jacobi
    #[arg(long, value_enum, default_value_t = BackendOption::Cpu)]
    pub(crate) backend: BackendOption,
    /// Number of the OpenCL device of every rank, as `coarsen devices` lists them [default: ranks of a machine take its
    /// accelerators in turn, or its other devices if it has none]
    #[arg(long, value_name = "N")]
    #[serde(skip)]
    pub(crate) device: Option<usize>,
    /// How products exchange vectors
    #[arg(long, value_enum, default_value_t = Product::Halo)]
    pub(crate) product: Product,
    /// The order of the exchange of whole vectors, for the products blocking and pipelined
    #[arg(long, value_enum, default_value_t = Order::Ring)]
    #[serde(skip)]
    pub(crate) schedule: Order,
    /// Block rows per partial sum of a reproducible product; every rank begins at a multiple
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    #[serde(skip)]
    pub(crate) leaf: u32,
    /// Number of threads of each rank [default: the cores of a machine, divided among its ranks]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    #[serde(skip)]
    pub(crate) threads: Option<u32>,
    /// Longest wait for another rank, in seconds [default: 60]
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    #[serde(skip)]
    pub(crate) deadline: Option<f64>,
    /// Tolerance for the relative residual |b - A x| / |b|
    #[arg(long, value_name = "T", default_value = "1e-8", value_parser = tolerance, allow_negative_numbers = true)]
    #[serde(skip)]
    pub(crate) tol: f64,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", default_value_t = 5000)]
    #[serde(skip)]
    pub(crate) max_iterations: usize,
    /// Write the solution to a file; `-` is the standard output
    #[arg(long, value_name = "X.mtx")]
    #[serde(skip)]
    pub(crate) out: Option<PathBuf>,
    /// Write a report as JSON; `-` is the standard output
    #[arg(long, value_name = "R.json")]
    #[serde(skip)]
    pub(crate) report: Option<PathBuf>,
    /// Print only errors
    #[arg(long)]
    #[serde(skip)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// Conjugate gradients, for symmetric positive definite matrices
    Cg,
    /// Conjugate gradients with a single reduction per iteration, for slow networks
    SingleReductionCg,
    /// Conjugate gradients whose reduction goes on between chunks of the product; pays on simulated slow networks
    PipelinedCg,
    /// Flexible conjugate gradients, for a preconditioner that changes between iterations
    Fcg,
    /// MINRES, for symmetric matrices
    Minres,
    /// Restarted GMRES, for any matrix
    Gmres,
    /// BiCGStab, for any matrix
    Bicgstab,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Precond {
    /// No preconditioner
    None,
    /// The diagonal
    Jacobi,
    /// The diagonal blocks
    BlockJacobi,
    /// Multigrid by smoothed aggregation with the parameters of Tamstorf et al. 2015; `coarsen` has other defaults
    Sa,
    /// Multilevel additive Schwarz; domains follow the order of the nodes, best by --partition morton
    Mas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BackendOption {
    /// The memory of the host
    Cpu,
    /// An OpenCL device
    Opencl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Division {
    /// Consecutive nodes in the given order
    Even,
    /// Consecutive nodes in Morton order; needs coordinates
    Morton,
    /// The parts of recursive coordinate bisection; needs coordinates
    Bisection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Product {
    /// Wait for all vectors of other ranks, then multiply
    Blocking,
    /// Multiply with each vector as it arrives
    Pipelined,
    /// Send only the entries that a neighbour needs
    Halo,
    /// As halo, with the same bits at any number of ranks
    Reproducible,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Each rank passes on what it received to the next
    Ring,
    /// Each vector comes from its owner
    Pairwise,
    /// The work queues of P-Cloth, for 2, 4, 8, .. ranks
    Queues,
    /// The one with the shortest time by a model, after a measurement of the links between all ranks
    Best,
}

/// The name of a value on the command line.
pub(crate) fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(t) if (0.0..f64::INFINITY).contains(&t) => Ok(t),
        _ => Err("expected a finite number, 0 or more, like 1e-8".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if s > 0.0 && s <= 1e6 => Ok(s),
        _ => Err("expected seconds, above 0 and up to 1e6".to_owned()),
    }
}
