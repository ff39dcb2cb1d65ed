//! The trait of line searches.

use coarsen_core::{Error, Real};

/// Differences of energies up to this multiple of their round-off are attributed to it. Hager & Zhang 2005 use
/// 10⁻⁶ |f|, with which energies would rise visibly.
pub(crate) const NOISE: f64 = 256.0;

/// The start of a line search, and the bounds of its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start<T> {
    /// φ(0), finite.
    pub value: T,
    /// The round-off of φ(0): ε times its magnitude.
    pub round_off: T,
    /// φ′(0) < 0.
    pub slope: T,
    /// The first trial step, above 0; the search limits it to `most`.
    pub first: T,
    /// The step below which x does not change in floating point; 0 if unknown.
    pub least: T,
    /// The largest step that the objective allows.
    pub most: T,
}

/// An accepted step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<T> {
    /// The step length α.
    pub alpha: T,
    /// The value φ(α).
    pub value: T,
}

/// The reason why no step was found.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LineSearchFailure {
    /// φ′(0) ≥ 0. [`OrElse`](crate::OrElse) takes another direction then.
    #[error("the slope {slope:.3e} is not negative")]
    Ascent {
        /// φ′(0).
        slope: f64,
    },
    /// [`Objective::max_step`](crate::Objective::max_step) or [`Start::first`] is not positive.
    #[error("the longest step to be tried, {most:.3e}, is not above zero")]
    Blocked {
        /// The bound of the objective, or the first trial step.
        most: f64,
    },
    /// φ is NaN or infinite at every step tried.
    #[error("the energy is not finite even at step {alpha:.3e}")]
    NotFinite {
        /// The shortest step tried.
        alpha: f64,
    },
    /// The energy does not fall, and the remaining trial steps are too short or too close to each other to
    /// change x.
    #[error("the energy does not fall; at step {alpha:.3e} the trials no longer change x")]
    RoundOff {
        /// The last step tried.
        alpha: f64,
    },
    /// The limit on evaluations is reached.
    #[error("{evaluations} evaluations found no step; the last was {alpha:.3e}")]
    Exhausted {
        /// The number of steps tried.
        evaluations: usize,
        /// The last step tried.
        alpha: f64,
    },
}

coarsen_core::debug_as_display!(LineSearchFailure);

impl LineSearchFailure {
    /// Returns the likely cause and the cure, one sentence each.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Ascent { .. } => {
                "the direction points uphill: an indefinite Hessian or preconditioner; project it, or use a safer direction"
            }
            Self::Blocked { .. } => {
                "the longest step that the energy allows, or the first step to be tried, is zero, negative or NaN: bodies touch at the start, or one of the two is computed wrongly"
            }
            Self::NotFinite { .. } => {
                "the start lies on the boundary of the domain of the energy, or value and gradient disagree; check the gradient by finite differences"
            }
            Self::RoundOff { .. } => {
                "the tolerance is below what the round-off of the energy allows (loosen it), the gradient is not that of the energy (check it by finite differences), or the energy states too small a magnitude of its terms"
            }
            Self::Exhausted { .. } => {
                "the energy is rough or not differentiable along this direction, or the limit on trials is too small"
            }
        }
    }
}

/// A rule that finds an α at which the energy falls enough.
///
/// ```
/// use coarsen_optimize::{Backtracking, LineSearch, Start};
/// let start = Start { value: 1.0, round_off: f64::EPSILON, slope: -2.0, first: 4.0, least: 0.0, most: f64::INFINITY };
/// let (mut phi, mut dphi) = (|a: f64| (a - 1.0) * (a - 1.0), |a: f64| 2.0 * (a - 1.0)); // (α − 1)²
/// let step = Backtracking::default().search(&mut phi, &mut dphi, &start)?;
/// assert_eq!(step.alpha, 1.0); // the parabola through what is known
/// # Ok::<(), coarsen_optimize::LineSearchFailure>(())
/// ```
pub trait LineSearch<T> {
    /// Finds a step from `start` along φ(α) = f(x + α d), with φ′(α) = ∇f(x + α d)·d. In a descent, a second call
    /// of the same function at the last α costs nothing.
    ///
    /// # Errors
    /// [`LineSearchFailure`] if no step was found.
    fn search(
        &mut self,
        phi: &mut dyn FnMut(T) -> T,
        dphi: &mut dyn FnMut(T) -> T,
        start: &Start<T>,
    ) -> Result<Step<T>, LineSearchFailure>;

    /// Checks that the parameters are in their ranges. Every descent calls this function first.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter outside its range.
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Returns the smaller of the first trial step and the largest allowed step. `Float::min` would ignore a NaN.
pub(crate) fn first_trial<T: Real>(first: T, most: T) -> Result<T, LineSearchFailure> {
    let longest = if first >= most || most.is_nan() { most } else { first };
    if longest > T::zero() { Ok(longest) } else { Err(LineSearchFailure::Blocked { most: longest.as_f64() }) }
}

/// Returns an error for a parameter unless it is `good`.
pub(crate) fn within<T: Real>(
    name: &'static str,
    value: T,
    good: bool,
    range: &'static str,
) -> Result<(), Error> {
    if good { Ok(()) } else { Err(Error::Parameter { name, value: value.as_f64(), range }) }
}

impl<T, L: LineSearch<T> + ?Sized> LineSearch<T> for Box<L> {
    fn search(
        &mut self,
        phi: &mut dyn FnMut(T) -> T,
        dphi: &mut dyn FnMut(T) -> T,
        start: &Start<T>,
    ) -> Result<Step<T>, LineSearchFailure> {
        (**self).search(phi, dphi, start)
    }
    fn validate(&self) -> Result<(), Error> {
        (**self).validate()
    }
}
