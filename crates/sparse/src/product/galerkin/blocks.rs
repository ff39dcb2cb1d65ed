//! Dense block products, in packs if the sizes are known at compile time.
//!
//! Loops fill arrays of packs: with several units of code generation, as by default in programs, `array::from_fn` is not
//! inlined into kernels, and products take three times as long.

use coarsen_core::Real;
use coarsen_core::simd::{self, Pack, Set};

/// Row x of a block whose rows have K numbers; a pack has at least K lanes. Lanes beyond K are arbitrary, and
/// sums computed from them are never read.
#[inline(always)]
pub(super) fn row<T: Real, R: Pack<T>, const K: usize>(set: R::Set, block: &[T], x: usize) -> R {
    const { assert!(K <= R::LANES) };
    let rest = &block[x * K..];
    if rest.len() >= R::LANES {
        // SAFETY: there are as many numbers as lanes.
        unsafe { R::load(set, rest.as_ptr()) }
    } else {
        let rest = &rest[..K];
        // SAFETY: there are K numbers, and a pack has at least K lanes, as asserted above.
        unsafe { R::load_first::<T, K>(set, rest.as_ptr()) }
    }
}

/// Row x of a block whose rows have the length of a pack.
#[inline(always)]
pub(super) fn whole<T: Real, R: Pack<T>>(set: R::Set, block: &[T], x: usize) -> R {
    let row = &block[x * R::LANES..(x + 1) * R::LANES];
    // SAFETY: there are as many numbers as lanes.
    unsafe { R::load(set, row.as_ptr()) }
}

/// C += L R, where L is Y x X. The rows of R and C have the length of a pack. C is read and written once.
#[inline(always)]
pub(super) fn add_in_registers<T: Real, R: Pack<T>, const Y: usize, const X: usize>(
    set: R::Set,
    left: impl Fn(usize, usize) -> T,
    right: impl Fn(usize) -> R,
    c: &mut [T],
) {
    let c = &mut c[..Y * R::LANES];
    let mut sums = [R::zero(set); Y];
    for (y, sum) in sums.iter_mut().enumerate() {
        // SAFETY: C has Y rows with the length of a pack, guaranteed by the line above.
        *sum = unsafe { R::load(set, c.as_ptr().add(y * R::LANES)) };
    }
    for x in 0..X {
        let right = right(x);
        for (y, sum) in sums.iter_mut().enumerate() {
            *sum = R::splat(set, left(y, x)).mul_add(right, *sum);
        }
    }
    for (y, sum) in sums.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { sum.store(c.as_mut_ptr().add(y * R::LANES)) };
    }
}

/// C += L R, where L is K x X and C is a block whose rows have K numbers; a pack has at least K lanes. C is read and
/// written once.
#[inline(always)]
pub(super) fn add_to_block<T: Real, R: Pack<T>, const K: usize, const X: usize>(
    set: R::Set,
    left: impl Fn(usize, usize) -> T,
    right: impl Fn(usize) -> R,
    c: &mut [T],
) {
    let c = &mut c[..K * K];
    let mut sums = [R::zero(set); K];
    for (y, sum) in sums.iter_mut().enumerate() {
        *sum = row::<T, R, K>(set, c, y);
    }
    for x in 0..X {
        let right = right(x);
        for (y, sum) in sums.iter_mut().enumerate() {
            *sum = R::splat(set, left(y, x)).mul_add(right, *sum);
        }
    }
    for (y, sum) in sums.into_iter().enumerate() {
        let rest = &mut c[y * K..];
        // SAFETY: a whole pack is written only if there is room for it; it then overlaps the next row, which is written
        // later. Otherwise this is the end of the block, with room for at least K numbers.
        unsafe {
            match rest.len() >= R::LANES {
                true => sum.store(rest.as_mut_ptr()),
                false => sum.store_first::<K>(rest.as_mut_ptr()),
            }
        }
    }
}

/// C += L R for any Y, X and W.
#[inline(always)]
pub(super) fn add<'r, T: Real>(
    (y, x, w): (usize, usize, usize),
    left: impl Fn(usize, usize) -> T,
    right: impl Fn(usize) -> &'r [T],
    c: &mut [T],
) {
    for (y, c) in c.chunks_exact_mut(w).take(y).enumerate() {
        for x in 0..x {
            let l = left(y, x);
            c.iter_mut().zip(right(x)).for_each(|(c, &r)| *c += l * r);
        }
    }
}

/// The stored length of a row of a block: a whole number of registers for blocks of P with a special kernel.
pub(super) fn width(block: (usize, usize)) -> usize {
    match block {
        (3, 3) => 4,
        (3 | 6, 6) => 8,
        (3 | 12, 12) => 12,
        (_, k) => k,
    }
}

/// The pack type for rows of a block.
pub(super) trait Width {
    type Pack<T: Real, S: Set<T>>: Pack<T, Set = S>;
}

pub(super) struct Four;

impl Width for Four {
    type Pack<T: Real, S: Set<T>> = S::Four;
}

pub(super) struct Eight;

impl Width for Eight {
    type Pack<T: Real, S: Set<T>> = S::Eight;
}

pub(super) struct Twelve;

impl Width for Twelve {
    type Pack<T: Real, S: Set<T>> = simd::Twelve<T, S::Eight, S::Four>;
}
