//! Scalars whose value may still be pending.

use std::ops::{Add, Div, Mul, Neg};

use crate::Real;

/// A scalar of a recurrence: a number on the host, a slot in a device queue, or a pending all-reduce among
/// ranks.
///
/// [`Scalar::read`] and [`Vector::wait_for`](crate::Vector::wait_for) wait for the number. Arithmetic need
/// not wait, nor do operations that take the scalar as a factor: on a device they are enqueued behind it.
/// Recurrences that use only these operations (`Cg`, `FlexibleCg`, `Richardson`, Chebyshev) run without
/// waiting. With several ranks these operations may wait too, so methods use the result of a reduction as
/// late as possible.
///
/// ```
/// use coarsen_core::Scalar;
/// assert_eq!(6.0_f64.over(&2.0, &0.0), 3.0);
/// assert_eq!(6.0_f64.over(&1e-20, &1e-16), 0.0); // no more than round-off: no step
/// ```
pub trait Scalar:
    Clone + Neg<Output = Self> + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The type of the number.
    type Real: Real;

    /// The number itself. Costs nothing on the host and one synchronisation elsewhere.
    fn read(&self) -> Self::Real;

    /// The number, if it is known without a synchronisation; `None` by default.
    fn known(&self) -> Option<Self::Real> {
        None
    }

    /// The smaller of two numbers; NaN if one of them is NaN.
    fn min(&self, other: &Self) -> Self;

    /// `self / den` if `den > bound`, otherwise 0.
    ///
    /// If `den` is only round-off, a step length computed this way is 0. The iterate then does not change,
    /// and the next convergence check finds the cause. NaN in any of the three numbers also gives 0, so that
    /// the iterate stays finite.
    fn over(&self, den: &Self, bound: &Self) -> Self;
}

macro_rules! number {
    ($t:ty) => {
        impl Scalar for $t {
            type Real = $t;
            #[inline]
            fn read(&self) -> $t {
                *self
            }
            #[inline]
            fn known(&self) -> Option<$t> {
                Some(*self)
            }
            #[inline]
            fn min(&self, other: &$t) -> $t {
                if self.is_nan() || self <= other { *self } else { *other }
            }
            #[inline]
            fn over(&self, den: &$t, bound: &$t) -> $t {
                if *den > *bound && !self.is_nan() { self / den } else { 0.0 }
            }
        }
    };
}
number!(f32);
number!(f64);

/// An inner product, or another sum, and the sum of the absolute values of its terms.
///
/// `value` is Σ xᵢyᵢ and `magnitude` is Σ |xᵢyᵢ|, from one pass. The sum is accumulated in `f64` along the
/// fixed tree. Its longest chain has k additions: a leaf and the levels above it, about a thousand at most.
/// So the round-off is at most k u · magnitude with u = 2⁻⁵³ (Higham 2002, §4.2). In practice it is about √k
/// u · magnitude, since roundings have both signs. The sign of a `value` within a few `EPSILON · magnitude`
/// of zero is not reliable: see [`Dot::round_off`]. Errors already present in x and y are not covered, such as
/// cancellation in y = A x.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot<S> {
    /// Σ xᵢ yᵢ
    pub value: S,
    /// Σ |xᵢ yᵢ|
    pub magnitude: S,
}

/// A number on the host that is not a sum: its magnitude is its absolute value.
impl<T: Real> From<T> for Dot<T> {
    fn from(value: T) -> Self {
        Self { value, magnitude: value.abs() }
    }
}

impl<S: Scalar> Dot<S> {
    /// The multiple of `EPSILON · magnitude` above which the sign of a value is reliable.
    ///
    /// 16 EPSILON is 32 u in `f64`, about √k u for a chain of a thousand additions. In `f32` it covers the
    /// rounding of the entries, since the sum is accumulated in `f64`.
    pub const ROUNDINGS: f64 = 16.0;

    /// The bound below which this inner product may be pure round-off; `unit` is `ROUNDINGS · EPSILON` as a
    /// scalar.
    pub fn round_off(&self, unit: &S) -> S {
        self.magnitude.clone() * unit.clone()
    }
}
