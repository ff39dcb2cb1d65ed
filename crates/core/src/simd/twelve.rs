//! Twelve lanes: a pack of eight and a pack of four.

use std::marker::PhantomData;

use super::Pack;
use crate::Real;

/// Twelve lanes in two packs, for rows of twelve numbers such as the affine motion of a node in three
/// dimensions. All twelve lanes are loaded and stored together.
///
/// ```
/// use coarsen_core::simd::{Kernel, Pack, Set, Twelve, run};
/// struct Sum<'a>(&'a [f64; 12]);
/// impl Kernel<f64> for Sum<'_> {
///     type Output = f64;
///     #[inline(always)]
///     fn run<I: Set<f64>>(self, set: I) -> f64 {
///         // SAFETY: the array has twelve numbers.
///         unsafe { Twelve::<f64, I::Eight, I::Four>::load(set, self.0.as_ptr()) }.sum_first::<12>()
///     }
/// }
/// assert_eq!(run(Sum(&[1.0; 12])), 12.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Twelve<V, E, F>(E, F, PhantomData<V>);

impl<V: Real, E: Pack<V>, F: Pack<V, Set = E::Set>> Pack<V> for Twelve<V, E, F> {
    type Set = E::Set;
    const LANES: usize = 12;

    #[inline(always)]
    fn zero(set: E::Set) -> Self {
        const { assert!(E::LANES == 8 && F::LANES == 4) };
        Self(E::zero(set), F::zero(set), PhantomData)
    }

    #[inline(always)]
    fn splat(set: E::Set, v: V) -> Self {
        Self(E::splat(set, v), F::splat(set, v), PhantomData)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut V) {
        // SAFETY: twelve numbers are writable at `to`, as the caller promises.
        unsafe {
            self.0.store(to);
            self.1.store(to.add(8));
        }
    }

    #[inline(always)]
    unsafe fn store_first<const N: usize>(self, to: *mut V) {
        const { assert!(N == 12) };
        // SAFETY: as the caller promises.
        unsafe { self.store(to) };
    }

    #[inline(always)]
    unsafe fn load<S: Real>(set: E::Set, from: *const S) -> Self {
        // SAFETY: twelve numbers are readable at `from`, as the caller promises.
        unsafe { Self(E::load(set, from), F::load(set, from.add(8)), PhantomData) }
    }

    #[inline(always)]
    unsafe fn load_first<S: Real, const N: usize>(set: E::Set, from: *const S) -> Self {
        const { assert!(N == 12) };
        // SAFETY: as the caller promises.
        unsafe { Self::load(set, from) }
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(self.0.mul_add(a.0, b.0), self.1.mul_add(a.1, b.1), PhantomData)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs(), self.1.abs(), PhantomData)
    }

    #[inline(always)]
    fn sum_first<const N: usize>(self) -> V {
        const { assert!(N == 12) };
        self.0.sum_first::<8>() + self.1.sum_first::<4>()
    }
}
