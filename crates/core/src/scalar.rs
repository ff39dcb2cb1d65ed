//! Numbers that may not have arrived yet.

use std::ops::{Add, Div, Mul, Neg};

use crate::Real;

/// A scalar of a recurrence: a number on the host, a queue slot on a device, a pending all-reduce between machines.
///
/// [`Scalar::read`] and [`Vector::wait_for`](crate::Vector::wait_for) wait for the number. Arithmetic and operations that take the scalar as a factor
/// need not: on a device they are enqueued behind it, and recurrences that use only these (`Cg`, `FlexibleCg`, `Richardson`, Chebyshev) run
/// without waiting. Between ranks they may wait too, so methods put off what consumes a sum until there is nothing else to do.
///
/// ```
/// use coarsen_core::Scalar;
/// assert_eq!(6.0_f64.over(&2.0, &0.0), 3.0);
/// assert_eq!(6.0_f64.over(&1e-20, &1e-16), 0.0); // under its round-off floor: freeze
/// ```
pub trait Scalar:
    Clone + Neg<Output = Self> + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The number type behind the promise.
    type Real: Real;

    /// The number itself. Cost: nothing on the host, one wait elsewhere.
    fn read(&self) -> Self::Real;

    /// `self / den` where `den > floor`, else 0.
    ///
    /// A step length made this way freezes the iterate instead of dividing by round-off; the next look at the scalars
    /// finds out why. NaN in any of the three also gives 0, so that the iterate stays finite.
    fn over(&self, den: &Self, floor: &Self) -> Self;
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
            fn over(&self, den: &$t, floor: &$t) -> $t {
                if *den > *floor && !self.is_nan() { self / den } else { 0.0 }
            }
        }
    };
}
number!(f32);
number!(f64);

/// An inner product together with the size of its terms.
///
/// `value` is Σ xᵢyᵢ and `magnitude` is Σ |xᵢyᵢ|, from one pass. The sum is added in `f64` along the fixed tree, whose
/// longest chain of k additions (a leaf and the levels above it, about a thousand at most) bounds its round-off by
/// k u · magnitude, u = 2⁻⁵³ (Higham 2002, §4.2); roundings of both signs make it √k u · magnitude in practice. A `value`
/// within a few `EPSILON · magnitude` of zero has no reliable sign: [`Dot::floor`]. Errors that x and y already bear (those
/// of y = A x under cancellation) are not covered.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot<S> {
    /// Σ xᵢ yᵢ
    pub value: S,
    /// Σ |xᵢ yᵢ|
    pub magnitude: S,
}

impl<S: Scalar> Dot<S> {
    /// How many times `EPSILON · magnitude` a value must exceed to have a sign.
    ///
    /// Sixteen are 32 u in `f64`, which √k of a chain of a thousand additions stays under; in `f32` they cover the rounding of
    /// the entries, since the sum itself is made in `f64`.
    pub const ROUNDINGS: f64 = 16.0;

    /// The value below which this inner product is round-off; `unit` is `ROUNDINGS · EPSILON` as a scalar.
    pub fn floor(&self, unit: &S) -> S {
        self.magnitude.clone() * unit.clone()
    }
}
