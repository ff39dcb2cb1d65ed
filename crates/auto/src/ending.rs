//! How an attempt ended, the cause and a remedy.

use std::fmt;

use coarsen_backend::SetupError;
use coarsen_core::Outcome;
use coarsen_direct::DirectError;
use coarsen_krylov::NullSpaceError;

use crate::RoundOff;

/// How an attempt, or a whole solve, ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ending {
    /// The outcome of the method, checked by the residual in f64.
    Method(Outcome),
    /// The residual is as small as f64 allows.
    RoundOff(RoundOff),
    /// The observer ended the solve.
    TimeLimit,
    /// Not started, because the estimated seconds exceed the time limit.
    TooLong {
        /// The estimated seconds.
        seconds: f64,
    },
    /// Not started, because the factor exceeds its memory limit.
    TooLarge {
        /// The bytes of the factor.
        bytes: usize,
        /// The limit.
        allowed: usize,
    },
    /// The outcome for a matrix whose kernel contains constants, if no null space is given.
    Singular(Outcome),
    /// b has a part in the given null space, so that no x solves the system. The value is ‖b − A x‖ / ‖b‖.
    NotInRange(f64),
    /// The incomplete factor is unstable: ‖A‖∞ ‖M⁻¹ 1‖∞ is the value.
    Unstable(f64),
    /// The method requires a symmetric matrix.
    Unsymmetric {
        /// The row of the largest difference.
        row: usize,
        /// Its column.
        column: usize,
        /// The entry (row, column).
        here: f64,
        /// The entry (column, row).
        there: f64,
    },
    /// The method requires a positive definite matrix.
    Indefinite {
        /// What shows that the matrix is not positive definite.
        why: String,
    },
    /// The preconditioner could not be built.
    Setup(SetupError),
    /// The matrix could not be factorised.
    Factor(DirectError),
    /// The method does not accept the preconditioner or one of the parameters.
    Unsuitable(coarsen_core::Error),
    /// A given vector is not in the null space.
    NotNull {
        /// The number of the vector.
        vector: usize,
        /// ‖A v‖ relative to its value without cancellation.
        share: f64,
    },
    /// A method for symmetric matrices, with an unsymmetric matrix whose transpose has another null space.
    NotNullOfTranspose {
        /// The number of the vector.
        vector: usize,
        /// ‖Aᵀ v‖ relative to its value without cancellation.
        share: f64,
    },
    /// The given null space vectors are linearly dependent.
    Dependent(NullSpaceError),
}

impl Ending {
    /// Whether the true residual is within the tolerance.
    pub fn converged(&self) -> bool {
        matches!(self, Self::Method(Outcome::Converged))
    }

    /// Whether a preconditioner in f64 could end differently.
    pub(crate) fn may_be_rounding(&self) -> bool {
        match self {
            Self::Setup(SetupError::Cancelled) => false,
            Self::Setup(_) | Self::Unsuitable(_) | Self::Singular(_) | Self::Unstable(_) => true,
            Self::Method(outcome) => {
                !matches!(outcome, Outcome::Converged | Outcome::IterationLimit | Outcome::Stopped)
            }
            _ => false,
        }
    }

    /// The name in reports: snake case.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Method(outcome) => outcome.name(),
            Self::RoundOff(_) => "not_attainable",
            Self::TimeLimit => "time_limit",
            Self::TooLong { .. } | Self::TooLarge { .. } => "left_out",
            Self::Singular(_) => "singular_matrix",
            Self::NotInRange(_) => Outcome::Inconsistent.name(),
            Self::Unstable(_) => "unstable_preconditioner",
            Self::Unsymmetric { .. } => "unsymmetric_matrix",
            Self::Indefinite { .. } => Outcome::IndefiniteOperator.name(),
            Self::Setup(_) => "setup_failed",
            Self::Factor(_) => "factorization_failed",
            Self::Unsuitable(_) => "unsuitable_preconditioner",
            Self::NotNull { .. } | Self::NotNullOfTranspose { .. } | Self::Dependent(_) => "wrong_null_space",
        }
    }
}

/// The cause and the remedy; empty when converged.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        match self {
            Self::Method(outcome) => f.write_str(outcome.advice()),
            Self::RoundOff(round_off) => round_off.fmt(f),
            Self::TimeLimit => f.write_str("the time limit was reached; raise it, or use a stronger preconditioner"),
            Self::TooLong { seconds } => {
                write!(f, "not started: it would take about {seconds:.0} s; raise the time limit")
            }
            Self::TooLarge { bytes, allowed } => write!(
                f,
                "not started: its factor would take {:.0} MiB and the limit is {:.0}; raise the memory limit",
                mib(*bytes),
                mib(*allowed)
            ),
            Self::Singular(outcome) => write!(
                f,
                "the matrix is singular: its row sums are zero, so constants are in its kernel (outcome of the method: {outcome}); \
                 give the null space of constants, or fix a value"
            ),
            Self::NotInRange(residual) => write!(
                f,
                "b is not in the range of A: its part in the given null space leaves a residual of {residual:.1e}; x solves the \
                 least-squares problem; remove this part of b, or loosen the tolerance"
            ),
            Self::Unstable(condition) => write!(
                f,
                "the incomplete factor is unstable: solving with it enlarges a vector {condition:.0e} times, as in convection \
                 without enough diffusion; use another preconditioner (sa, ras)"
            ),
            Self::Unsymmetric { row, column, here, there } => write!(
                f,
                "the matrix is not symmetric: row {row}, column {column} holds {here:.17e}, but row {column}, column {row} holds \
                 {there:.17e}, a difference of {:.1e}; use gmres, bicgstab or direct; if constraints replaced rows only, eliminate \
                 their columns too",
                here - there
            ),
            Self::Indefinite { why } => {
                write!(
                    f,
                    "the matrix is not positive definite: {why}; use minres, gmres or direct, or correct the assembly"
                )
            }
            Self::Setup(error) => error.fmt(f),
            Self::Factor(error) => error.fmt(f),
            Self::Unsuitable(coarsen_core::Error::Preconditioner { .. }) => f.write_str(
                "the preconditioner is not symmetric positive definite for this matrix, as the method requires (a pivot or a \
                 diagonal entry is not positive); use ic0 or block-jacobi, or gmres with this one",
            ),
            Self::Unsuitable(error) => error.fmt(f),
            Self::NotNull { vector, share } => write!(
                f,
                "vector {vector} is not in the null space: |A v| is {share:.1e} of its value without cancellation; \
                 check the order of the unknowns, or leave out the null space"
            ),
            Self::NotNullOfTranspose { vector, share } => write!(
                f,
                "the matrix is unsymmetric and its transpose has another null space: |A^T v| of vector {vector} is {share:.1e} of its \
                 value without cancellation, so cg and minres cannot be used; use gmres with this null space"
            ),
            Self::Dependent(error) => error.fmt(f),
        }
    }
}
