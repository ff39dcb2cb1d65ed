//! The options of `coarsen minimize`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::value::{BackendOption, svg, tolerance};

#[derive(Debug, Args)]
pub(crate) struct Minimize {
    /// `bar-twist:N`, a twisted bar of 4N x N x N cells; `armadillo-stretch`, one time step of a stretched
    /// body
    #[arg(long, value_name = "NAME", default_value = "bar-twist:8")]
    pub(crate) problem: Body,
    /// Mesh file of armadillo-stretch [default: the armadillo in the folder named by the variable
    /// COARSEN_DATA]
    #[arg(long, value_name = "FILE")]
    pub(crate) mesh: Option<PathBuf>,
    /// Descent direction
    #[arg(long, value_enum, default_value_t = DirectionOption::Lbfgs)]
    pub(crate) direction: DirectionOption,
    /// Preconditioner of the Hessian
    #[arg(long, value_enum, default_value_t = Inverse::Sa)]
    pub(crate) precond: Inverse,
    /// Where vectors and preconditioner are; energy, gradient and Hessian are computed on the CPU
    #[arg(long, value_name = "auto|cpu|opencl[:N]", default_value = "cpu")]
    pub(crate) backend: BackendOption,
    /// Update the preconditioner every N iterations; 0 means at the start only
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) refresh: usize,
    /// Tolerance for the gradient, relative to the start
    #[arg(long, value_name = "T", default_value = "1e-5", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tol: f64,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) max_iterations: usize,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Plot the gradient over the iterations
    #[arg(long, value_name = "HISTORY.svg", value_parser = svg())]
    pub(crate) plot: Option<PathBuf>,
    /// Print only errors
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    BarTwist(usize),
    ArmadilloStretch,
}

impl FromStr for Body {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("bar-twist:").map(str::parse)) {
            ("armadillo-stretch", _) => Ok(Self::ArmadilloStretch),
            (_, Some(Ok(n))) => Ok(Self::BarTwist(n)),
            _ => Err("expected bar-twist:N with a whole number N, or armadillo-stretch"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionOption {
    /// Newton's method with inexact conjugate gradients
    Newton,
    /// Limited-memory BFGS with the preconditioner as initial matrix
    Lbfgs,
    /// Nonlinear conjugate gradients (Dai and Kou)
    Ncg,
    /// Accelerated gradient descent (Wang and Yang)
    Agd,
    /// Gradient descent
    Gradient,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inverse {
    /// No preconditioner
    None,
    /// The diagonal
    Jacobi,
    /// The diagonal blocks
    BlockJacobi,
    /// Smoothed aggregation
    Sa,
    /// Multilevel additive Schwarz
    Mas,
    /// Skinning-space multigrid
    Skinning,
}
