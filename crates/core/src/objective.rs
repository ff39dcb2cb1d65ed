//! f(x), to be minimised.

use num_traits::Float;

use crate::{Real, Vector};

/// A differentiable function of a vector: an energy, an incremental potential, a misfit.
///
/// Methods take `&mut self`: an objective owns its scratch, so that no evaluation allocates. An x that the function does
/// not admit (an inverted element, a penetration) has the value +∞ or NaN; line searches step back from it.
///
/// ```
/// use coarsen_core::Objective;
/// struct Parabola;
/// impl Objective<Vec<f64>> for Parabola {
///     fn value(&mut self, x: &Vec<f64>) -> f64 {
///         x[0] * x[0]
///     }
///     fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
///         g[0] = 2.0 * x[0];
///     }
/// }
/// assert_eq!(Parabola.value(&vec![3.0]), 9.0);
/// assert!(Parabola.max_step(&vec![3.0], &vec![1.0]).is_infinite());
/// ```
pub trait Objective<V: Vector> {
    /// f(x).
    fn value(&mut self, x: &V) -> V::Real;

    /// How far rounding may have moved `value`, the last that [`value`](Self::value) returned; a few times this may be wrong.
    ///
    /// Line searches let slopes judge where less than some multiple of it is to be gained. ε |f| unless the objective says
    /// otherwise, as it should where terms cancel, since a sum is rounded by ε times its largest term, however small it is.
    fn round_off(&self, value: V::Real) -> V::Real {
        V::Real::EPSILON * value.abs()
    }

    /// g = ∇f(x), overwriting g. *Panics* on a wrong length.
    fn gradient(&mut self, x: &V, g: &mut V);

    /// The largest α for which x + α d is known to be admissible (no collision, no inversion on the way); ∞ unless the
    /// objective says otherwise. Steps never exceed it.
    fn max_step(&mut self, x: &V, d: &V) -> V::Real {
        let _ = (x, d);
        V::Real::infinity()
    }
}
