//! A logarithmic barrier.
//!
//! > φ(d) = −k (d/r − 1)² ln(d/r) for 0 < d < r, 0 for d ≥ r    (6)
//!
//! φ is infinite for d ≤ 0, and twice continuously differentiable at r.

/// Steps are limited to this fraction of the step to the obstacle.
const SHARE: f64 = 0.9;

/// A barrier that acts at distances below r and that no step crosses; the energy behind it is infinite.
///
/// *Reference* Li et al. 2020, "Incremental potential contact", ACM TOG 39(4), Eq. 6, here divided by r².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Barrier {
    /// k, J, positive.
    pub stiffness: f64,
    /// r, m, positive.
    pub reach: f64,
}

impl Barrier {
    /// φ, φ' and φ'' at a distance.
    pub fn at(&self, distance: f64) -> [f64; 3] {
        let (k, r, d) = (self.stiffness, self.reach, distance / self.reach);
        if d >= 1.0 {
            return [0.0; 3];
        }
        if d.is_nan() || d <= 0.0 {
            return [f64::INFINITY, f64::NAN, f64::NAN];
        }
        let (gap, log) = (d - 1.0, d.ln());
        let slope = -gap * (2.0 * log + gap / d);
        let bend = -2.0 * log - gap / d * (4.0 - gap / d);
        [-k * gap * gap * log, k * slope / r, k * bend / (r * r)]
    }

    /// The step at which a tenth of the distance is left; `rate` is the change of the distance per unit of the step.
    pub(crate) fn max_step(&self, distance: f64, rate: f64) -> f64 {
        if rate < 0.0 { SHARE * distance / -rate } else { f64::INFINITY }
    }
}
