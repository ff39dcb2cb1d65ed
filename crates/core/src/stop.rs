//! The stopping rule.

use crate::{Error, Real};

/// The stopping rule of every iterative method: ‖b − A x‖₂ ≤ max(relative · ‖b‖₂, absolute), within a number
/// of iterations.
///
/// The rule uses the norm of the residual, not of the preconditioned residual, so tolerances have the same
/// meaning for every preconditioner. With a tolerance of 0 the solve runs to the attainable accuracy and ends
/// as [`Stagnated`](crate::Outcome::Stagnated).
///
/// ```
/// use coarsen_core::Stop;
/// let stop = Stop { max_iterations: 100, ..Stop::relative(1e-6) };
/// assert_eq!(stop.threshold(8.0), 8e-6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop<T> {
    /// Tolerance for ‖r‖₂ / ‖b‖₂.
    pub relative: T,
    /// Tolerance for ‖r‖₂, in the unit of b.
    pub absolute: T,
    /// The largest number of iterations; convergence in the last iteration counts.
    pub max_iterations: usize,
    /// The number of iterations between two convergence tests, at least 1. A test costs one synchronisation on a device.
    /// Between tests neither the stopping rule nor the monitor is evaluated.
    pub check_every: usize,
}

impl<T: Real> Stop<T> {
    /// The rule ‖r‖₂ ≤ tolerance · ‖b‖₂ within 5000 iterations.
    pub fn relative(tolerance: T) -> Self {
        Self { relative: tolerance, absolute: T::zero(), max_iterations: 5000, check_every: 1 }
    }

    /// The rule ‖r‖₂ ≤ tolerance within 5000 iterations.
    pub fn absolute(tolerance: T) -> Self {
        Self { relative: T::zero(), absolute: tolerance, ..Self::relative(T::zero()) }
    }

    /// The residual norm at which a solve converges, for ‖b‖₂ = `b`.
    pub fn threshold(&self, b: T) -> T {
        (self.relative * b).max(self.absolute)
    }

    /// Checks that the tolerances are not negative or NaN, and that `check_every` is at least 1.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the field.
    pub fn validate(&self) -> Result<(), Error> {
        let bad = |name, value: T, range| Err(Error::Parameter { name, value: value.as_f64(), range });
        if self.relative.is_nan() || self.relative < T::zero() {
            return bad("Stop::relative", self.relative, "0 or more");
        }
        if self.absolute.is_nan() || self.absolute < T::zero() {
            return bad("Stop::absolute", self.absolute, "0 or more");
        }
        if self.check_every == 0 {
            return bad("Stop::check_every", T::zero(), "1 or more");
        }
        Ok(())
    }
}

impl<T: Real> Default for Stop<T> {
    /// A relative tolerance of 1e-8 in `f64`, 1e-5 in `f32`.
    fn default() -> Self {
        Self::relative(T::from_f64(if T::EPSILON.as_f64() > 1e-10 { 1e-5 } else { 1e-8 }))
    }
}
