//! The line search of Moré and Thuente.
//!
//! | symbol | here | |
//! |---|---|---|
//! | φ(α) − φ(0) | `p.value`, `rise` | change of the energy along the direction |
//! | ψ(α) = φ(α) − φ(0) − μ φ′(0) α | `tilted` | auxiliary function of stage one |
//! | μ | `decrease` | the fraction of the first-order decrease that is required |
//! | η | `curvature` | bound of the slope at an accepted step, relative to the slope at 0 |
//! | α_l, α_u | `low`, `high` | ends of the interval I; α_l has the lowest value so far |
//! | δ | [`SHRINK`] | the factor by which I must shrink in two trials |
//!
//! Numbers at line ends are equations of Moré & Thuente 1994; `trial` implements its §4.

mod trial;

use coarsen_core::{Error, Real};

use crate::line_search::{NOISE, first_trial, within};
use crate::{LineSearch, LineSearchFailure, Start, Step};
use trial::{Interval, Point};

/// δ of §4: if two trials do not shrink the interval by this factor, it is halved.
const SHRINK: f64 = 0.66;

/// Before a minimiser is bracketed, trials grow by at least and at most these multiples of their distance
/// from α_l. The upper bound is δ_max of §4; the lower bound is from the authors' code in MINPACK-2.
const GROW: [f64; 2] = [1.1, 4.0];

/// If φ keeps falling towards a point where it is not finite, a trial α is accepted once this point is at
/// most this fraction of α away.
const NEAR: f64 = 0.1;

/// Decreases of φ below this multiple of its round-off are computed from slopes.
const BLUR: f64 = 16.0;

/// Finds α with φ(α) ≤ φ(0) + μ α φ′(0) and |φ′(α)| ≤ η |φ′(0)|: the strong Wolfe conditions.
///
/// It uses safeguarded cubic and quadratic interpolation in an interval that provably contains such a point,
/// or steps up to the bound of the objective. If round-off or the limit on trials ends the search first, it
/// returns the lowest point, provided that its decrease is sufficient. *Use* with nonlinear CG (η = 0.1) and
/// L-BFGS without a preconditioner (η = 0.9). *Cost*: one value and one gradient per trial. *Reference* Moré
/// & Thuente 1994, "Line search algorithms with guaranteed sufficient decrease", ACM TOMS 20(3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoreThuente<T> {
    /// μ, in (0, 1/2).
    pub decrease: T,
    /// η, in [μ, 1).
    pub curvature: T,
    /// The relative width of the interval at which the search ends.
    pub width: T,
    /// Differences of energies up to this multiple of [`Start::round_off`] are attributed to round-off. If
    /// the predicted decrease is less than 16 times this bound, slopes are compared instead of values.
    pub noise: T,
    /// The maximal number of trials.
    pub trials: usize,
}

impl<T: Real> Default for MoreThuente<T> {
    /// Returns the search with μ = 1e-4 and η = 0.9.
    fn default() -> Self {
        Self {
            decrease: T::from_f64(1e-4),
            curvature: T::from_f64(0.9),
            width: T::from_f64(16.0) * T::EPSILON,
            noise: T::from_f64(NOISE),
            trials: 40,
        }
    }
}

impl<T: Real> MoreThuente<T> {
    /// Returns the search with η = 0.1, which is close enough to the minimiser along the line for conjugate
    /// gradients.
    pub fn tight() -> Self {
        Self { curvature: T::from_f64(0.1), ..Self::default() }
    }
}

impl<T: Real> LineSearch<T> for MoreThuente<T> {
    fn search(
        &mut self,
        phi: &mut dyn FnMut(T) -> T,
        dphi: &mut dyn FnMut(T) -> T,
        start: &Start<T>,
    ) -> Result<Step<T>, LineSearchFailure> {
        let &Start { value: at0, round_off, slope, first, least, most } = start;
        let zero = T::zero();
        if slope.is_nan() || slope >= zero {
            return Err(LineSearchFailure::Ascent { slope: slope.as_f64() });
        }
        let mut alpha = first_trial(first, most)?;
        let mu_slope = self.decrease * slope;
        let noise = self.noise * round_off;
        let mut interval = Interval::at(Point { alpha: zero, value: zero, slope });
        let (mut stage_one, mut finite, mut spent) = (true, false, true);
        let mut wall = T::infinity(); // the nearest point without a finite value bounds later trials
        let [mut width, mut width_before] = [T::infinity(); 2];

        for _ in 0..self.trials {
            let value = phi(alpha);
            let slope_here = if value.is_finite() { dphi(alpha) } else { T::nan() };
            if !slope_here.is_finite() {
                // Deviation: in the paper all values are finite. Here a point without a finite value bounds
                // the search but is not an end of the interval.
                wall = if alpha > interval.low.alpha { alpha } else { wall };
                let shorter = interval.low.alpha + (alpha - interval.low.alpha) * T::from_f64(0.25);
                if shorter <= least || shorter == interval.low.alpha || shorter == alpha {
                    spent = false;
                    break;
                }
                alpha = shorter;
                continue;
            }
            finite = true;
            // Deviation: a difference of values that is mostly round-off is replaced by the integral of the
            // slopes.
            let blurred = -alpha * slope <= T::from_f64(BLUR) * noise && value <= at0 + noise;
            let rise = if blurred { alpha * T::from_f64(0.5) * (slope + slope_here) } else { value - at0 };
            let p = Point { alpha, value: rise, slope: slope_here };
            let enough = rise <= mu_slope * alpha;
            if enough && p.slope.abs() <= -self.curvature * slope {
                return Ok(Step { alpha, value }); // (1.1), (1.2)
            }
            let at_bound = alpha == most || wall - alpha <= T::from_f64(NEAR) * alpha;
            if at_bound && enough && p.slope <= mu_slope {
                return Ok(Step { alpha, value }); // still falling at the bound
            }
            stage_one &= !(enough && p.slope >= zero);

            let ends = interval.reach(alpha, most.min(wall));
            alpha = if stage_one && rise <= interval.low.value && !enough {
                interval.tilted(mu_slope, |psi, p| psi.next(p, ends), p) // psi of (2.1)
            } else {
                interval.next(p, ends) // phi
            };
            if interval.bracketed {
                let [low, high] = interval.ends();
                if high - low >= T::from_f64(SHRINK) * width_before {
                    alpha =
                        interval.low.alpha + (interval.high.alpha - interval.low.alpha) * T::from_f64(0.5);
                }
                width_before = width;
                width = high - low;
                if high - low <= self.width * high || alpha <= low || alpha.max(least) >= high {
                    spent = false;
                    break; // no number between the ends
                }
            }
            alpha = alpha.max(least).min(most);
            if alpha >= wall {
                alpha = interval.low.alpha + (wall - interval.low.alpha) * T::from_f64(0.5);
            }
        }
        let Point { alpha: best, value: rise, .. } = interval.low;
        if best > zero && rise < zero && rise <= mu_slope * best {
            return Ok(Step { alpha: best, value: phi(best) });
        }
        let alpha = alpha.as_f64();
        Err(match (finite, spent) {
            (false, _) => LineSearchFailure::NotFinite { alpha },
            (true, false) => LineSearchFailure::RoundOff { alpha },
            (true, true) => LineSearchFailure::Exhausted { evaluations: self.trials, alpha },
        })
    }

    fn validate(&self) -> Result<(), Error> {
        let Self { decrease, curvature, width, noise, trials } = *self;
        within(
            "MoreThuente::decrease",
            decrease,
            decrease > T::zero() && decrease < T::from_f64(0.5),
            "in (0, 1/2)",
        )?;
        let curved = curvature >= decrease && curvature < T::one();
        within("MoreThuente::curvature", curvature, curved, "at least MoreThuente::decrease, and below 1")?;
        within("MoreThuente::width", width, width >= T::zero() && width < T::one(), "in [0, 1)")?;
        within("MoreThuente::noise", noise, noise >= T::one() && noise.is_finite(), "1 or more")?;
        within("MoreThuente::trials", T::from_f64(trials as f64), trials > 0, "1 or more")
    }
}
