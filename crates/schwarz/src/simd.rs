//! One kernel, compiled for several widths of vector instructions; the widest that the machine has is taken at run time.
//!
//! Bits differ between machines whose instructions differ (fused multiply-add rounds once), never between threads.

use coarsen_core::Real;

/// A computation to be compiled for each set of instructions.
pub(crate) trait Kernel {
    /// What it returns.
    type Out;

    /// The computation; `FMA` says whether [`multiply_add`] is one instruction. Implementations are `#[inline(always)]`, so that
    /// their loops are vectorised inside the function that enables the instructions.
    fn run<const FMA: bool>(self) -> Self::Out;
}

/// a b + c, rounded once with `FMA`.
#[inline(always)]
pub(crate) fn multiply_add<const FMA: bool, V: Real>(a: V, b: V, c: V) -> V {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Runs a kernel with the widest instructions there are.
#[cfg(target_arch = "x86_64")]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Out {
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("fma")
    {
        // SAFETY: the features that `avx512` enables were just detected.
        return unsafe { avx512(kernel) };
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the features that `avx2` enables were just detected.
        return unsafe { avx2(kernel) };
    }
    kernel.run::<false>()
}

/// Runs a kernel with the instructions of the target; ARM always fuses.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Out {
    if cfg!(target_arch = "aarch64") { kernel.run::<true>() } else { kernel.run::<false>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
unsafe fn avx512<K: Kernel>(kernel: K) -> K::Out {
    kernel.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<K: Kernel>(kernel: K) -> K::Out {
    kernel.run::<true>()
}
