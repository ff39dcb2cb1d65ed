//! `f32` and `f64` as [`Real`].

use crate::Real;
use crate::simd::{self, Kernel};
use crate::vector_loops::Loops;

impl Real for f32 {
    const NAME: &'static str = "f32";
    const EPSILON: Self = f32::EPSILON;
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        v as f32
    }
    #[inline(always)]
    fn as_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output {
        simd::run_f32(kernel)
    }
    fn loops() -> &'static Loops<Self> {
        static COMPILED: Loops<f32> = Loops::ALL;
        &COMPILED
    }
}

impl Real for f64 {
    const NAME: &'static str = "f64";
    const EPSILON: Self = f64::EPSILON;
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        v
    }
    #[inline(always)]
    fn as_f64(self) -> f64 {
        self
    }
    #[inline]
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output {
        simd::run_f64(kernel)
    }
    fn loops() -> &'static Loops<Self> {
        static COMPILED: Loops<f64> = Loops::ALL;
        &COMPILED
    }
}
