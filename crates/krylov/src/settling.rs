//! The test of √(rᵀM⁻¹r) relative to its first value.

use coarsen_core::{Error, Real, Scalar};

/// The state of the test in one solve.
#[derive(Default)]
pub(crate) struct Settling<T> {
    /// `None` if nothing is tested.
    tolerance: Option<T>,
    /// The rᵀM⁻¹r at which the solve ends, known from its first value on; negative if that was not positive.
    end: Option<T>,
    /// Whether the solve has ended by this test.
    pub(crate) done: bool,
}

impl<T: Real> Settling<T> {
    pub(crate) fn new(tolerance: Option<T>) -> Result<Self, Error> {
        if let Some(value) = tolerance.filter(|t| t.is_nan() || *t < T::zero()) {
            let (name, range) = ("in_preconditioner", "0 or more");
            return Err(Error::Parameter { name, value: value.wide(), range });
        }
        Ok(Self { tolerance, end: None, done: false })
    }

    /// Whether rᵀM⁻¹r is small enough. The first call only stores its first value; unless that is positive, it
    /// is no measure of r, and the solve never ends by this test. Does not wait if nothing is tested.
    pub(crate) fn settles(&mut self, rho: &impl Scalar<Real = T>) -> bool {
        let Some(tolerance) = self.tolerance else { return false };
        let rho = rho.read();
        match self.end {
            None => self.end = Some(if rho > T::zero() { tolerance * tolerance * rho } else { -T::one() }),
            Some(end) => self.done = rho >= T::zero() && rho <= end,
        }
        self.done
    }
}
