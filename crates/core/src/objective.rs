//! The objective f(x), to be minimised.

use num_traits::Float;

use crate::{Real, Vector};

/// A differentiable function of a vector: an energy, an incremental potential, a misfit.
///
/// Methods take `&mut self`: an objective owns its scratch memory, so that no evaluation allocates. If x is
/// outside the domain (an inverted element, a penetration), the value is +∞ or NaN, and line searches shorten
/// the step.
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
    /// Returns f(x).
    fn value(&mut self, x: &V) -> V::Real;

    /// A bound on the round-off in `value`, the last result of [`value`](Self::value). The bound may be wrong
    /// by a small factor.
    ///
    /// If the expected decrease is less than a multiple of this bound, line searches compare slopes instead
    /// of values. The default is ε |f|. Override it if terms of a sum cancel, since the round-off is then ε
    /// times the largest term.
    fn round_off(&self, value: V::Real) -> V::Real {
        V::Real::EPSILON * value.abs()
    }

    /// Computes g = ∇f(x) and overwrites g. *Panics* on a wrong length.
    fn gradient(&mut self, x: &V, g: &mut V);

    /// The largest step length α such that the path from x to x + α d is known to have no collision or
    /// inversion; ∞ by default. Steps never exceed it.
    fn max_step(&mut self, x: &V, d: &V) -> V::Real {
        let _ = (x, d);
        V::Real::infinity()
    }
}
