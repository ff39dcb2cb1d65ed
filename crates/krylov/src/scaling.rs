//! Residuals, and right-hand sides whose squares overflow or underflow.
//!
//! The square of ‖b‖ = 1e-160 underflows in `f64`, the square of 1e-20 in `f32`. Such a system is solved as A
//! (x / s) = b / s, where s is a power of two near ‖b‖, so that no accuracy is lost: [`Scaled::new`] divides b
//! and x before the solve, and [`Scaled::restore`] multiplies x after it. An ordinary solve costs only one more
//! comparison. Methods that need the square of A p divide these products by a power of two in the same way. This
//! power is called the `unit` of A. In `f32` a solve with ‖A‖² above 2e19 costs one more pass per product.

use std::ops::ControlFlow;

use coarsen_core::{
    Error, Iteration, LinearOperator, Monitor, Outcome, Real, Report, Stop, Vector, power_of_two,
    vectors_like,
};
use num_traits::{Float, Zero, one, zero};

/// The system A (x / power) = b / power that a method solves.
pub(crate) struct Scaled<'a, V: Vector> {
    /// b / power.
    pub(crate) b: &'a V,
    /// A power of two near ‖b‖ if b·b overflows or underflows, otherwise 1.
    pub(crate) power: f64,
    /// ‖b‖ / power.
    pub(crate) size: V::Real,
    /// ‖b − A x₀‖ / power for the guess x₀.
    pub(crate) initial: V::Real,
    /// ‖b − A x‖ / power. x is the guess, or zeros if b = 0 or if the residual of the guess cannot be squared.
    pub(crate) residual: V::Real,
}

impl<'a, V: Vector> Scaled<'a, V> {
    /// r = b − A x, both divided by a power of two if b requires it. `memory` then stores b / power. If b = 0, x
    /// becomes 0. NaN or infinity in b or x gives `residual` = NaN.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the index of the entry, if it can be found; x is then unchanged.
    pub(crate) fn new(
        a: &dyn LinearOperator<V>,
        b: &'a V,
        x: &mut V,
        r: &mut V,
        memory: &'a mut Vec<V>,
    ) -> Result<Self, Error> {
        let (initial, bb) = measure_both(a, b, x, r);
        let mut system = Self { b, power: 1.0, size: bb.sqrt(), initial, residual: initial };
        if !is_ordinary(bb) {
            vectors_like(memory, 1, b)?;
            let quotient = &mut memory[0];
            match fit(b, bb, quotient) {
                Size::Zero => {
                    if !initial.is_finite() {
                        check_finite(&[("x", x)])?;
                    }
                    x.fill(zero());
                    (system.size, system.residual) = (zero(), measure(a, b, x, r));
                }
                Size::Power(power) if divide(x, power, r) => {
                    (system.power, system.size) = (power, quotient.norm());
                    system.b = quotient;
                    system.residual = measure(a, system.b, x, r);
                    if !system.residual.is_finite() {
                        x.fill(zero());
                        system.residual = measure(a, system.b, x, r);
                    }
                    system.initial = system.residual;
                }
                Size::Power(_) | Size::NotFinite => (system.size, system.residual) = (one(), V::Real::nan()),
            }
        }
        if !system.residual.is_finite() {
            check_finite(&[("b", b), ("x", x)])?;
        }
        Ok(system)
    }

    /// Multiplies x by the power, and corrects the report of the scaled system if x loses digits or overflows.
    pub(crate) fn restore(
        &self,
        a: &dyn LinearOperator<V>,
        x: &mut V,
        r: &mut V,
        report: Report<V::Real>,
    ) -> Report<V::Real> {
        if self.power == 1.0 {
            return report;
        }
        let Report { mut outcome, true_residual, tolerance, .. } = report;
        multiply(x, self.power, r);
        multiply(r, self.power.recip(), x); // rounds x as the multiplication below does
        let mut residual = measure(a, self.b, x, r) / self.size;
        if !residual.is_finite() {
            outcome = Outcome::NotFinite; // x overflows
            x.fill(zero());
            residual = measure(a, self.b, x, r) / self.size;
        } else if outcome == Outcome::Converged && true_residual <= tolerance && residual > tolerance {
            outcome = Outcome::Stagnated; // x is subnormal and has few digits
        }
        multiply(x, self.power, r);
        x.copy(r);
        Report { outcome, true_residual: residual, ..report }
    }
}

/// r = b − A x and its norm, even if r·r underflows; NaN or infinity if x or r is not finite.
///
/// *Cost* one residual, one pass over r and x, one synchronisation.
pub(crate) fn measure<V: Vector>(a: &dyn LinearOperator<V>, b: &V, x: &V, r: &mut V) -> V::Real {
    a.residual(b, x, r);
    let [rr, rx] = r.dots([r, x]);
    let dots = V::wait_for([&rr, &rx]);
    length(a, b, x, r, dots)
}

/// [`measure`], and b·b with the same synchronisation.
pub(crate) fn measure_both<V: Vector>(
    a: &dyn LinearOperator<V>,
    b: &V,
    x: &V,
    r: &mut V,
) -> (V::Real, V::Real) {
    a.residual(b, x, r);
    let (bb, [rr, rx]) = (b.dot(b), r.dots([r, x]));
    let [bb, rr, rx] = V::wait_for([&bb, &rr, &rx]);
    (length(a, b, x, r, [rr, rx]), bb)
}

/// ‖r‖ from r·r. r·x includes every entry of x, so it is not finite if x is not.
fn length<V: Vector>(a: &dyn LinearOperator<V>, b: &V, x: &V, r: &mut V, [rr, rx]: [V::Real; 2]) -> V::Real {
    if rr.is_finite() && !rx.is_finite() {
        if !is_finite(x, r) {
            return V::Real::nan();
        }
        a.residual(b, x, r); // x is finite, but r·x is not
    }
    if rr < V::Real::min_positive_value() { tiny_norm(r, x) } else { rr.sqrt() }
}

/// Returns an error for the first of the named vectors that contains NaN or infinity. Called if a norm is not
/// finite.
pub(crate) fn check_finite<V: Vector>(vectors: &[(&'static str, &V)]) -> Result<(), Error> {
    let find = |&(what, v): &(&'static str, &V)| v.first_not_finite().map(|index| (what, index));
    match vectors.iter().find_map(find) {
        Some((what, index)) => Err(Error::NotFinite { what, index }),
        None => Ok(()),
    }
}

/// Whether a square is in the inner half of the exponent range. This leaves room for smaller residuals and
/// for the factor ‖A‖ in inner products with A p.
pub(crate) fn is_ordinary<T: Real>(square: T) -> bool {
    square >= T::min_positive_value().sqrt() && square <= T::max_value().sqrt()
}

/// The right-hand sides that need special treatment.
pub(crate) enum Size {
    /// All entries are 0.
    Zero,
    /// Some entries are NaN or infinite.
    NotFinite,
    /// A nonzero b must be divided by this power of two.
    Power(f64),
}

/// Divides b by a power of two near its norm and writes the quotient to `quotient`. `square` is the squared
/// norm of b.
///
/// *Cost* two passes, one reduction and a synchronisation.
pub(crate) fn fit<V: Vector>(b: &V, square: V::Real, quotient: &mut V) -> Size {
    let near = if square < V::Real::from_f64(1.0) { far::<V::Real>() } else { far::<V::Real>().recip() };
    multiply(b, near, quotient);
    let norm = quotient.norm().as_f64();
    if !norm.is_finite() {
        return Size::NotFinite;
    }
    if norm == 0.0 {
        return Size::Zero;
    }
    let least = V::Real::min_positive_value().as_f64(); // its reciprocal does not overflow
    let power = (power_of_two(norm) / near).clamp(least, least.recip());
    multiply(b, power.recip(), quotient);
    Size::Power(power)
}

/// Replaces x by x / power. If the quotient overflows, x is set to zeros, which are then a better guess.
/// Returns `false` and leaves x unchanged if x is not finite.
fn divide<V: Vector>(x: &mut V, power: f64, scratch: &mut V) -> bool {
    if !is_finite(x, scratch) {
        return false;
    }
    multiply(x, power.recip(), scratch);
    if !scratch.norm().is_finite() {
        scratch.fill(zero());
    }
    x.copy(scratch);
    true
}

/// Whether all entries of x are finite.
///
/// *Cost* a pass, one reduction and a synchronisation.
pub(crate) fn is_finite<V: Vector>(x: &V, scratch: &mut V) -> bool {
    multiply(x, far::<V::Real>().recip(), scratch);
    scratch.norm().is_finite()
}

/// Replaces a product v = A p by v / unit. x is any vector without NaN and infinity.
pub(crate) fn shrink<V: Vector>(v: &mut V, unit: f64, x: &V) {
    if unit != 1.0 {
        v.axpby(&v.scalar(zero()), x, &v.scalar(V::Real::from_f64(unit.recip())));
    }
}

/// The unit of A from its first product v = A p; v is divided by this unit. `squares` are approximations of
/// p·v and of v·v / p·p.
pub(crate) fn unit_of<V: Vector>(v: &mut V, squares: [V::Real; 2], scratch: &mut V) -> f64 {
    let mut far = squares.into_iter().find(|square| !square.is_zero() && !is_ordinary(*square));
    if far.is_none() && squares.iter().any(V::Real::is_zero) {
        let norm = v.norm(); // p and A p may be orthogonal, or A tiny
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

/// ‖r‖ if its square underflows. r is unchanged on return. x is any vector without NaN and infinity.
///
/// *Cost* two passes over r, one reduction and a synchronisation.
pub(crate) fn tiny_norm<V: Vector>(r: &mut V, x: &V) -> V::Real {
    let (none, near) = (r.scalar(zero()), far::<V::Real>());
    r.axpby(&none, x, &r.scalar(V::Real::from_f64(near)));
    let norm = r.norm().as_f64() / near;
    r.axpby(&none, x, &r.scalar(V::Real::from_f64(near.recip())));
    V::Real::from_f64(norm)
}

/// The stopping rule for A (x / power) = b / power.
pub(crate) fn scaled_stop<T: Real>(stop: Stop<T>, power: f64) -> Stop<T> {
    let scaled = |absolute: T| T::from_f64((absolute.as_f64() / power).min(T::max_value().as_f64()));
    Stop { absolute: if power == 1.0 { stop.absolute } else { scaled(stop.absolute) }, ..stop }
}

/// A number of the scaled system in the unit of the caller.
pub(crate) fn unscaled<T: Real>(value: T, power: f64) -> T {
    if power == 1.0 { value } else { T::from_f64(value.as_f64() * power) }
}

/// Passes residuals to the monitor of the caller in the unit of b, and no x if the system is scaled.
pub(crate) fn unscaling<V: Vector>(
    monitor: &mut Monitor<'_, V>,
    power: f64,
) -> impl FnMut(&Iteration<'_, V>) -> ControlFlow<()> {
    move |it: &Iteration<'_, V>| {
        let Iteration { number, residual, relative, x, ritz_values } = *it;
        let (residual, x) = (unscaled(residual, power), x.filter(|_| power == 1.0));
        monitor(&Iteration { number, residual, relative, x, ritz_values })
    }
}

/// A power of two that scales the smallest numbers so that their squares do not underflow. Its reciprocal
/// scales the largest numbers.
fn far<T: Real>() -> f64 {
    2.0_f64.powi((0.7 * T::max_value().as_f64().log2()) as i32)
}

fn multiply<V: Vector>(x: &V, factor: f64, product: &mut V) {
    product.scaled(&x.scalar(V::Real::from_f64(factor)), x);
}
