//! The report of a solve and of its attempts: what was tried, how it ended, the cause and a remedy.

use std::fmt;

use coarsen_backend::SetupError;
use coarsen_core::{Error, Outcome};
use coarsen_direct::{DirectError, FactorStats};
use coarsen_krylov::NullSpaceError;

use crate::{Levels, Method, Precond};

/// The report of a solve. As an error, it is that of a solve that ended above the tolerance.
#[derive(Clone, Default, PartialEq)]
#[must_use = "a solve can end without convergence: call .converged()?"]
pub struct Solved {
    /// How the solve ended, with the cause.
    pub ending: Ending,
    /// ‖b − A x‖ / ‖b‖ of the returned x.
    pub true_residual: f64,
    /// The requested tolerance, relative to ‖b‖ also where [`Auto::absolute`](crate::Auto::absolute) decides.
    pub tolerance: f64,
    /// The number of iterations of all methods.
    pub iterations: usize,
    /// All attempts in order; none if the guess was a solution.
    pub attempts: Vec<Attempt>,
    /// The reason why no factor was possible, so that the cost had no bound; `None` if it had one.
    pub unbounded: Option<Ending>,
    /// Whether −A x = −b was solved.
    pub negated: bool,
    /// The work of all attempts, counted in the units of [`Costs`](crate::Costs) and not measured.
    pub work: f64,
    /// The size of the factor, if the matrix was ordered for it.
    pub ordered: Option<FactorStats>,
    /// The seconds of this ordering.
    pub ordering_seconds: f64,
}

impl Solved {
    /// Returns the report itself if the tolerance was reached.
    ///
    /// # Errors
    /// The report for every other ending.
    pub fn converged(self) -> Result<Self, Box<Self>> {
        if self.ending.converged() { Ok(self) } else { Err(Box::new(self)) }
    }

    /// The method of the last attempt; `None` if the guess was a solution.
    pub fn method(&self) -> Option<Method> {
        self.attempts.last().map(|last| last.method)
    }

    /// Why the last method was taken: why another one was left, or why a factor was computed.
    pub fn reason(&self) -> Option<&str> {
        let last = self.attempts.last()?;
        let is_other = |attempt: &&Attempt| {
            (attempt.method, attempt.precond) != (last.method, last.precond) && attempt.is_left()
        };
        match last.method {
            Method::Direct => last.note.as_deref(),
            _ => self.attempts.iter().rfind(is_other)?.note.as_deref(),
        }
    }

    /// A sentence for a solve whose cost had no bound.
    pub fn no_bound(&self) -> Option<String> {
        Some(match self.unbounded.as_ref()? {
            Ending::Method(_) | Ending::Singular(_) | Ending::Factor(_) => {
                "no factor: it failed; the cost has no bound".to_owned()
            }
            why => format!("no factor: {why}; the cost has no bound"),
        })
    }

    /// A sentence for the ordering, and for each attempt that was followed by another one, with the cause if it failed.
    pub fn notes(&self) -> Vec<String> {
        let ordered = self.ordered.map(|FactorStats { nnz, bytes, .. }| {
            format!("ordered for a factor: {nnz} entries, {:.0} MiB", bytes as f64 / f64::from(1 << 20))
        });
        let last = self.attempts.len().saturating_sub(1);
        let of = |(k, attempt): (usize, &Attempt)| {
            let Attempt { method, precond, ending, note, .. } = attempt;
            let (name, is_method) = (ending.name(), *method != Method::Direct);
            let told = note.as_ref().map(|note| match is_method && !attempt.is_left() {
                true => format!("{precond} stored in f32 failed ({name}: {ending}); {note}"),
                false => note.clone(),
            });
            let failed = (k < last && !(told.is_some() && is_method) && !attempt.is_left())
                .then(|| format!("{attempt} ended without a solution ({name}): {ending}"));
            [told, failed].into_iter().flatten()
        };
        ordered.into_iter().chain(self.attempts.iter().enumerate().flat_map(of)).collect()
    }
}

impl std::error::Error for Solved {}

/// The same text as [`Display`](fmt::Display), so that an error returned from `main` prints as a sentence.
impl fmt::Debug for Solved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Solved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ending, true_residual, tolerance, iterations, .. } = self;
        match self.attempts.last() {
            Some(last) => write!(f, "{last}")?,
            None => f.write_str("the guess")?,
        }
        let name = ending.name().replace('_', " ");
        write!(
            f,
            ": {name} after {iterations} iterations, true relative residual {true_residual:.2e} (asked {tolerance:.0e})"
        )?;
        if !ending.converged() {
            write!(f, "; {ending}")?;
        }
        match self.no_bound().filter(|_| !matches!(ending, Ending::Singular(_))) {
            Some(why) => write!(f, "; {why}"),
            None => Ok(()),
        }
    }
}

/// An attempt that was made. `Display` names the method and the preconditioner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// The method.
    pub method: Method,
    /// The preconditioner.
    pub precond: Precond,
    /// Whether the preconditioner was stored in f32.
    pub single: bool,
    /// The seconds of its setup; 0 if the preconditioner was kept from an earlier attempt.
    pub setup_seconds: f64,
    /// The seconds of its iterations.
    pub solve_seconds: f64,
    /// The number of its iterations, or of refinements by a factor.
    pub iterations: usize,
    /// How it ended.
    pub ending: Ending,
    /// Why it was left or is repeated; why a factor was computed.
    pub note: Option<String>,
    /// An estimate of the condition number of M⁻¹A from below.
    pub condition: Option<f64>,
    /// The levels of the preconditioner.
    pub levels: Option<Levels>,
    /// How A was factorised, and the failure of a cheaper factorisation.
    pub factorised: Option<(coarsen_direct::Method, Option<DirectError>)>,
}

impl Attempt {
    /// Whether it was left for another method or for a factor.
    pub(crate) fn is_left(&self) -> bool {
        matches!(self.ending, Ending::Method(Outcome::Stopped))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.method {
            Method::Direct => f.write_str("a factor"),
            method => write!(f, "{method} with {}", self.precond),
        }
    }
}

/// The largest residual of a system that is not ill-conditioned.
const ORDINARY: f64 = 1e-12;

/// How an attempt, or a whole solve, ended. `Display` gives the cause and the remedy; it is empty when converged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ending {
    /// The outcome of the method, checked by the residual in f64.
    Method(Outcome),
    /// The residual is as small as f64 allows.
    RoundOff {
        /// A bound of the residual that round-off alone may cause, often far above it: [`attainable`](crate::attainable).
        bound: f64,
        /// The residual that was reached.
        reached: f64,
        /// The requested tolerance.
        tolerance: f64,
    },
    /// The observer ended the solve.
    TimeLimit,
    /// The outcome for a matrix whose kernel contains constants, if no null space is given.
    Singular(Outcome),
    /// b has a part in the given null space, so that no x solves the system. The value is ‖b − A x‖ / ‖b‖.
    NotInRange(f64),
    /// The incomplete factor is unstable: ‖A‖∞ ‖M⁻¹ 1‖∞ is the value.
    Unstable(f64),
    /// The preconditioner could not be built.
    Setup(SetupError),
    /// The matrix could not be factorised.
    Factor(DirectError),
    /// No factor was computed: an option or the system excludes it, for example a null space, a precision or a device.
    FactorExcluded,
    /// No factor was computed: it needs more memory than the limit.
    FactorTooLarge {
        /// The number of bytes of the factor.
        bytes: usize,
        /// The memory limit.
        allowed: usize,
    },
    /// The method does not accept the preconditioner or one of the parameters.
    Unsuitable(Error),
    /// A given vector is not in the null space of A, or, with a method for symmetric matrices, of Aᵀ.
    NotNull {
        /// The number of the vector.
        vector: usize,
        /// ‖A v‖ or ‖Aᵀ v‖ relative to its value without cancellation.
        share: f64,
        /// Whether only Aᵀ has another null space, since A is unsymmetric.
        of_transpose: bool,
    },
    /// The given null space vectors are linearly dependent.
    Dependent(NullSpaceError),
}

impl Default for Ending {
    /// The ending of an attempt that has not run.
    fn default() -> Self {
        Self::Method(Outcome::Stopped)
    }
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
            // pᵀA p < 0 does not depend on the preconditioner.
            Self::Method(Outcome::IndefiniteOperator) => false,
            Self::Method(outcome) => failed(*outcome),
            _ => false,
        }
    }

    /// The name in reports: snake case.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Method(outcome) => outcome.name(),
            Self::RoundOff { .. } => "not_attainable",
            Self::TimeLimit => "time_limit",
            Self::Singular(_) => "singular_matrix",
            Self::NotInRange(_) => Outcome::Inconsistent.name(),
            Self::Unstable(_) => "unstable_preconditioner",
            Self::Setup(_) => "setup_failed",
            Self::Factor(_) => "factorization_failed",
            Self::FactorExcluded | Self::FactorTooLarge { .. } => "left_out",
            Self::Unsuitable(_) => "unsuitable_preconditioner",
            Self::NotNull { .. } | Self::Dependent(_) => "wrong_null_space",
        }
    }
}

impl From<Error> for Ending {
    fn from(error: Error) -> Self {
        Self::Unsuitable(error)
    }
}

/// Whether a method failed: it can neither continue nor has it converged.
pub(crate) fn failed(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Converged | Outcome::IterationLimit | Outcome::Stopped)
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(outcome) => f.write_str(outcome.advice()),
            Self::RoundOff { reached, tolerance, .. } => {
                let looser = 2.0 * reached;
                let (ill, cure) = match *reached > ORDINARY {
                    true => (
                        "A is so ill-conditioned that x is much larger than b; ",
                        ", or scale, constrain or regularise the system",
                    ),
                    false => ("", ""),
                };
                write!(
                    f,
                    "the tolerance {tolerance:.0e} is not reached in f64: with A, x and b of this size, {reached:.1e} was reached, and \
                     rounding prevents a much smaller relative residual; {ill}loosen the tolerance to {looser:.0e}{cure}"
                )
            }
            Self::TimeLimit => f.write_str("the time limit was reached; raise it, or use a stronger preconditioner"),
            Self::Singular(_) => f.write_str(
                "the matrix is singular: its row sums are zero, so constants are in its kernel; give the null space of constants, \
                 or fix a value",
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
            Self::Setup(error) => error.fmt(f),
            Self::Factor(error) => error.fmt(f),
            Self::FactorExcluded => f.write_str("an option or the system excludes it"),
            Self::FactorTooLarge { bytes, allowed } => {
                let [bytes, allowed] = [bytes, allowed].map(|bytes| *bytes as f64 / f64::from(1 << 20));
                write!(f, "the factor needs {bytes:.0} MiB, and the limit is {allowed:.0} MiB")
            }
            Self::Unsuitable(Error::Preconditioner { .. }) => f.write_str(
                "the preconditioner is not symmetric positive definite for this matrix, as the method requires (a pivot or a \
                 diagonal entry is not positive); use ic0 or block-jacobi, or gmres with this one",
            ),
            Self::Unsuitable(error) => error.fmt(f),
            Self::NotNull { vector, share, of_transpose: false } => write!(
                f,
                "vector {vector} is not in the null space: |A v| is {share:.1e} of its value without cancellation; \
                 check the order of the unknowns, or leave out the null space"
            ),
            Self::NotNull { vector, share, of_transpose: true } => write!(
                f,
                "the matrix is unsymmetric and its transpose has another null space: |A^T v| of vector {vector} is {share:.1e} of its \
                 value without cancellation, so cg and minres cannot be used; use gmres with this null space"
            ),
            Self::Dependent(error) => error.fmt(f),
        }
    }
}
