//! How far along a direction.

use coarsen_core::{Error, Real};

/// Multiples of [`Objective::round_off`](coarsen_core::Objective::round_off) by which energies may differ for no reason. Hager
/// & Zhang 2005 allow 10⁻⁶ |f|, which would let energies rise visibly.
pub(crate) const NOISE: f64 = 256.0;

/// φ(α) = f(x + α d) and its slope φ′(α) = ∇f(x + α d)·d.
///
/// Asking again for the α asked for last costs nothing.
pub trait Ray<T> {
    /// φ(α).
    fn value(&mut self, alpha: T) -> T;
    /// φ′(α).
    fn slope(&mut self, alpha: T) -> T;
}

/// Where a line search begins, and between what it may step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start<T> {
    /// φ(0), finite.
    pub value: T,
    /// The round-off of φ(0), as the objective tells it.
    pub round_off: T,
    /// φ′(0) < 0.
    pub slope: T,
    /// The step to try first, above 0; `most` where it is larger than that.
    pub first: T,
    /// Steps below this one do not change x in floating point; 0 where unknown.
    pub least: T,
    /// The largest step allowed, by the objective.
    pub most: T,
}

/// An accepted step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<T> {
    /// α.
    pub alpha: T,
    /// φ(α).
    pub value: T,
}

/// Why no step was found.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LineSearchFailure {
    /// φ′(0) ≥ 0.
    #[error("the slope {slope:.3e} is not negative")]
    Ascent {
        /// φ′(0).
        slope: f64,
    },
    /// No step may be taken at all.
    #[error("the longest step to be tried, {most:.3e}, is not above zero")]
    Blocked {
        /// The bound of the objective, or the step to try first.
        most: f64,
    },
    /// φ is NaN or infinite however short the step.
    #[error("the energy is not finite even at step {alpha:.3e}")]
    NotFinite {
        /// The shortest step tried.
        alpha: f64,
    },
    /// The steps left to try are so short, or so close to each other, that x does not change, and the energy does not fall.
    #[error("the energy does not fall; at step {alpha:.3e} the trials no longer change x")]
    RoundOff {
        /// The last step tried.
        alpha: f64,
    },
    /// The budget of evaluations is spent.
    #[error("{evaluations} evaluations found no step; the last was {alpha:.3e}")]
    Exhausted {
        /// Points tried.
        evaluations: usize,
        /// The last of them.
        alpha: f64,
    },
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for LineSearchFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl LineSearchFailure {
    /// The likely cause and the cure, one sentence each.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Ascent { .. } => {
                "the direction points uphill: an indefinite Hessian or preconditioner; project it, or chain a safer direction with OrElse"
            }
            Self::Blocked { .. } => {
                "Objective::max_step or Start::first is zero, negative or NaN: bodies touch at the start, or its bound is wrong"
            }
            Self::NotFinite { .. } => {
                "the start lies at the edge of where the energy exists, or value and gradient disagree; run check_gradient"
            }
            Self::RoundOff { .. } => {
                "the tolerance is below what the round-off of the energy allows (loosen it), the gradient is not that of the energy (run check_gradient), or the energy is rounder than Objective::round_off says"
            }
            Self::Exhausted { .. } => {
                "the energy is rough or not differentiable along this direction, or the budget too small"
            }
        }
    }
}

/// A rule that picks α so that the energy falls enough.
///
/// ```
/// use coarsen_optimize::{Backtracking, LineSearch, Ray, Start};
/// struct Parabola; // (α − 1)²
/// impl Ray<f64> for Parabola {
///     fn value(&mut self, a: f64) -> f64 {
///         (a - 1.0) * (a - 1.0)
///     }
///     fn slope(&mut self, a: f64) -> f64 {
///         2.0 * (a - 1.0)
///     }
/// }
/// let start = Start { value: 1.0, round_off: f64::EPSILON, slope: -2.0, first: 4.0, least: 0.0, most: f64::INFINITY };
/// let step = Backtracking::default().search(&mut Parabola, &start)?;
/// assert_eq!(step.alpha, 1.0); // the parabola through what is known
/// # Ok::<(), coarsen_optimize::LineSearchFailure>(())
/// ```
pub trait LineSearch<T> {
    /// A step along φ from `start`.
    ///
    /// # Errors
    /// [`LineSearchFailure`] says what φ did instead of falling.
    fn search(&mut self, phi: &mut dyn Ray<T>, start: &Start<T>) -> Result<Step<T>, LineSearchFailure>;

    /// Whether the parameters lie in their ranges; a descent asks before it begins.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the one that does not.
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The smaller one of the step to try first and the largest allowed. `Float::min` would drop a NaN.
pub(crate) fn first_trial<T: Real>(first: T, most: T) -> Result<T, LineSearchFailure> {
    let longest = if first >= most || most.is_nan() { most } else { first };
    if longest > T::zero() { Ok(longest) } else { Err(LineSearchFailure::Blocked { most: longest.wide() }) }
}

/// An error unless a parameter is `good`.
pub(crate) fn within<T: Real>(
    name: &'static str,
    value: T,
    good: bool,
    range: &'static str,
) -> Result<(), Error> {
    if good { Ok(()) } else { Err(Error::Parameter { name, value: value.wide(), range }) }
}

impl<T, L: LineSearch<T> + ?Sized> LineSearch<T> for Box<L> {
    fn search(&mut self, phi: &mut dyn Ray<T>, start: &Start<T>) -> Result<Step<T>, LineSearchFailure> {
        (**self).search(phi, start)
    }
    fn validate(&self) -> Result<(), Error> {
        (**self).validate()
    }
}
