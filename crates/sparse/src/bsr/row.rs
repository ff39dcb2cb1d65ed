//! Σₖ Aₖ x_{jₖ} over the blocks of one row: the inner kernel of products, relaxation and substitution.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::simd::{Pack, Set, prefetch};

/// How far ahead the matrix is prefetched, in bytes. It is one page, because hardware prefetchers stop at
/// page boundaries.
const MATRIX_AHEAD: usize = 4096;

/// How far ahead x is prefetched, in bytes after the last column of a row. In a banded matrix this is the
/// only part of x that is not yet in a cache.
const X_AHEAD: usize = 1024;

/// Σₖ Aₖ x_{jₖ} for consecutive blocks of R x C in the block columns `columns`.
///
/// Each scalar row of the blocks has one pack of sums. A block needs one load of x, and R loads of A with one
/// multiply-add each. Lanes beyond C contain the numbers that follow in memory; they are dropped at the end.
/// Rows of 1x1 blocks instead take four entries at a time. The order of summation depends only on the block
/// size and the length of the row. `OVER` permits reading x beyond a block, which is faster. `P` has at least
/// C lanes. Mark the callers `#[inline(always)]` up to [`Kernel::run`](coarsen_core::simd::Kernel::run).
///
/// # Safety
/// `values` has R · C numbers for each entry of `columns`, and `columns` is increasing. For every j in
/// `columns`, x has C numbers from C j on. With `OVER`, x also has C numbers from C (j + 1) on, for every j
/// except the last. No other thread writes to these numbers during the call.
#[inline(always)]
pub unsafe fn row_product<V, S, I, P, const R: usize, const C: usize, const OVER: bool>(
    set: I,
    values: *const S,
    columns: &[u32],
    x: *const V,
) -> [V; R]
where
    V: Real,
    S: Real,
    I: Set<V>,
    P: Pack<V, Set = I>,
{
    // SAFETY: guaranteed by the caller.
    let [ax] = unsafe { row_product_of::<V, S, I, P, R, C, 1, OVER>(set, values, columns, [x]) };
    ax
}

/// [`row_product`] for K vectors, with the same bits. Each number of A is loaded once.
///
/// # Safety
/// As for [`row_product`], for each vector.
#[inline(always)]
pub(super) unsafe fn row_product_of<
    V,
    S,
    I,
    P,
    const R: usize,
    const C: usize,
    const K: usize,
    const OVER: bool,
>(
    set: I,
    values: *const S,
    columns: &[u32],
    x: [*const V; K],
) -> [[V; R]; K]
where
    V: Real,
    S: Real,
    I: Set<V>,
    P: Pack<V, Set = I>,
{
    let mut ax = [[V::zero(); R]; K];
    if R * C == 1 {
        for k in 0..K {
            // SAFETY: guaranteed by the caller.
            ax[k] = [unsafe { scalar_row::<V, S, I, I::Four>(set, values, columns, x[k]) }; R];
        }
        return ax;
    }
    const { assert!(R * C == 1 || C <= P::LANES && P::LANES <= 2 * C) };
    let mut sums = [[P::zero(set); R]; K];
    let Some((&last, others)) = columns.split_last() else { return ax };
    for x in x {
        ahead(x.wrapping_add(last as usize * C), X_AHEAD);
    }
    for (at, &j) in others.iter().enumerate() {
        // SAFETY: the caller guarantees that block `at` is at values + at R C, and that x has C numbers at C j.
        // Both arrays contain one more block: columns increase, so j is not the last column. A pack has at
        // most 2 C lanes.
        unsafe {
            ahead(values.wrapping_add(at * R * C), MATRIX_AHEAD);
            let mut a = [P::zero(set); R];
            for r in 0..R {
                a[r] = P::load(set, values.add((at * R + r) * C));
            }
            for k in 0..K {
                let x = x[k].add(j as usize * C);
                let x = if OVER { P::load(set, x) } else { P::load_first::<V, C>(set, x) };
                for r in 0..R {
                    sums[k][r] = a[r].mul_add(x, sums[k][r]);
                }
            }
        }
    }
    // SAFETY: as above; the last block is loaded without reading beyond it.
    unsafe {
        for k in 0..K {
            let x = P::load_first::<V, C>(set, x[k].add(last as usize * C));
            for r in 0..R {
                let a = P::load_first::<S, C>(set, values.add((others.len() * R + r) * C));
                sums[k][r] = a.mul_add(x, sums[k][r]);
            }
        }
    }
    for k in 0..K {
        for r in 0..R {
            ax[k][r] = sums[k][r].sum_first::<C>();
        }
    }
    ax
}

/// The kernel for 1x1 blocks. Short rows, as on grids, are fully unrolled. Their lengths repeat, so the
/// branch is predicted well.
#[inline(always)]
unsafe fn scalar_row<V: Real, S: Real, I: Set<V>, P: Pack<V, Set = I>>(
    set: I,
    values: *const S,
    columns: &[u32],
    x: *const V,
) -> V {
    let Some(&last) = columns.last() else { return V::zero() };
    ahead(values, MATRIX_AHEAD);
    ahead(columns.as_ptr(), MATRIX_AHEAD / 2);
    ahead(x.wrapping_add(last as usize), X_AHEAD);
    let c = columns.as_ptr();
    // SAFETY: guaranteed by the caller; each branch reads exactly the entries of the row.
    unsafe {
        match columns.len() {
            1 => short::<V, S, I, P, 1>(set, values, c, x),
            2 => short::<V, S, I, P, 2>(set, values, c, x),
            3 => short::<V, S, I, P, 3>(set, values, c, x),
            4 => short::<V, S, I, P, 4>(set, values, c, x),
            5 => short::<V, S, I, P, 5>(set, values, c, x),
            6 => short::<V, S, I, P, 6>(set, values, c, x),
            7 => short::<V, S, I, P, 7>(set, values, c, x),
            8 => short::<V, S, I, P, 8>(set, values, c, x),
            9 => short::<V, S, I, P, 9>(set, values, c, x),
            n => long::<V, S, I, P>(set, values, c, n, x),
        }
    }
}

/// [`row_product`] for a row of at most four 1x1 blocks, with the same bits. It has no branch on the length, which in a
/// prolongation could not be predicted.
///
/// # Safety
/// Four values and columns are readable, also where the row has fewer, x has an entry at each of these columns, and no other thread
/// writes to these numbers during the call.
#[inline(always)]
pub(super) unsafe fn uneven_row<V: Real, S: Real, I: Set<V>>(
    set: I,
    values: *const S,
    columns: *const u32,
    len: usize,
    x: *const V,
) -> V {
    let [mut at, mut products] = [[V::zero(); 4]; 2];
    // SAFETY: guaranteed by the caller.
    unsafe {
        ahead(values, MATRIX_AHEAD);
        ahead(columns, MATRIX_AHEAD / 2);
        for k in 0..4 {
            at[k] = *x.add(*columns.add(k) as usize);
        }
        let (a, at) = (I::Four::load(set, values), I::Four::load(set, at.as_ptr()));
        a.mul_add(at, I::Four::zero(set)).store(products.as_mut_ptr());
        for k in 0..4 {
            products[k] = if k < len { products[k] } else { V::zero() };
        }
        I::Four::load(set, products.as_ptr()).sum_first::<4>()
    }
}

/// A row of N entries.
#[inline(always)]
unsafe fn short<V: Real, S: Real, I: Set<V>, P: Pack<V, Set = I>, const N: usize>(
    set: I,
    values: *const S,
    columns: *const u32,
    x: *const V,
) -> V {
    let mut sums = P::zero(set);
    // SAFETY: N values and columns are readable, guaranteed by the caller; the pieces end at N.
    unsafe {
        for k in 0..N / 4 {
            sums = piece::<V, S, I, P, 4>(set, values.add(4 * k), columns.add(4 * k), x, sums);
        }
        let (values, columns) = (values.add(N / 4 * 4), columns.add(N / 4 * 4));
        sums = match N % 4 {
            0 => sums,
            1 => piece::<V, S, I, P, 1>(set, values, columns, x, sums),
            2 => piece::<V, S, I, P, 2>(set, values, columns, x, sums),
            _ => piece::<V, S, I, P, 3>(set, values, columns, x, sums),
        };
    }
    sums.sum_first::<4>()
}

/// A row of n entries: four at a time, then one.
#[inline(always)]
unsafe fn long<V: Real, S: Real, I: Set<V>, P: Pack<V, Set = I>>(
    set: I,
    values: *const S,
    columns: *const u32,
    n: usize,
    x: *const V,
) -> V {
    let (mut sums, mut k) = (P::zero(set), 0);
    while k + 4 <= n {
        // SAFETY: n values and columns are readable, guaranteed by the caller.
        unsafe {
            ahead(values.wrapping_add(k), MATRIX_AHEAD);
            sums = piece::<V, S, I, P, 4>(set, values.add(k), columns.add(k), x, sums);
        }
        k += 4;
    }
    // SAFETY: as above.
    sums.sum_first::<4>() + unsafe { rest::<V, S, I>(set, values, columns, k..n, x) }
}

/// The sum over some entries of a row, one after the other.
#[inline(always)]
unsafe fn rest<V: Real, S: Real, I: Set<V>>(
    set: I,
    values: *const S,
    columns: *const u32,
    entries: Range<usize>,
    x: *const V,
) -> V {
    let mut sum = V::zero();
    for k in entries {
        // SAFETY: the caller guarantees that these values and columns are readable and that x has an entry at each
        // column.
        sum = unsafe { set.mul_add((*values.add(k)).to(), *x.add(*columns.add(k) as usize), sum) };
    }
    sum
}

/// Adds the products of N ≤ 4 entries with x to `sums`. The entries of x are loaded one by one, which is
/// faster than a gather.
#[inline(always)]
unsafe fn piece<V: Real, S: Real, I: Set<V>, P: Pack<V, Set = I>, const N: usize>(
    set: I,
    values: *const S,
    columns: *const u32,
    x: *const V,
    sums: P,
) -> P {
    const { assert!(N <= 4 && P::LANES == 4) };
    let mut at = [V::zero(); 4];
    // SAFETY: the caller guarantees that N values and columns are readable and that x has an entry at each
    // column.
    unsafe {
        for k in 0..N {
            at[k] = *x.add(*columns.add(k) as usize);
        }
        P::load_first::<S, N>(set, values).mul_add(P::load(set, at.as_ptr()), sums)
    }
}

/// Prefetches the cache line `bytes` after `at`.
#[inline(always)]
fn ahead<T>(at: *const T, bytes: usize) {
    prefetch(at.cast::<u8>().wrapping_add(bytes));
}
