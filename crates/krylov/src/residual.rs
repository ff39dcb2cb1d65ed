//! Residuals and their norms.

use coarsen_core::{LinearOperator, Vector};
use num_traits::Float;

use crate::scale;

/// r = b − A x and its norm; NaN if x or r is not finite.
pub(crate) fn measure<V: Vector>(a: &dyn LinearOperator<V>, b: &V, x: &V, r: &mut V) -> V::Real {
    a.residual(b, x, r);
    let [rr, rx] = r.dots([r, x]);
    let [rr, rx] = V::wait_for([&rr, &rx]);
    length(a, b, x, r, [rr, rx])
}

/// ‖r‖ from r·r, even if r·r underflows. r·x includes every entry of x, so the result is not finite if x, r
/// or r·r is not finite.
pub(crate) fn length<V: Vector>(
    a: &dyn LinearOperator<V>,
    b: &V,
    x: &V,
    r: &mut V,
    [rr, rx]: [V::Real; 2],
) -> V::Real {
    if !rr.is_finite() {
        return rr;
    }
    if !rx.is_finite() {
        if !scale::is_finite(x, r) {
            return V::Real::nan();
        }
        a.residual(b, x, r); // x is finite, but r·x is not
    }
    if rr < V::Real::min_positive_value() { scale::tiny_norm(r, x) } else { rr.sqrt() }
}
