//! Right-hand sides whose squares leave the range of their numbers.
//!
//! ‖b‖ = 1e-160 has no square in `f64`, and in `f32` 1e-20 has none. Such a system is solved as A (x / s) = b / s with s the power of two near ‖b‖,
//! which loses nothing; x is multiplied by s at the end. Methods that sum squares of A p divide these products by a power of two in the same way, the
//! `unit` of A. Ordinary solves pay a comparison; in `f32` those with ‖A‖² above 2e19 pay a pass a product.

use std::ops::ControlFlow;

use coarsen_core::{Iteration, Monitor, Real, Vector, power_of_two};
use num_traits::{Float, Zero, zero};

/// Whether a square leaves the outer half of the exponents free: to residuals as they fall, and to the size of A in inner products with A p.
pub(crate) fn is_ordinary<T: Real>(square: T) -> bool {
    square >= T::min_positive_value().sqrt() && square <= T::max_value().sqrt()
}

/// The size of a right-hand side that is not ordinary.
pub(crate) enum Size {
    /// All entries are zero.
    Zero,
    /// Some are NaN or infinite.
    NotFinite,
    /// The power of two to divide by.
    Power(f64),
}

/// Divides b, whose square is `square`, by a power of two near its norm: `scaled` becomes the quotient.
///
/// *Cost* two passes, one reduction and a wait.
pub(crate) fn fit<V: Vector>(b: &V, square: V::Real, scaled: &mut V) -> Size {
    let near = if square < V::Real::of(1.0) { far::<V::Real>() } else { far::<V::Real>().recip() };
    multiply(b, near, scaled);
    let norm = scaled.norm().wide();
    if !norm.is_finite() {
        return Size::NotFinite;
    }
    if norm == 0.0 {
        return Size::Zero;
    }
    let least = V::Real::min_positive_value().wide(); // its reciprocal is a number, too
    let power = (power_of_two(norm) / near).clamp(least, least.recip());
    multiply(b, power.recip(), scaled);
    Size::Power(power)
}

/// x / power in place of x, and zeros where that leaves the range: such a guess is worth less than none. `false`, and x untouched, where x is
/// not finite.
pub(crate) fn divide<V: Vector>(x: &mut V, power: f64, scratch: &mut V) -> bool {
    if !is_finite(x, scratch) {
        return false;
    }
    multiply(x, power.recip(), scratch);
    if scratch.norm().is_finite() {
        x.copy(scratch)
    } else {
        x.fill(zero())
    }
    true
}

/// Whether no entry of x is NaN or infinite.
///
/// *Cost* a pass, one reduction and a wait.
pub(crate) fn is_finite<V: Vector>(x: &V, scratch: &mut V) -> bool {
    multiply(x, far::<V::Real>().recip(), scratch);
    scratch.norm().is_finite()
}

/// x as it is once it has been multiplied by `power` and rounded, still divided by it.
pub(crate) fn round<V: Vector>(x: &mut V, power: f64, scratch: &mut V) {
    multiply(x, power, scratch);
    multiply(scratch, power.recip(), x);
}

/// v / unit in place of v: a product with A, where those of A / unit are to be summed. x is any vector without NaN and infinity.
pub(crate) fn shrink<V: Vector>(v: &mut V, unit: f64, x: &V) {
    if unit != 1.0 {
        v.axpby(&v.scalar(zero()), x, &v.scalar(V::Real::of(unit.recip())));
    }
}

/// The unit of A by its first product v = A p, of which p·v and the square of p·v / p·p are about `squares`; v is divided by it.
pub(crate) fn unit_of<V: Vector>(v: &mut V, squares: [V::Real; 2], scratch: &mut V) -> f64 {
    let mut far = squares.into_iter().find(|square| !square.is_zero() && !is_ordinary(*square));
    if far.is_none() && squares.iter().any(V::Real::is_zero) {
        let norm = v.norm(); // p and A p may have nothing in common, or A be tiny
        far = Some(norm * norm).filter(|square| !is_ordinary(*square));
    }
    let Some(far) = far else { return 1.0 };
    match fit(v, far, scratch) {
        Size::Power(unit) => {
            v.copy(scratch);
            unit
        }
        Size::Zero | Size::NotFinite => 1.0,
    }
}

/// x · power in place of x.
pub(crate) fn restore<V: Vector>(x: &mut V, power: f64, scratch: &mut V) {
    multiply(x, power, scratch);
    x.copy(scratch);
}

/// ‖r‖ of an r whose square underflows; r is as before afterwards. x is any vector without NaN and infinity.
///
/// *Cost* two passes over r, one reduction and a wait.
pub(crate) fn tiny_norm<V: Vector>(r: &mut V, x: &V) -> V::Real {
    let (none, near) = (r.scalar(zero()), far::<V::Real>());
    r.axpby(&none, x, &r.scalar(V::Real::of(near)));
    let norm = r.norm().wide() / near;
    r.axpby(&none, x, &r.scalar(V::Real::of(near.recip())));
    V::Real::of(norm)
}

/// An absolute tolerance of the scaled system.
pub(crate) fn tolerance<T: Real>(absolute: T, power: f64) -> T {
    if power == 1.0 { absolute } else { T::of((absolute.wide() / power).min(T::max_value().wide())) }
}

/// The same norm in the caller's unit.
pub(crate) fn unscaled<T: Real>(norm: T, power: f64) -> T {
    if power == 1.0 { norm } else { T::of(norm.wide() * power) }
}

/// A monitor of the caller's, who sees residuals in the unit of b and no scaled x.
pub(crate) struct Unscaled<'a, V: Vector> {
    pub(crate) monitor: &'a mut dyn Monitor<V>,
    pub(crate) power: f64,
}

impl<V: Vector> Monitor<V> for Unscaled<'_, V> {
    fn observe(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()> {
        let Iteration { number, residual, relative, x, ritz_values } = *it;
        let residual = unscaled(residual, self.power);
        let x = x.filter(|_| self.power == 1.0);
        self.monitor.observe(&Iteration { number, residual, relative, x, ritz_values })
    }
}

/// A power of two that brings the smallest numbers to where they have squares; its reciprocal does it to the largest.
fn far<T: Real>() -> f64 {
    2.0_f64.powi((0.7 * T::max_value().wide().log2()) as i32)
}

fn multiply<V: Vector>(x: &V, factor: f64, product: &mut V) {
    product.scaled(&x.scalar(V::Real::of(factor)), x);
}
