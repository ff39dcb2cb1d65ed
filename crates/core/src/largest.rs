//! The largest absolute value of many numbers, and whether all are finite. Every setup begins with this
//! check.

use crate::Real;
use crate::parallel::{self, tree};
use crate::simd::{self, Kernel, Set};

/// The number of values per step of the loop. They fill two of the widest registers for `f64`, one for `f32`.
const LANES: usize = 16;

/// How many steps ahead values are prefetched.
const AHEAD: usize = 16;

/// The largest absolute value: 0 for an empty slice, NaN if a value is NaN or infinite.
///
/// *Cost* one pass, limited by memory bandwidth; several threads for long vectors.
///
/// ```
/// assert_eq!(coarsen_core::largest(&[1.0, -3.0, 2.0]), 3.0);
/// assert!(coarsen_core::largest(&[1.0, f64::INFINITY]).is_nan());
/// ```
pub fn largest<T: Real>(values: &[T]) -> T {
    tree(values, parallel::LEAF, parallel::worth(values.len()), &|part| simd::run(Largest(part)), &larger)
}

/// The larger of two numbers; NaN if one of them is NaN.
fn larger<T: Real>(a: T, b: T) -> T {
    if a.is_nan() || a > b { a } else { b }
}

struct Largest<'a, T>(&'a [T]);

impl<T: Real> Kernel<T> for Largest<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run<I: Set<T>>(self, _: I) -> T {
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        let (mut most, mut bad) = ([T::zero(); LANES], [T::zero(); LANES]);
        for (k, chunk) in chunks.iter().enumerate() {
            if let Some(ahead) = chunks.get(k + AHEAD) {
                simd::prefetch(ahead);
            }
            for lane in 0..LANES {
                let size = chunk[lane].abs();
                most[lane] = if size > most[lane] { size } else { most[lane] };
                bad[lane] += size * T::zero(); // stays NaN once a value is not finite
            }
        }
        for v in rest {
            most[0] = if v.abs() > most[0] { v.abs() } else { most[0] };
            bad[0] += *v * T::zero();
        }
        let most = most.into_iter().fold(T::zero(), |m, v| if v > m { v } else { m });
        bad.into_iter().fold(most, |sum, v| sum + v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_searched() {
        for n in [1, 15, 16, 17, 100, 3 * parallel::LEAF + 5] {
            for at in [0, n / 2, n - 1] {
                let mut x: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
                x[at] = -12.5;
                assert_eq!(largest(&x), 12.5, "{at} of {n}");
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    x[at] = bad;
                    assert!(largest(&x).is_nan(), "{bad} at {at} of {n}");
                }
                assert_eq!(largest(&vec![f32::MAX; n]), f32::MAX);
            }
        }
        assert_eq!(largest::<f64>(&[]), 0.0);
    }
}
