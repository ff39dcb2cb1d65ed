//! The real numbers of a solve.

use std::fmt;
use std::iter::Sum;

use num_traits::{Float, FromBytes, NumAssign, ToBytes};

use crate::Scalar;
use crate::simd::Kernel;
use crate::vector_loops::Loops;

/// `f32` or `f64`: the entries of vectors and matrices.
///
/// The trait is sealed, so that kernels may assume plain old data. Conversions go through `f64` with
/// [`Real::from_f64`] and [`Real::as_f64`]; a conversion between equal types costs nothing.
///
/// ```
/// use coarsen_core::Real;
/// assert_eq!(f32::from_f64(0.5), 0.5_f32);
/// assert_eq!(0.25_f32.to::<f64>(), 0.25);
/// ```
pub trait Real:
    Scalar<Real = Self>
    + Float
    + NumAssign
    + ToBytes
    + FromBytes<Bytes = <Self as ToBytes>::Bytes>
    + Sum<Self>
    + Default
    + fmt::Debug
    + fmt::Display
    + fmt::LowerExp
    + Send
    + Sync
    + 'static
{
    /// The name in reports: `"f32"` or `"f64"`.
    const NAME: &'static str;
    /// Twice the unit round-off: 2⁻²³ or 2⁻⁵².
    const EPSILON: Self;

    /// The number of this type nearest to v.
    fn from_f64(v: f64) -> Self;
    /// The same number as an `f64`; the conversion is exact.
    fn as_f64(self) -> f64;
    /// The number of type `U` nearest to this number.
    #[inline(always)]
    fn to<U: Real>(self) -> U {
        U::from_f64(self.as_f64())
    }
    /// [`simd::run`](crate::simd::run) for this type.
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output;
    /// The loops over vectors of this type. Other crates cannot name the table, and so cannot implement the trait.
    #[doc(hidden)]
    fn loops() -> &'static Loops<Self>;
}

/// The largest power of two that is at most v, limited to 2⁻¹⁰²² … 2¹⁰²²; 1 if v is not a positive finite
/// number.
///
/// Dividing a system or a residual by this number is exact and brings it to a size whose square neither
/// overflows nor underflows.
///
/// ```
/// use coarsen_core::power_of_two;
/// assert_eq!([power_of_two(3.5), power_of_two(0.25), power_of_two(0.0), power_of_two(f64::NAN)], [2.0, 0.25, 1.0, 1.0]);
/// ```
pub fn power_of_two(v: f64) -> f64 {
    if v > 0.0 && v.is_finite() { 2.0_f64.powi((v.log2().floor() as i32).clamp(-1022, 1022)) } else { 1.0 }
}
