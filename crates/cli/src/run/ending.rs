//! How a solve ended, the cause and a remedy.

use std::fmt;

use coarsen::Outcome;
use coarsen::auto::Floor;
use coarsen::backend::SetupError;
use coarsen::direct::DirectError;
use coarsen::krylov::NullSpaceError;

use crate::console::mib;

/// The end of a solve. Every end except [`Outcome::Converged`] gives exit code 4.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// The outcome of the method, checked by the residual in `f64`.
    Method(Outcome),
    /// The residual is as small as f64 allows.
    Floor(Floor),
    /// The time limit was reached.
    TimeLimit,
    /// Not started, because the estimated seconds exceed the time limit.
    TooLong { seconds: f64 },
    /// Not started, because the factor exceeds its memory limit.
    TooLarge { bytes: usize, allowed: usize },
    /// The outcome for a matrix whose kernel contains constants, if no null space is given.
    Singular(Outcome),
    /// The method requires a symmetric matrix, but the matrix is unsymmetric.
    Unsymmetric { row: usize, column: usize, here: f64, there: f64 },
    /// The method requires a positive definite matrix, but the matrix is not positive definite, for the given
    /// reason.
    Indefinite { why: String },
    /// The preconditioner could not be built.
    Setup(SetupError),
    /// The matrix could not be factorised.
    Factor(DirectError),
    /// The method does not accept the preconditioner or one of the parameters.
    Unsuitable(coarsen::Error),
    /// A given vector is not in the null space.
    NotNull { vector: usize, share: f64 },
    /// The given null space vectors are linearly dependent.
    Dependent(NullSpaceError),
}

impl Ending {
    pub(crate) fn converged(&self) -> bool {
        matches!(self, Self::Method(Outcome::Converged))
    }

    /// Whether a preconditioner in f64 could end differently.
    pub(crate) fn may_be_rounding(&self) -> bool {
        match self {
            Self::Setup(_) | Self::Unsuitable(_) | Self::Floor(_) => true,
            Self::Method(outcome) | Self::Singular(outcome) => {
                !matches!(outcome, Outcome::Converged | Outcome::IterationLimit | Outcome::Stopped)
            }
            _ => false,
        }
    }

    /// Whether the message names a row or a node of the reordered matrix.
    pub(crate) fn names_a_row(&self) -> bool {
        matches!(self, Self::Setup(_) | Self::Factor(_) | Self::Unsuitable(_))
    }

    /// The name in reports: snake case.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Method(outcome) => outcome.name(),
            Self::Floor(_) => "not_attainable",
            Self::TimeLimit => "time_limit",
            Self::TooLong { .. } | Self::TooLarge { .. } => "left_out",
            Self::Singular(_) => "singular_matrix",
            Self::Unsymmetric { .. } => "unsymmetric_matrix",
            Self::Indefinite { .. } => Outcome::IndefiniteOperator.name(),
            Self::Setup(_) => "setup_failed",
            Self::Factor(_) => "factorization_failed",
            Self::Unsuitable(_) => "unsuitable_preconditioner",
            Self::NotNull { .. } | Self::Dependent(_) => "wrong_null_space",
        }
    }
}

/// The cause and the remedy; empty when converged.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(outcome) => f.write_str(outcome.advice()),
            Self::Floor(floor) => floor.fmt(f),
            Self::TimeLimit => f.write_str("the time limit was reached; raise --limit, or use a stronger preconditioner"),
            Self::TooLong { seconds } => write!(f, "not started: it would take about {seconds:.0} s; raise --limit"),
            Self::TooLarge { bytes, allowed } => write!(
                f,
                "not started: its factor would take {:.0} MiB and the limit is {:.0}; raise --memory",
                mib(*bytes),
                mib(*allowed)
            ),
            Self::Singular(outcome) => write!(
                f,
                "the matrix is singular: its row sums are zero, so constants are in its kernel (outcome of the method: {outcome}); \
                 give --null-space constants, or fix a value"
            ),
            Self::Unsymmetric { row, column, here, there } => write!(
                f,
                "the matrix is not symmetric: row {row}, column {column} holds {here:.4e}, but row {column}, column {row} holds \
                 {there:.4e} (rows are counted from 0); use gmres, bicgstab or direct, or eliminate boundary rows and columns alike"
            ),
            Self::Indefinite { why } => {
                write!(
                    f,
                    "the matrix is not positive definite: {why}; use minres, gmres or direct, or correct the assembly"
                )
            }
            Self::Setup(error) => error.fmt(f),
            Self::Factor(error) => error.fmt(f),
            Self::Unsuitable(coarsen::Error::Preconditioner { .. }) => f.write_str(
                "the preconditioner is not symmetric positive definite for this matrix, as the method requires (a pivot or a \
                 diagonal entry is not positive); use ic0 or block-jacobi, or gmres with this one",
            ),
            Self::Unsuitable(error) => error.fmt(f),
            Self::NotNull { vector, share } => write!(
                f,
                "vector {vector} is not in the null space: |A v| is {share:.1e} of its value without cancellation; \
                 check the order of the unknowns, or leave out --null-space"
            ),
            Self::Dependent(error) => error.fmt(f),
        }
    }
}
