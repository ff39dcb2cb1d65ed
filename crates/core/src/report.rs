//! How a solve ended.

use std::fmt;
use std::ops::Deref;

use crate::Real;

/// How a solve ended. Failures of the machine or of the input are an [`Error`](crate::Error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The residual, recomputed from x at the end, is within the tolerance.
    Converged,
    /// The limit on iterations is reached.
    IterationLimit,
    /// The residual no longer decreases. The tolerance is below the attainable accuracy for this matrix in
    /// this precision.
    Stagnated,
    /// A monitor ended the solve.
    Stopped,
    /// A direction p has pᵀAp < 0 beyond round-off: A is not positive definite.
    IndefiniteOperator,
    /// A residual r has rᵀM⁻¹r < 0 beyond round-off: the preconditioner is not positive definite.
    IndefinitePreconditioner,
    /// A recurrence would divide by zero (a singular matrix, or a breakdown of the Lanczos process).
    Breakdown,
    /// NaN or infinity appeared during the solve. If it is in b or x and its index is known, the solve
    /// returns [`Error::NotFinite`](crate::Error::NotFinite) instead.
    NotFinite,
    /// The right-hand side is not in the range of a singular A; x solves the least-squares problem.
    Inconsistent,
    /// The residual grew far above its initial value; x is the best iterate found.
    Diverged,
}

impl Outcome {
    /// The name in machine-readable reports: snake case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::IterationLimit => "iteration_limit",
            Self::Stagnated => "stagnated",
            Self::Stopped => "stopped",
            Self::IndefiniteOperator => "indefinite_operator",
            Self::IndefinitePreconditioner => "indefinite_preconditioner",
            Self::Breakdown => "breakdown",
            Self::NotFinite => "not_finite",
            Self::Inconsistent => "inconsistent",
            Self::Diverged => "diverged",
        }
    }

    /// The likely cause and the remedy, one sentence each; empty if converged.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Converged => "",
            Self::IterationLimit => {
                "the preconditioner is too weak for this system or max_iterations is too small; use a stronger preconditioner, or raise max_iterations"
            }
            Self::Stagnated => {
                "the residual no longer decreases: it is down to the round-off of b - A x, or the preconditioner does not suit A (an incomplete factor can be unstable), or A is singular; loosen the tolerance, work in f64, use another preconditioner, or scale the system; a singular A needs its whole null space or a fixed unknown"
            }
            Self::Stopped => "a monitor ended the solve; the solution so far is kept",
            Self::IndefiniteOperator => {
                "A has a negative eigenvalue (a missing sign, an unprojected Hessian, an unsymmetric matrix), or is singular; use MINRES or GMRES, or make A positive definite; a singular A needs its whole null space or a fixed unknown"
            }
            Self::IndefinitePreconditioner => {
                "the preconditioner is not positive definite (built from an indefinite or unsymmetric matrix, or over-relaxed); damp it, or use another one"
            }
            Self::Breakdown => {
                "a recurrence would divide by zero, usually because A is singular (if its row sums are zero, constants are in its kernel), which needs its whole null space or a fixed unknown; or use GMRES"
            }
            Self::NotFinite => {
                "the matrix or the preconditioner holds NaN or infinity, or values overflowed (b and x were finite, unless they are on a device that cannot check); diagnose the system"
            }
            Self::Inconsistent => {
                "A is singular and b is not in its range, so x solves the least-squares problem; give the null space (constants if row sums are zero), remove the net load, or fix an unknown"
            }
            Self::Diverged => {
                "the residual grew far above that of the starting guess, and x is the best iterate found; the method does not suit A (CG or MINRES with an unsymmetric A), or A is singular, or the damping is too weak; use GMRES, or damp more; a singular A needs its whole null space or a fixed unknown"
            }
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().replace('_', " "))
    }
}

/// The result of a solve: small, `Copy` and `must_use`.
///
/// [`converged`](Self::converged) turns every other outcome into an error. [`usable`](Self::usable) also
/// accepts a solve that reached its iteration limit, stagnated, or was stopped by a monitor; this suits time
/// stepping.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a solve can end without convergence: call .converged()? or .usable()?"]
pub struct Report<T> {
    /// How the solve ended.
    pub outcome: Outcome,
    /// The number of iterations done.
    pub iterations: usize,
    /// ‖b − A x₀‖₂ / ‖b‖₂ for the starting guess x₀ (divided by 1 if b = 0).
    pub initial_residual: T,
    /// ‖b − A x‖₂ / ‖b‖₂ (divided by 1 if b = 0), recomputed from the returned x.
    pub true_residual: T,
    /// The requested tolerance for `true_residual`.
    pub tolerance: T,
    /// An estimate of the condition number of M⁻¹A from below, if the method computes it.
    pub condition: Option<T>,
}

impl<T: Real> Report<T> {
    /// Returns the report if the tolerance was reached.
    ///
    /// # Errors
    /// [`NotConverged`] for every other outcome.
    pub fn converged(self) -> Result<Accepted<Self>, NotConverged> {
        if self.outcome == Outcome::Converged { Ok(Accepted(self)) } else { Err(self.into()) }
    }

    /// Returns the report if x is finite and the solve converged, reached its iteration limit, stagnated or
    /// was stopped.
    ///
    /// # Errors
    /// [`NotConverged`] for breakdowns, divergence and systems without a solution.
    pub fn usable(self) -> Result<Accepted<Self>, NotConverged> {
        match self.outcome {
            Outcome::Converged | Outcome::IterationLimit | Outcome::Stopped | Outcome::Stagnated => {
                Ok(Accepted(self))
            }
            _ => Err(self.into()),
        }
    }
}

impl<T: Real> fmt::Display for Report<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} after {} iterations, true relative residual {:.2e} (asked {:.1e})",
            self.outcome, self.iterations, self.true_residual, self.tolerance
        )?;
        match self.condition {
            Some(c) => write!(f, ", condition about {c:.1e}"),
            None => Ok(()),
        }
    }
}

/// A report that was checked, such as by [`Report::converged`] or [`Report::usable`]; it may be dropped without a
/// warning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accepted<R>(R);

impl<R> Accepted<R> {
    #[doc(hidden)] // for other reports, which check themselves
    pub fn new(report: R) -> Self {
        Self(report)
    }
}

impl<R> Deref for Accepted<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.0
    }
}

impl<R: fmt::Display> fmt::Display for Accepted<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A solve that did not reach its tolerance, as an error.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
#[error("{outcome} after {iterations} iterations at relative residual {true_residual:.2e} (asked {tolerance:.1e}): {}", .outcome.advice())]
pub struct NotConverged {
    /// How the solve ended.
    pub outcome: Outcome,
    /// The number of iterations done.
    pub iterations: usize,
    /// ‖b − A x‖₂ / ‖b‖₂ for the returned x.
    pub true_residual: f64,
    /// The tolerance requested.
    pub tolerance: f64,
}

debug_as_display!(NotConverged);

impl<T: Real> From<Report<T>> for NotConverged {
    fn from(r: Report<T>) -> Self {
        Self {
            outcome: r.outcome,
            iterations: r.iterations,
            true_residual: r.true_residual.as_f64(),
            tolerance: r.tolerance.as_f64(),
        }
    }
}
