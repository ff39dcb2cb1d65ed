//! The objective f(x), to be minimised.

use num_traits::Float;

use crate::{Dot, Vector};

/// A differentiable function of a vector: an energy, an incremental potential, a misfit.
///
/// Methods take `&mut self`: an objective owns its scratch memory, so that no evaluation allocates. If x is
/// outside the domain (an inverted element, a penetration), the value is +∞ or NaN, and line searches shorten
/// the step.
///
/// ```
/// use coarsen_core::{Dot, Objective};
/// struct Parabola;
/// impl Objective<Vec<f64>> for Parabola {
///     fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
///         (x[0] * x[0]).into()
///     }
///     fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
///         g[0] = 2.0 * x[0];
///     }
/// }
/// assert_eq!(Parabola.value(&vec![3.0]).value, 9.0);
/// assert!(Parabola.max_step(&vec![3.0], &vec![1.0]).is_infinite());
/// ```
pub trait Objective<V: Vector> {
    /// Returns f(x), and the sum of the absolute values of its terms; |f(x)| if terms do not cancel.
    ///
    /// ε times this magnitude bounds the round-off of f. The bound may be wrong by a small factor. If the
    /// expected decrease is less than a multiple of it, line searches compare slopes instead of values.
    fn value(&mut self, x: &V) -> Dot<V::Scalar>;

    /// Computes g = ∇f(x) and overwrites g. *Panics* on a wrong length.
    ///
    /// Where values stay on a device, it is called before f(x) is known, also outside the domain; its result
    /// is not used there.
    fn gradient(&mut self, x: &V, g: &mut V);

    /// The largest step length α such that the path from x to x + α d is known to have no collision or
    /// inversion; ∞ by default. Steps never exceed it. NaN means that no step is known to be safe.
    fn max_step(&mut self, x: &V, d: &V) -> V::Scalar {
        let _ = d;
        x.scalar(V::Real::infinity())
    }
}

/// A borrowed objective.
impl<V: Vector, F: Objective<V> + ?Sized> Objective<V> for &mut F {
    fn value(&mut self, x: &V) -> Dot<V::Scalar> {
        (**self).value(x)
    }
    fn gradient(&mut self, x: &V, g: &mut V) {
        (**self).gradient(x, g);
    }
    fn max_step(&mut self, x: &V, d: &V) -> V::Scalar {
        (**self).max_step(x, d)
    }
}
