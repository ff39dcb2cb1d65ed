//! How a descent ended.

use std::fmt;

use coarsen_core::{Accepted, Outcome, Real};

use crate::LineSearchFailure;

/// The criterion by which a descent converged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Criterion {
    /// ‖∇f‖ is within the tolerance, in the norm of the descent.
    Gradient,
    /// The criterion of the monitor is met.
    Monitor,
    /// The last step lowered f by at most [`Descent::decrease`](crate::Descent) |f|.
    Decrease,
    /// The last step moved x by at most [`Descent::step`](crate::Descent).
    Step,
}

/// The reason why a direction could not be used.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// ∇f·d is positive by more than round-off. [`OrElse`](crate::OrElse) takes another direction then.
    Ascent {
        /// ∇f·d.
        slope: f64,
    },
    /// ∇f·d, positive or negative, is within its round-off.
    RoundOff {
        /// ∇f·d.
        slope: f64,
    },
    /// The linear solve inside a Newton step failed.
    Inner(Outcome),
    /// The direction contains NaN or infinity.
    NotFinite,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascent { slope } => write!(f, "the direction does not descend (slope {slope:.3e})"),
            Self::RoundOff { slope } => {
                write!(f, "the slope along the direction ({slope:.3e}) is within its round-off")
            }
            Self::Inner(outcome) => write!(f, "the inner solve ended as {outcome}"),
            Self::NotFinite => f.write_str("the direction is not finite"),
        }
    }
}

/// How a descent ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DescentOutcome {
    /// A criterion is met.
    Converged(Criterion),
    /// The limit on iterations is reached.
    IterationLimit,
    /// A monitor ended the descent.
    Stopped,
    /// Neither f nor ‖∇f‖ decreases any more: the tolerance is below the round-off of both.
    Stagnated,
    /// f or its gradient is not finite at the start, or the gradient is not finite at an accepted point.
    NotFinite,
    /// No direction could be used.
    NoDirection(Refusal),
    /// No step along the direction lowers f.
    LineSearchFailed(LineSearchFailure),
}

impl DescentOutcome {
    /// The name in machine-readable reports, in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged(_) => "converged",
            Self::IterationLimit => "iteration_limit",
            Self::Stopped => "stopped",
            Self::Stagnated => "stagnated",
            Self::NotFinite => "not_finite",
            Self::NoDirection(_) => "no_direction",
            Self::LineSearchFailed(_) => "line_search_failed",
        }
    }

    /// Returns the likely cause and the cure, one sentence each; empty if converged.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Converged(_) => "",
            Self::IterationLimit => {
                "the method is too weak for this energy or max_iterations is too small; use a stronger preconditioner or Newton's method, or raise max_iterations"
            }
            Self::Stopped => "a monitor ended the descent; x so far is kept",
            Self::Stagnated => {
                "the tolerance is below what the round-off of f and its gradient allows; loosen it, or scale the problem"
            }
            Self::NotFinite => {
                "the start lies outside the domain of the energy (an inverted element, an overlap), or the gradient divides by zero; check it by finite differences"
            }
            Self::NoDirection(Refusal::Ascent { .. }) => {
                "an indefinite Hessian or preconditioner; project it onto positive definite matrices, or use a safer direction"
            }
            Self::NoDirection(Refusal::RoundOff { .. }) => {
                "the tolerance is below what the round-off of the gradient allows, so loosen it; far from a minimiser, the direction is orthogonal to the gradient, so the preconditioner is indefinite or nearly singular"
            }
            Self::NoDirection(Refusal::Inner(outcome)) => outcome.advice(),
            Self::NoDirection(Refusal::NotFinite) => {
                "the preconditioner or the Hessian holds NaN or infinity; check the code that computed it"
            }
            Self::LineSearchFailed(failure) => failure.advice(),
        }
    }
}

impl fmt::Display for DescentOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDirection(why) => why.fmt(f),
            Self::LineSearchFailed(why) => write!(f, "line search failed: {why}"),
            Self::Converged(Criterion::Monitor) => f.write_str("converged (the monitor's norm)"),
            Self::Converged(Criterion::Decrease) => f.write_str("converged (decrease of the energy)"),
            Self::Converged(Criterion::Step) => f.write_str("converged (length of the step)"),
            other => f.write_str(&other.name().replace('_', " ")),
        }
    }
}

/// The result of a descent.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a descent can end without convergence: call .converged()? or .usable()?"]
pub struct DescentReport<T> {
    /// How the descent ended.
    pub outcome: DescentOutcome,
    /// The number of steps taken.
    pub iterations: usize,
    /// The number of iterations of linear solves, including those of refused proposals
    /// ([`Direction::inner_iterations`](crate::Direction::inner_iterations)).
    pub inner: usize,
    /// The number of evaluations of f.
    pub values: usize,
    /// The number of evaluations of ∇f.
    pub gradients: usize,
    /// The number of changes to a safer direction: pairs dropped, momentum stopped, or fallback used.
    pub fallbacks: usize,
    /// The number of rebuilds of the preconditioner.
    pub refreshes: usize,
    /// f at the start.
    pub initial_value: T,
    /// f(x) of the returned x.
    pub value: T,
    /// ‖∇f‖ at the start, in the norm of the descent.
    pub initial_gradient: T,
    /// ‖∇f(x)‖ of the returned x.
    pub gradient: T,
    /// The tolerance for ‖∇f‖.
    pub tolerance: T,
}

impl<T: Real> DescentReport<T> {
    /// Returns the report itself if a criterion was met.
    ///
    /// # Errors
    /// [`NotMinimized`] for every other outcome.
    pub fn converged(self) -> Result<Accepted<Self>, NotMinimized> {
        if matches!(self.outcome, DescentOutcome::Converged(_)) {
            Ok(Accepted::new(self))
        } else {
            Err(self.into())
        }
    }

    /// Returns the report itself if x is usable: converged, at the iteration limit, stopped, stagnated, or
    /// with a slope within round-off.
    ///
    /// # Errors
    /// [`NotMinimized`] for all other outcomes; x is then the last accepted point.
    pub fn usable(self) -> Result<Accepted<Self>, NotMinimized> {
        match self.outcome {
            DescentOutcome::Converged(_)
            | DescentOutcome::IterationLimit
            | DescentOutcome::Stopped
            | DescentOutcome::Stagnated
            | DescentOutcome::NoDirection(Refusal::RoundOff { .. }) => Ok(Accepted::new(self)),
            _ => Err(self.into()),
        }
    }
}

impl<T: Real> fmt::Display for DescentReport<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {} iterations (", self.outcome, self.iterations)?;
        if self.inner > 0 {
            write!(f, "{} inner, ", self.inner)?;
        }
        write!(
            f,
            "{} values, {} gradients), gradient {:.2e} (asked {:.1e}), value {:.6e}",
            self.values, self.gradients, self.gradient, self.tolerance, self.value
        )
    }
}

/// The error for a descent that met no criterion.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
#[error("{outcome} after {iterations} iterations at gradient {gradient:.2e} (asked {tolerance:.1e}): {}", .outcome.advice())]
pub struct NotMinimized {
    /// How the descent ended.
    pub outcome: DescentOutcome,
    /// The number of steps taken.
    pub iterations: usize,
    /// ‖∇f(x)‖ of the returned x.
    pub gradient: f64,
    /// The tolerance requested.
    pub tolerance: f64,
}

coarsen_core::debug_as_display!(NotMinimized);

impl<T: Real> From<DescentReport<T>> for NotMinimized {
    fn from(r: DescentReport<T>) -> Self {
        Self {
            outcome: r.outcome,
            iterations: r.iterations,
            gradient: r.gradient.as_f64(),
            tolerance: r.tolerance.as_f64(),
        }
    }
}
