//! Packs of lanes in arrays.

#[cfg(target_arch = "x86_64")]
use super::Kernel;
use super::{Pack, Set};
use crate::Real;

/// Only the instructions that every processor of the target has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

/// AVX2 with fused multiply-add; a token created by [`Avx2::detect`].
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }

    /// Runs the kernel, inlined into a function that may use the instructions.
    #[inline]
    pub(super) fn call<V: Real, K: Kernel<V>>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma")]
        fn inner<V: Real, K: Kernel<V>>(kernel: K, set: Avx2) -> K::Output {
            kernel.run(set)
        }
        // SAFETY: the token proves that `detect` found both instruction sets.
        unsafe { inner(kernel, self) }
    }
}

/// N numbers and the token of their instruction set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes<V, I, const L: usize>([V; L], I);

impl<V: Real, I: Set<V>, const L: usize> Pack<V> for Lanes<V, I, L> {
    type Set = I;
    const LANES: usize = L;

    #[inline(always)]
    fn zero(set: I) -> Self {
        Self([V::zero(); L], set)
    }

    #[inline(always)]
    fn splat(set: I, v: V) -> Self {
        Self([v; L], set)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut V) {
        for k in 0..L {
            // SAFETY: L numbers are writable at `to`, as the caller promises.
            unsafe { *to.add(k) = self.0[k] };
        }
    }

    #[inline(always)]
    unsafe fn store_first<const N: usize>(self, to: *mut V) {
        const { assert!(N <= L) };
        for k in 0..N {
            // SAFETY: N numbers are writable at `to`, as the caller promises.
            unsafe { *to.add(k) = self.0[k] };
        }
    }

    #[inline(always)]
    unsafe fn load<S: Real>(set: I, from: *const S) -> Self {
        // SAFETY: L numbers are readable at `from`, as the caller promises.
        unsafe { Self::load_first::<S, L>(set, from) }
    }

    #[inline(always)]
    unsafe fn load_first<S: Real, const N: usize>(set: I, from: *const S) -> Self {
        const { assert!(N <= L) };
        let mut lanes = [V::zero(); L];
        for k in 0..N {
            // SAFETY: N numbers are readable at `from`, as the caller promises.
            lanes[k] = unsafe { *from.add(k) }.to();
        }
        Self(lanes, set)
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        let mut lanes = [V::zero(); L];
        for k in 0..L {
            lanes[k] = self.1.mul_add(self.0[k], a.0[k], b.0[k]);
        }
        Self(lanes, self.1)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.map(|v| v.abs()), self.1)
    }

    #[inline(always)]
    fn sum_first<const N: usize>(self) -> V {
        let mut sum = self.0[0];
        for k in 1..N {
            sum += self.0[k];
        }
        sum
    }
}

impl<V: Real> Set<V> for Plain {
    type Four = Lanes<V, Self, 4>;
    type Eight = Lanes<V, Self, 8>;

    #[inline(always)]
    fn mul_add(self, a: V, b: V, c: V) -> V {
        a * b + c
    }
}

#[cfg(target_arch = "x86_64")]
impl<V: Real> Set<V> for Avx2 {
    type Four = Lanes<V, Self, 4>;
    type Eight = Lanes<V, Self, 8>;

    #[inline(always)]
    fn mul_add(self, a: V, b: V, c: V) -> V {
        a.mul_add(b, c)
    }
}
