//! Packs of lanes in AVX-512 registers.
//!
//! Every SAFETY comment in this file relies on one fact: a token, or a pack created with a token, exists only
//! if [`Avx512::detect`] found the instructions.

use std::arch::x86_64::*;

use super::{Kernel, Pack, Set};
use crate::Real;

/// AVX-512 with short registers; a token created by [`Avx512::detect`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("fma");
        found.then_some(Self(()))
    }

    /// Runs the kernel, inlined into a function that may use the instructions.
    #[inline]
    pub(super) fn call<V: Real, K: Kernel<V>>(self, kernel: K) -> K::Output
    where
        Self: Set<V>,
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
        fn inner<V: Real, K: Kernel<V>>(kernel: K, set: Avx512) -> K::Output
        where
            Avx512: Set<V>,
        {
            kernel.run(set)
        }
        // SAFETY: the token proves that `detect` found the instructions.
        unsafe { inner(kernel, self) }
    }
}

/// Whether the type is `f32`; [`Real`] is sealed, so any other type is `f64`.
const fn single<S: Real>() -> bool {
    size_of::<S>() == 4
}

/// A register with numbers of type V.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register<R>(R);

macro_rules! pack {
    ($real:ty, $register:ty, $zero:ident, $splat:ident, $store:ident, $fma:ident, $abs:expr, $all32:expr, $all64:expr, $first32:ident, $first64:ident, $sum:ident, $put:ident) => {
        impl Pack<$real> for Register<$register> {
            type Set = Avx512;
            const LANES: usize = size_of::<$register>() / size_of::<$real>();

            #[inline(always)]
            fn zero(_: Avx512) -> Self {
                // SAFETY: see the top of this file.
                Self(unsafe { $zero() })
            }

            #[inline(always)]
            fn splat(_: Avx512, v: $real) -> Self {
                // SAFETY: see the top of this file.
                Self(unsafe { $splat(v) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $real) {
                // SAFETY: see the top of this file; one number per lane is writable at `to`.
                unsafe { $store(to, self.0) }
            }

            #[inline(always)]
            unsafe fn store_first<const N: usize>(self, to: *mut $real) {
                // SAFETY: see the top of this file; N numbers are writable at `to`.
                unsafe { $put::<N>(to, self.0) }
            }

            #[inline(always)]
            unsafe fn load<S: Real>(_: Avx512, from: *const S) -> Self {
                // SAFETY: see the top of this file; one number per lane is readable at `from`.
                Self(unsafe { if single::<S>() { $all32(from.cast()) } else { $all64(from.cast()) } })
            }

            #[inline(always)]
            unsafe fn load_first<S: Real, const N: usize>(_: Avx512, from: *const S) -> Self {
                // SAFETY: see the top of this file; N numbers are readable at `from`.
                Self(unsafe {
                    if single::<S>() { $first32::<N>(from.cast()) } else { $first64::<N>(from.cast()) }
                })
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: see the top of this file.
                Self(unsafe { $fma(self.0, a.0, b.0) })
            }

            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: see the top of this file.
                Self(unsafe { $abs(self.0) })
            }

            #[inline(always)]
            fn sum_first<const N: usize>(self) -> $real {
                // SAFETY: see the top of this file.
                unsafe { $sum::<N>(self.0) }
            }
        }
    };
}

pack!(
    f64,
    __m256d,
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_storeu_pd,
    _mm256_fmadd_pd,
    |r| _mm256_andnot_pd(_mm256_set1_pd(-0.0), r),
    |p| _mm256_cvtps_pd(_mm_loadu_ps(p)),
    |p| _mm256_loadu_pd(p),
    four_as_f64,
    four,
    sum_four,
    put_four
);
pack!(
    f64,
    __m512d,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_storeu_pd,
    _mm512_fmadd_pd,
    |r| _mm512_abs_pd(r),
    |p| _mm512_cvtps_pd(_mm256_loadu_ps(p)),
    |p| _mm512_loadu_pd(p),
    eight_as_f64,
    eight,
    sum_eight,
    put_eight
);
pack!(
    f32,
    __m128,
    _mm_setzero_ps,
    _mm_set1_ps,
    _mm_storeu_ps,
    _mm_fmadd_ps,
    |r| _mm_andnot_ps(_mm_set1_ps(-0.0), r),
    |p| _mm_loadu_ps(p),
    |p| _mm256_cvtpd_ps(_mm256_loadu_pd(p)),
    four_singles,
    rounded_four,
    sum_four_singles,
    put_four_singles
);
pack!(
    f32,
    __m256,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    |r| _mm256_andnot_ps(_mm256_set1_ps(-0.0), r),
    |p| _mm256_loadu_ps(p),
    |p| _mm512_cvtpd_ps(_mm512_loadu_pd(p)),
    eight_singles,
    rounded_eight,
    sum_eight_singles,
    put_eight_singles
);

// The functions below load the first N numbers in pieces of 1, 2 and 4. A masked load takes several times as
// long on Zen 5.
macro_rules! pieces {
    ($(#[$doc:meta])* $name:ident, $real:ty, $register:ty, |$p:ident| $load:expr) => {
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name<const N: usize>($p: *const $real) -> $register {
            // SAFETY: the caller promises the instructions and N readable numbers, and each branch reads no
            // more.
            unsafe { $load }
        }
    };
}

pieces!(two, f64, __m128d, |p| match N {
    0 => _mm_setzero_pd(),
    1 => _mm_load_sd(p),
    _ => _mm_loadu_pd(p),
});
pieces!(four, f64, __m256d, |p| match N {
    0..=2 => _mm256_zextpd128_pd256(two::<N>(p)),
    3 => _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_load_sd(p.add(2))),
    _ => _mm256_loadu_pd(p),
});
pieces!(eight, f64, __m512d, |p| match N {
    0..=4 => _mm512_zextpd256_pd512(four::<N>(p)),
    5 => _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(_mm256_loadu_pd(p)), four::<1>(p.add(4))),
    6 => _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(_mm256_loadu_pd(p)), four::<2>(p.add(4))),
    7 => _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(_mm256_loadu_pd(p)), four::<3>(p.add(4))),
    _ => _mm512_loadu_pd(p),
});
pieces!(two_singles, f32, __m128, |p| match N {
    0 => _mm_setzero_ps(),
    1 => _mm_load_ss(p),
    _ => _mm_castsi128_ps(_mm_loadl_epi64(p.cast())), // needs only the alignment of an f32
});
pieces!(four_singles, f32, __m128, |p| match N {
    0..=2 => two_singles::<N>(p),
    3 => _mm_movelh_ps(two_singles::<2>(p), _mm_load_ss(p.add(2))),
    _ => _mm_loadu_ps(p),
});
pieces!(eight_singles, f32, __m256, |p| match N {
    0..=4 => _mm256_zextps128_ps256(four_singles::<N>(p)),
    5 => _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(p)), four_singles::<1>(p.add(4))),
    6 => _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(p)), four_singles::<2>(p.add(4))),
    7 => _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(p)), four_singles::<3>(p.add(4))),
    _ => _mm256_loadu_ps(p),
});
pieces!(four_as_f64, f32, __m256d, |p| _mm256_cvtps_pd(four_singles::<N>(p)));
pieces!(eight_as_f64, f32, __m512d, |p| _mm512_cvtps_pd(eight_singles::<N>(p)));
pieces!(rounded_four, f64, __m128, |p| _mm256_cvtpd_ps(four::<N>(p)));
pieces!(rounded_eight, f64, __m256, |p| _mm512_cvtpd_ps(eight::<N>(p)));

/// Writes the first N lanes in the pieces in which they will be loaded, so that each later load reads the
/// result of a single store. The functions below do the same.
#[inline(always)]
unsafe fn put_four<const N: usize>(to: *mut f64, r: __m256d) {
    // SAFETY: the caller promises the instructions and N writable numbers, and each branch writes no more.
    unsafe {
        match N {
            0 => (),
            1 => _mm_store_sd(to, _mm256_castpd256_pd128(r)),
            2 => _mm_storeu_pd(to, _mm256_castpd256_pd128(r)),
            3 => {
                _mm_storeu_pd(to, _mm256_castpd256_pd128(r));
                _mm_store_sd(to.add(2), _mm256_extractf128_pd::<1>(r));
            }
            _ => _mm256_storeu_pd(to, r),
        }
    }
}

#[inline(always)]
unsafe fn put_eight<const N: usize>(to: *mut f64, r: __m512d) {
    // SAFETY: as above.
    unsafe {
        let (low, high) = (_mm512_castpd512_pd256(r), _mm512_extractf64x4_pd::<1>(r));
        match N {
            0..=4 => put_four::<N>(to, low),
            5 => {
                put_four::<4>(to, low);
                put_four::<1>(to.add(4), high);
            }
            6 => {
                put_four::<4>(to, low);
                put_four::<2>(to.add(4), high);
            }
            7 => {
                put_four::<4>(to, low);
                put_four::<3>(to.add(4), high);
            }
            _ => _mm512_storeu_pd(to, r),
        }
    }
}

#[inline(always)]
unsafe fn put_four_singles<const N: usize>(to: *mut f32, r: __m128) {
    // SAFETY: as above.
    unsafe {
        match N {
            0 => (),
            1 => _mm_store_ss(to, r),
            2 => _mm_storel_epi64(to.cast(), _mm_castps_si128(r)), // needs only the alignment of an f32
            3 => {
                _mm_storel_epi64(to.cast(), _mm_castps_si128(r));
                _mm_store_ss(to.add(2), _mm_movehl_ps(r, r));
            }
            _ => _mm_storeu_ps(to, r),
        }
    }
}

#[inline(always)]
unsafe fn put_eight_singles<const N: usize>(to: *mut f32, r: __m256) {
    // SAFETY: as above.
    unsafe {
        let (low, high) = (_mm256_castps256_ps128(r), _mm256_extractf128_ps::<1>(r));
        match N {
            0..=4 => put_four_singles::<N>(to, low),
            5 => {
                put_four_singles::<4>(to, low);
                put_four_singles::<1>(to.add(4), high);
            }
            6 => {
                put_four_singles::<4>(to, low);
                put_four_singles::<2>(to.add(4), high);
            }
            7 => {
                put_four_singles::<4>(to, low);
                put_four_singles::<3>(to.add(4), high);
            }
            _ => _mm256_storeu_ps(to, r),
        }
    }
}

/// Sums the first N lanes, like the functions below.
#[inline(always)]
unsafe fn sum_four<const N: usize>(r: __m256d) -> f64 {
    // SAFETY: the caller passes a register, so the machine has the instructions.
    unsafe {
        let low = _mm256_castpd256_pd128(r);
        let high = _mm256_extractf128_pd::<1>(r);
        let even = if N > 2 { _mm_add_sd(low, high) } else { low };
        let odd = if N > 3 { _mm_add_pd(low, high) } else { low };
        let odd = _mm_unpackhi_pd(odd, odd);
        _mm_cvtsd_f64(if N > 1 { _mm_add_sd(even, odd) } else { even })
    }
}

#[inline(always)]
unsafe fn sum_eight<const N: usize>(r: __m512d) -> f64 {
    // SAFETY: as above.
    unsafe {
        let (low, high) = (_mm512_castpd512_pd256(r), _mm512_extractf64x4_pd::<1>(r));
        match N {
            0..=4 => sum_four::<N>(low),
            5 => sum_four::<4>(low) + sum_four::<1>(high),
            6 => {
                let (l, h) = (_mm256_castpd256_pd128(low), _mm256_extractf128_pd::<1>(low));
                let s = _mm_add_pd(_mm_add_pd(l, h), _mm256_castpd256_pd128(high));
                _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)))
            }
            7 => sum_four::<4>(low) + sum_four::<3>(high),
            _ => sum_four::<4>(_mm256_add_pd(low, high)),
        }
    }
}

#[inline(always)]
unsafe fn sum_four_singles<const N: usize>(r: __m128) -> f32 {
    // SAFETY: as above.
    unsafe {
        let high = _mm_movehl_ps(r, r);
        let even = if N > 2 { _mm_add_ss(r, high) } else { r };
        let odd = if N > 3 { _mm_add_ps(r, high) } else { r };
        let odd = _mm_shuffle_ps::<1>(odd, odd);
        _mm_cvtss_f32(if N > 1 { _mm_add_ss(even, odd) } else { even })
    }
}

#[inline(always)]
unsafe fn sum_eight_singles<const N: usize>(r: __m256) -> f32 {
    // SAFETY: as above.
    unsafe {
        let (low, high) = (_mm256_castps256_ps128(r), _mm256_extractf128_ps::<1>(r));
        match N {
            0..=4 => sum_four_singles::<N>(low),
            5 => sum_four_singles::<4>(low) + sum_four_singles::<1>(high),
            6 => {
                let s = _mm_add_ps(_mm_add_ps(low, _mm_movehl_ps(low, low)), high);
                _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps::<1>(s, s)))
            }
            7 => sum_four_singles::<4>(low) + sum_four_singles::<3>(high),
            _ => sum_four_singles::<4>(_mm_add_ps(low, high)),
        }
    }
}

impl Set<f64> for Avx512 {
    type Four = Register<__m256d>;
    type Eight = Register<__m512d>;

    #[inline(always)]
    fn mul_add(self, a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

impl Set<f32> for Avx512 {
    type Four = Register<__m128>;
    type Eight = Register<__m256>;

    #[inline(always)]
    fn mul_add(self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}
