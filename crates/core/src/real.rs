//! The real numbers a solve can be made in.

use std::fmt;
use std::iter::Sum;

use num_traits::{Float, NumAssign};

use crate::Scalar;
use crate::simd::{self, Kernel};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: the numbers that vectors and matrices hold.
///
/// Sealed, so that kernels may rely on plain old data. Conversions go through `f64` with [`Real::of`] and
/// [`Real::wide`]; between equal types they cost nothing.
///
/// ```
/// use coarsen_core::Real;
/// assert_eq!(f32::of(0.5), 0.5_f32);
/// assert_eq!(0.25_f32.to::<f64>(), 0.25);
/// ```
pub trait Real:
    sealed::Sealed
    + Scalar<Real = Self>
    + Float
    + NumAssign
    + Sum<Self>
    + Default
    + fmt::Debug
    + fmt::Display
    + fmt::LowerExp
    + Send
    + Sync
    + 'static
{
    /// `"f32"` or `"f64"`, as reports print it.
    const NAME: &'static str;
    /// Twice the unit round-off: 2⁻²³ or 2⁻⁵².
    const EPSILON: Self;

    /// The nearest number of this type.
    fn of(v: f64) -> Self;
    /// The same number as an `f64`, exact.
    fn wide(self) -> f64;
    /// The nearest number of type `U`.
    #[inline(always)]
    fn to<U: Real>(self) -> U {
        U::of(self.wide())
    }
    /// [`simd::run`](crate::simd::run) for this type.
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output;
}

impl Real for f32 {
    const NAME: &'static str = "f32";
    const EPSILON: Self = f32::EPSILON;
    #[inline(always)]
    fn of(v: f64) -> Self {
        v as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output {
        simd::run_f32(kernel)
    }
}

impl Real for f64 {
    const NAME: &'static str = "f64";
    const EPSILON: Self = f64::EPSILON;
    #[inline(always)]
    fn of(v: f64) -> Self {
        v
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline]
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output {
        simd::run_f64(kernel)
    }
}
