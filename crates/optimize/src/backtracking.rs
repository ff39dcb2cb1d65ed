//! Backtracking to sufficient decrease.
//!
//! | symbol | here | |
//! |---|---|---|
//! | φ(α), φ′(α) | `phi`, `dphi` | the energy along the direction; its slope |
//! | c₁ | `armijo` | the fraction of the first-order decrease that is required |
//! | ε | `noise` times `start.round_off` | differences of energies up to ε are attributed to round-off |

use coarsen_core::{Error, Real};

use crate::line_search::{NOISE, first_trial, within};
use crate::{LineSearch, LineSearchFailure, Start, Step};

/// σ of Hager & Zhang: after a shortened step, φ′(α) must be at least this multiple of φ′(0).
const FLATTER: f64 = 0.9;

/// Backtracking: shortens the first trial until φ(α) ≤ φ(0) + c₁ α φ′(0).
///
/// The next trial minimises the parabola through φ(0), φ′(0) and φ(α), but is limited to between a tenth and
/// half of α. A value that is not finite counts as too high. If the decrease predicted by the slope is below
/// the round-off of the energy, values cannot be compared. A step must then satisfy the approximate Wolfe
/// conditions φ(α) ≤ φ(0) + ε and (2 c₁ − 1) φ′(0) ≥ φ′(α) ≥ 0.9 φ′(0), where the last bound does not apply
/// to the first trial. The parabola is then fitted to both slopes. *Use* with directions whose natural step
/// is 1 (Newton, L-BFGS with a preconditioner), and with energies that bound steps. For nonlinear conjugate
/// gradients use [`MoreThuente`](crate::MoreThuente), which also lengthens steps. *Cost*: one value per
/// trial, and one gradient if the decrease is below round-off. *Reference* Nocedal & Wright 2006, §3.5 and
/// Algorithm 3.1; Hager & Zhang 2005, "A new conjugate gradient method with guaranteed descent and an
/// efficient line search", (4.1) and (4.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backtracking<T> {
    /// c₁, in (0, 1/2).
    pub armijo: T,
    /// The lower and the upper bound of the factor from one trial to the next, in (0, 1).
    pub shrink: [T; 2],
    /// ε in units of [`Start::round_off`], 1 or more.
    pub noise: T,
    /// The maximal number of trials.
    pub trials: usize,
}

impl<T: Real> Default for Backtracking<T> {
    fn default() -> Self {
        Self {
            armijo: T::from_f64(1e-4),
            shrink: [T::from_f64(0.1), T::from_f64(0.5)],
            noise: T::from_f64(NOISE),
            trials: 60,
        }
    }
}

impl<T: Real> LineSearch<T> for Backtracking<T> {
    fn search(
        &mut self,
        phi: &mut dyn FnMut(T) -> T,
        dphi: &mut dyn FnMut(T) -> T,
        start: &Start<T>,
    ) -> Result<Step<T>, LineSearchFailure> {
        let &Start { value: at0, round_off, slope, first, least, most } = start;
        if slope.is_nan() || slope >= T::zero() {
            return Err(LineSearchFailure::Ascent { slope: slope.as_f64() });
        }
        let whole = first_trial(first, most)?;
        let mut alpha = whole;
        let noise = self.noise * round_off;
        let (mut finite, mut spent) = (false, true);
        for _ in 0..self.trials {
            let value = phi(alpha);
            let known = value.is_finite();
            let blurred = known && -alpha * slope <= T::from_f64(4.0) * noise && value <= at0 + noise;
            let (accepted, share) = if blurred {
                let here = dphi(alpha);
                (self.flattens(here, slope, alpha == whole), slope / (slope - here))
            } else {
                let (rise, fall) = (value - at0, alpha * slope);
                let enough = known && value < at0 && value <= at0 + self.armijo * fall;
                (enough, -fall / (T::from_f64(2.0) * (rise - fall))) // Nocedal & Wright (3.58)
            };
            if accepted {
                return Ok(Step { alpha, value });
            }
            finite |= known;
            let shorter = alpha * self.keep(share);
            if shorter < least || shorter == T::zero() {
                spent = false;
                break;
            }
            alpha = shorter;
        }
        let alpha = alpha.as_f64();
        Err(match (finite, spent) {
            (false, _) => LineSearchFailure::NotFinite { alpha },
            (true, false) => LineSearchFailure::RoundOff { alpha },
            (true, true) => LineSearchFailure::Exhausted { evaluations: self.trials, alpha },
        })
    }

    fn validate(&self) -> Result<(), Error> {
        let half = T::from_f64(0.5);
        let [low, high] = self.shrink;
        within(
            "Backtracking::armijo",
            self.armijo,
            self.armijo > T::zero() && self.armijo < half,
            "in (0, 1/2)",
        )?;
        within(
            "Backtracking::shrink[0]",
            low,
            low > T::zero() && low <= high,
            "above 0, and at most shrink[1]",
        )?;
        within("Backtracking::shrink[1]", high, high < T::one(), "below 1")?;
        within(
            "Backtracking::noise",
            self.noise,
            self.noise >= T::one() && self.noise.is_finite(),
            "1 or more",
        )?;
        within("Backtracking::trials", T::from_f64(self.trials as f64), self.trials > 0, "1 or more")
    }
}

impl<T: Real> Backtracking<T> {
    /// Whether φ′(α) = `here` satisfies Hager & Zhang (4.1) with φ′(0) = `slope`. A slope that does not
    /// change in a shortened step is rejected, since it is caused by round-off or an error.
    fn flattens(&self, here: T, slope: T, whole: bool) -> bool {
        here <= (T::from_f64(2.0) * self.armijo - T::one()) * slope
            && (whole || here >= T::from_f64(FLATTER) * slope)
    }

    /// The factor from α to the next trial: the minimiser of the parabola, limited to `shrink`, or a small
    /// factor if the parabola has no minimiser.
    fn keep(&self, share: T) -> T {
        let [low, high] = self.shrink;
        if share.is_finite() && share > T::zero() { share.max(low).min(high) } else { low.max(high * high) }
    }
}
