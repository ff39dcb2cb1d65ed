//! Kernels compiled for the instruction set of the machine.
//!
//! A crate is compiled for the oldest processor of its target, but loops limited by memory bandwidth need the
//! newest instructions. A [`Kernel`] is written once over [`Pack`]s of lanes. [`run`] compiles it for each
//! instruction set of the target and selects one at run time. The selection depends only on the machine, so
//! every call gives the same bits. Two machines may give different bits, because a fused multiply-add rounds
//! once and two separate instructions round twice.
//!
//! | file | content |
//! |---|---|
//! | `pack` | the traits: packs, instruction sets, kernels |
//! | `plain` | packs as arrays, whose loops the compiler vectorises (with AVX2 and FMA if available) |
//! | `avx512` | packs as AVX-512 registers |
//! | [`twelve`](Twelve) | twelve lanes: a pack of eight and a pack of four |
//!
//! Lanes are loaded whole or in pieces, without gathers and masks. On Zen 5 a gather of eight lanes takes
//! longer than eight loads, and a masked load takes as long as several loads. With masks the product of 3x3
//! blocks took 2.5 times as long.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod pack;
mod plain;
mod twelve;

use crate::Real;

pub use pack::{Kernel, Pack, Set};
pub use twelve::Twelve;

/// Runs a kernel with the best instruction set of this machine.
///
/// *Cost* a few nanoseconds; call it once per leaf, not once per row.
///
/// ```
/// use coarsen_core::simd::{Kernel, Pack, Set, run};
/// struct Sum<'a>(&'a [f64; 4]);
/// impl Kernel<f64> for Sum<'_> {
///     type Output = f64;
///     #[inline(always)]
///     fn run<I: Set<f64>>(self, set: I) -> f64 {
///         // SAFETY: the array has four numbers.
///         unsafe { I::Four::load(set, self.0.as_ptr()) }.sum_first::<4>()
///     }
/// }
/// assert_eq!(run(Sum(&[1.0, 2.0, 3.0, 4.0])), 10.0);
/// ```
#[inline]
pub fn run<V: Real, K: Kernel<V>>(kernel: K) -> K::Output {
    V::dispatch(kernel)
}

macro_rules! choose {
    ($name:ident, $real:ty) => {
        /// [`run`] for one scalar type.
        #[inline]
        pub(crate) fn $name<K: Kernel<$real>>(kernel: K) -> K::Output {
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(set) = avx512::Avx512::detect() {
                    return set.call(kernel);
                }
                if let Some(set) = plain::Avx2::detect() {
                    return set.call(kernel);
                }
            }
            kernel.run(plain::Plain)
        }
    };
}
choose!(run_f64, f64);
choose!(run_f32, f32);

/// Prefetches the cache line of the address `at`. Results do not change, and the address need not be
/// readable.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed, and every x86-64 processor has SSE.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Four<const N: usize>;
    #[derive(Clone, Copy)]
    struct Eight<const N: usize>;

    /// Loads 1, 2, 3, ... into a pack, computes with it and stores it.
    fn check<V: Real, S: Real, P: Pack<V>, const N: usize>(set: P::Set) {
        let from: Vec<S> = (1..=8).map(|k| S::from_f64(f64::from(k))).collect();
        let exact = V::from_f64((N * (N + 1) / 2) as f64);
        // SAFETY: eight numbers are readable, and a pack has no more lanes.
        let (all, first, ones) = unsafe {
            let ones = P::load(set, [V::one(); 8].as_ptr());
            (P::load(set, from.as_ptr()), P::load_first::<S, N>(set, from.as_ptr()), ones)
        };
        assert_eq!(all.sum_first::<N>(), exact, "{N} of {} lanes", P::LANES);
        assert_eq!(first.sum_first::<N>(), exact, "the first {N} of {} lanes", P::LANES);
        assert_eq!(first.mul_add(ones, ones).sum_first::<N>(), exact + V::from_f64(N as f64));
        let negative = first.mul_add(P::splat(set, V::from_f64(-1.0)), P::zero(set));
        assert_eq!((negative.sum_first::<N>(), negative.abs().sum_first::<N>()), (-exact, exact));
        let mut back = [V::zero(); 8];
        // SAFETY: eight numbers are writable, and a pack has no more lanes.
        unsafe { first.mul_add(P::splat(set, V::from_f64(3.0)), ones).store(back.as_mut_ptr()) };
        let value = |k: usize| if k < N { 3.0 * (k + 1) as f64 + 1.0 } else { 1.0 };
        assert!(
            (0..P::LANES).all(|k| back[k] == V::from_f64(value(k))),
            "{N} of {} lanes: {back:?}",
            P::LANES
        );
        let mut part = [V::zero(); 9];
        // SAFETY: eight numbers are writable after the first, and a pack has no more lanes.
        unsafe { all.store_first::<N>(part.as_mut_ptr().add(1)) };
        let value = |k: usize| if (1..=N).contains(&k) { k as f64 } else { 0.0 };
        assert!((0..9).all(|k| part[k] == V::from_f64(value(k))), "{N} of {} lanes: {part:?}", P::LANES);
        let whole = if P::LANES == 4 { first.sum_first::<4>() } else { first.sum_first::<8>() };
        assert_eq!(whole, exact, "lanes beyond {N} are 0");
    }

    impl<V: Real, const N: usize> Kernel<V> for Four<N> {
        type Output = ();
        fn run<I: Set<V>>(self, set: I) {
            check::<V, f32, I::Four, N>(set);
            check::<V, f64, I::Four, N>(set);
        }
    }

    impl<V: Real, const N: usize> Kernel<V> for Eight<N> {
        type Output = ();
        fn run<I: Set<V>>(self, set: I) {
            check::<V, f32, I::Eight, N>(set);
            check::<V, f64, I::Eight, N>(set);
        }
    }

    #[derive(Clone, Copy)]
    struct All;

    impl<V: Real> Kernel<V> for All {
        type Output = ();
        fn run<I: Set<V>>(self, set: I) {
            let from: Vec<f32> = (1..=12).map(|k| k as f32).collect();
            let mut to = [V::zero(); 12];
            // SAFETY: twelve numbers are readable and writable.
            unsafe {
                let pack = Twelve::<V, I::Eight, I::Four>::load(set, from.as_ptr());
                assert_eq!(pack.sum_first::<12>(), V::from_f64(78.0));
                let ones = Pack::splat(set, V::one());
                pack.mul_add(Pack::splat(set, V::from_f64(3.0)), ones).store_first::<12>(to.as_mut_ptr());
            }
            assert!((0..12).all(|k| to[k] == V::from_f64(3.0 * (k + 1) as f64 + 1.0)), "{to:?}");
        }
    }

    #[test]
    fn twelve_lanes_are_eight_and_four() {
        on_all_sets::<f32>(All);
        on_all_sets::<f64>(All);
    }

    fn on_all_sets<V: Real>(kernel: impl Kernel<V> + Copy) {
        run(kernel);
        kernel.run(plain::Plain);
        #[cfg(target_arch = "x86_64")]
        if let Some(set) = plain::Avx2::detect() {
            set.call(kernel);
        }
    }

    #[test]
    fn packs_load_and_sum_what_they_are_asked_for() {
        macro_rules! each {
            ($pack:ident: $($n:literal)+) => {
                $(on_all_sets::<f32>($pack::<$n>);
                on_all_sets::<f64>($pack::<$n>);)+
            };
        }
        each!(Four: 1 2 3 4);
        each!(Eight: 1 2 3 4 5 6 7 8);
    }
}
