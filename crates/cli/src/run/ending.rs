//! How a solve ended, its cause and its cure.

use std::fmt;

use coarsen::Outcome;
use coarsen::auto::Floor;
use coarsen::backend::SetupError;
use coarsen::direct::DirectError;
use coarsen::krylov::NullSpaceError;

use crate::console::mib;

/// The end of a solve. All but [`Outcome::Converged`] are exit code 4.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// What the method said, judged by the residual in `f64`.
    Method(Outcome),
    /// The residual is as small as f64 allows.
    Floor(Floor),
    /// The time was up.
    TimeLimit,
    /// It would have taken longer than there was time: the seconds it was estimated at.
    TooLong { seconds: f64 },
    /// A factor would have taken more bytes than it may.
    TooLarge { bytes: usize, allowed: usize },
    /// What the method said of a matrix with constants in its kernel, and no null space was given.
    Singular(Outcome),
    /// A method for symmetric matrices was given another one.
    Unsymmetric { row: usize, column: usize, here: f64, there: f64 },
    /// A method for positive definite matrices was given one that shows that it is none; why.
    Indefinite { why: String },
    /// The preconditioner could not be built.
    Setup(SetupError),
    /// The matrix could not be factored.
    Factor(DirectError),
    /// The method and the preconditioner, or a parameter, do not go together.
    Unsuitable(coarsen::Error),
    /// A vector given as null space is not in it.
    NotNull { vector: usize, share: f64 },
    /// The vectors given as null space span none.
    Dependent(NullSpaceError),
}

impl Ending {
    pub(crate) fn converged(&self) -> bool {
        matches!(self, Self::Method(Outcome::Converged))
    }

    /// Whether a preconditioner in more digits could end otherwise.
    pub(crate) fn may_be_rounding(&self) -> bool {
        match self {
            Self::Setup(_) | Self::Unsuitable(_) | Self::Floor(_) => true,
            Self::Method(outcome) | Self::Singular(outcome) => {
                !matches!(outcome, Outcome::Converged | Outcome::IterationLimit | Outcome::Stopped)
            }
            _ => false,
        }
    }

    /// Whether it names a row or a node of the matrix that was worked on.
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

/// Cause and cure; empty when converged.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(outcome) => f.write_str(outcome.advice()),
            Self::Floor(floor) => floor.fmt(f),
            Self::TimeLimit => f.write_str("the time was up; raise --limit, or take a stronger preconditioner"),
            Self::TooLong { seconds } => write!(f, "it would take about {seconds:.0} s; raise --limit"),
            Self::TooLarge { bytes, allowed } => write!(
                f,
                "its factor would take {:.0} MiB and may take {:.0}; raise --memory",
                mib(*bytes),
                mib(*allowed)
            ),
            Self::Singular(outcome) => write!(
                f,
                "the matrix is singular: its row sums vanish, so that constants are in its kernel (the method ended: {outcome}); \
                 give --null-space constants, or fix a value"
            ),
            Self::Unsymmetric { row, column, here, there } => write!(
                f,
                "the matrix is not symmetric: row {row}, column {column} holds {here:.4e}, but row {column}, column {row} holds \
                 {there:.4e} (rows from 0); take gmres, bicgstab or direct, or treat boundary rows and columns alike"
            ),
            Self::Indefinite { why } => {
                write!(
                    f,
                    "the matrix is not positive definite: {why}; take minres, gmres or direct, or correct the assembly"
                )
            }
            Self::Setup(error) => error.fmt(f),
            Self::Factor(error) => error.fmt(f),
            Self::Unsuitable(coarsen::Error::Preconditioner { .. }) => f.write_str(
                "the preconditioner is not symmetric positive definite on this matrix, as the method needs it (a pivot or a \
                 diagonal entry is not positive); take ic0 or block-jacobi, or gmres with this one",
            ),
            Self::Unsuitable(error) => error.fmt(f),
            Self::NotNull { vector, share } => write!(
                f,
                "vector {vector} is not in the null space: |A v| is {share:.1e} of what it is without cancellation; \
                 look at the order of the unknowns, or leave out --null-space"
            ),
            Self::Dependent(error) => error.fmt(f),
        }
    }
}
