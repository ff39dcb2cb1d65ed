//! Packs of numbers from slices, and back.

use coarsen_core::simd::{Pack, Set};

/// Four numbers of a slice as lanes.
#[inline(always)]
pub(crate) fn four<I: Set<f64>>(set: I, from: &[f64], at: usize) -> I::Four {
    let from = &from[at..at + 4];
    // SAFETY: the slice has four numbers.
    unsafe { I::Four::load(set, from.as_ptr()) }
}

/// Eight numbers of a slice as lanes.
#[inline(always)]
pub(crate) fn eight<I: Set<f64>>(set: I, from: &[f64], at: usize) -> I::Eight {
    let from = &from[at..at + 8];
    // SAFETY: the slice has eight numbers.
    unsafe { I::Eight::load(set, from.as_ptr()) }
}

/// Stores a pack of eight or four lanes.
#[inline(always)]
pub(crate) fn store<P: Pack<f64>>(pack: P, to: &mut [f64], at: usize) {
    let to = &mut to[at..at + P::LANES];
    // SAFETY: the slice has as many numbers as the pack.
    unsafe { pack.store(to.as_mut_ptr()) };
}
