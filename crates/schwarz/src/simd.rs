//! Eight numbers at a time, with the widest instructions of the machine.
//!
//! A kernel is written once over [`Lanes`] and compiled for AVX-512, for AVX2 and for plain arrays; what the machine has is found out at run
//! time. Left to itself the compiler vectorises these loops along the wrong axis, at half the speed.
//!
//! Bits differ between machines whose instructions differ (fused multiply-add rounds once), never between threads.

use coarsen_core::Real;

/// Eight numbers.
pub(crate) trait Lanes: Copy {
    /// Of this type.
    type Of: Real;
    /// The same number eight times.
    fn splat(v: Self::Of) -> Self;
    /// Eight numbers from memory.
    fn load(from: &[Self::Of; 8]) -> Self;
    /// Eight numbers of another precision from memory.
    fn from_f32(from: &[f32; 8]) -> Self;
    /// As above.
    fn from_f64(from: &[f64; 8]) -> Self;
    /// Back to memory.
    fn store(self, to: &mut [Self::Of; 8]);
    /// self · b + c.
    fn times_plus(self, b: Self, c: Self) -> Self;
}

/// Numbers that come eight at a time.
pub(crate) trait Lane: Real {
    /// By AVX-512.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Lanes<Of = Self>;
    /// By AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Lanes<Of = Self>;
    /// Eight of them, as lanes of another type.
    fn widen<L: Lanes>(from: &[Self; 8]) -> L;
}

/// A computation over lanes.
pub(crate) trait Kernel {
    /// What it returns.
    type Out;
    /// What its lanes hold.
    type Of: Lane;
    /// The computation; implementations are `#[inline(always)]`, so that they are compiled inside the function that enables the
    /// instructions.
    fn run<L: Lanes<Of = Self::Of>>(self) -> Self::Out;
}

/// Runs a kernel with the widest instructions there are.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Out {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
            // SAFETY: the features that `avx512` enables were just detected.
            return unsafe { x86::avx512(kernel) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features that `avx2` enables were just detected.
            return unsafe { x86::avx2(kernel) };
        }
    }
    kernel.run::<Plain<K::Of>>()
}

/// Eight numbers as an array.
#[derive(Clone, Copy)]
pub(crate) struct Plain<V>([V; 8]);

impl<V: Real> Lanes for Plain<V> {
    type Of = V;
    #[inline(always)]
    fn splat(v: V) -> Self {
        Self([v; 8])
    }
    #[inline(always)]
    fn load(from: &[V; 8]) -> Self {
        Self(*from)
    }
    #[inline(always)]
    fn from_f32(from: &[f32; 8]) -> Self {
        Self(from.map(|v| v.to()))
    }
    #[inline(always)]
    fn from_f64(from: &[f64; 8]) -> Self {
        Self(from.map(|v| v.to()))
    }
    #[inline(always)]
    fn store(self, to: &mut [V; 8]) {
        *to = self.0;
    }
    #[inline(always)]
    fn times_plus(self, b: Self, c: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] * b.0[k] + c.0[k]))
    }
}

impl Lane for f32 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = x86::Single;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = x86::Single;
    #[inline(always)]
    fn widen<L: Lanes>(from: &[f32; 8]) -> L {
        L::from_f32(from)
    }
}

impl Lane for f64 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = x86::Double;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = x86::Halves;
    #[inline(always)]
    fn widen<L: Lanes>(from: &[f64; 8]) -> L {
        L::from_f64(from)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Kernel, Lane, Lanes};

    #[target_feature(enable = "avx512f,avx2,fma")]
    pub(super) unsafe fn avx512<K: Kernel>(kernel: K) -> K::Out {
        kernel.run::<<K::Of as Lane>::Avx512>()
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2<K: Kernel>(kernel: K) -> K::Out {
        kernel.run::<<K::Of as Lane>::Avx2>()
    }

    /// Eight `f32` in one register of 256 bits; made only inside `avx512` and `avx2`.
    #[derive(Clone, Copy)]
    pub(crate) struct Single(__m256);

    /// Eight `f64` in one register of 512 bits; made only inside `avx512`.
    #[derive(Clone, Copy)]
    pub(crate) struct Double(__m512d);

    /// Eight `f64` in two registers of 256 bits; made only inside `avx2`.
    #[derive(Clone, Copy)]
    pub(crate) struct Halves(__m256d, __m256d);

    // SAFETY of all intrinsics below: these types are used by kernels alone, which `avx512` and `avx2` run, and those are called only where
    // the features are there; loads and stores are unaligned ones within the arrays given.
    impl Lanes for Single {
        type Of = f32;
        #[inline(always)]
        fn splat(v: f32) -> Self {
            // SAFETY: see above the first `impl`.
            Self(unsafe { _mm256_set1_ps(v) })
        }
        #[inline(always)]
        fn load(from: &[f32; 8]) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_loadu_ps(from.as_ptr()) })
        }
        #[inline(always)]
        fn from_f32(from: &[f32; 8]) -> Self {
            Self::load(from)
        }
        #[inline(always)]
        fn from_f64(from: &[f64; 8]) -> Self {
            Self::load(&from.map(|v| v as f32))
        }
        #[inline(always)]
        fn store(self, to: &mut [f32; 8]) {
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn times_plus(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) })
        }
    }

    impl Lanes for Double {
        type Of = f64;
        #[inline(always)]
        fn splat(v: f64) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_set1_pd(v) })
        }
        #[inline(always)]
        fn load(from: &[f64; 8]) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_loadu_pd(from.as_ptr()) })
        }
        #[inline(always)]
        fn from_f32(from: &[f32; 8]) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from.as_ptr())) })
        }
        #[inline(always)]
        fn from_f64(from: &[f64; 8]) -> Self {
            Self::load(from)
        }
        #[inline(always)]
        fn store(self, to: &mut [f64; 8]) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn times_plus(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_fmadd_pd(self.0, b.0, c.0) })
        }
    }

    impl Lanes for Halves {
        type Of = f64;
        #[inline(always)]
        fn splat(v: f64) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm256_set1_pd(v), _mm256_set1_pd(v)) }
        }
        #[inline(always)]
        fn load(from: &[f64; 8]) -> Self {
            // SAFETY: as above; the second half begins at the fifth of eight numbers.
            unsafe { Self(_mm256_loadu_pd(from.as_ptr()), _mm256_loadu_pd(from[4..].as_ptr())) }
        }
        #[inline(always)]
        fn from_f32(from: &[f32; 8]) -> Self {
            // SAFETY: as above.
            unsafe {
                let low = _mm256_cvtps_pd(_mm_loadu_ps(from.as_ptr()));
                Self(low, _mm256_cvtps_pd(_mm_loadu_ps(from[4..].as_ptr())))
            }
        }
        #[inline(always)]
        fn from_f64(from: &[f64; 8]) -> Self {
            Self::load(from)
        }
        #[inline(always)]
        fn store(self, to: &mut [f64; 8]) {
            // SAFETY: as above.
            unsafe {
                _mm256_storeu_pd(to.as_mut_ptr(), self.0);
                _mm256_storeu_pd(to[4..].as_mut_ptr(), self.1);
            }
        }
        #[inline(always)]
        fn times_plus(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm256_fmadd_pd(self.0, b.0, c.0), _mm256_fmadd_pd(self.1, b.1, c.1)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of products, by the lanes of this machine.
    struct Sum<'a, V>(&'a [[V; 8]]);

    impl<V: Lane> Kernel for Sum<'_, V> {
        type Out = [V; 8];
        type Of = V;
        #[inline(always)]
        fn run<L: Lanes<Of = V>>(self) -> [V; 8] {
            let mut sum = L::splat(V::one());
            for v in self.0 {
                sum = L::load(v).times_plus(V::widen::<L>(v), sum);
            }
            let mut out = [V::zero(); 8];
            sum.store(&mut out);
            out
        }
    }

    #[test]
    fn every_width_computes_the_same() {
        let wide: Vec<[f64; 8]> =
            (0..5).map(|i| std::array::from_fn(|k| f64::from(i * 8) + k as f64)).collect();
        let narrow: Vec<[f32; 8]> = wide.iter().map(|v| v.map(|v| v as f32)).collect();
        assert_eq!(dispatch(Sum(&wide)), Sum(&wide).run::<Plain<f64>>());
        assert_eq!(dispatch(Sum(&narrow)), Sum(&narrow).run::<Plain<f32>>());
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features were just detected.
            let halves = unsafe { x86::avx2(Sum(&wide)) };
            assert_eq!(halves, Sum(&wide).run::<Plain<f64>>());
        }
    }
}
