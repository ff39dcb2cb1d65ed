//! Σₖ Aₖ x_{jₖ} over the blocks of one row: what products, relaxation and substitution are made of.

use coarsen_core::Real;
use coarsen_core::simd::{Pack, Set, prefetch};

/// How far ahead of its use the matrix is asked for, in bytes: a page, because the prefetchers of the processor stop at its end.
const MATRIX_AHEAD: usize = 4096;

/// How far ahead of its use x is asked for, in bytes beyond the last column of a row: in a banded matrix the only part of x that
/// is not in a cache yet.
const X_AHEAD: usize = 1024;

/// Σₖ Aₖ x_{jₖ} for consecutive blocks of R x C with the block columns `columns`.
///
/// Each scalar row of the blocks has one pack of sums: a block is one load of x and R loads of A, each multiplied and added with
/// one instruction; lanes beyond C hold what follows in memory, and are dropped at the end. Blocks of 1x1 have four sums instead. The order of summation depends on the block
/// size alone. `OVER` allows to read x beyond a block, which is faster. `P` holds C lanes or more. Mark what calls it `#[inline(always)]` up to [`Kernel::run`](coarsen_core::simd::Kernel::run).
///
/// # Safety
/// `values` holds R · C numbers for each entry of `columns`, which rise, and x has C numbers at C j for every j in `columns`, and
/// with `OVER`, as many at C (j + 1) for every j but the last. Nobody writes any of them meanwhile.
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
    if R * C == 1 {
        // SAFETY: as the caller promises.
        return [unsafe { scalar_row(set, values, columns, x) }; R];
    }
    const { assert!(R * C == 1 || C <= P::LANES && P::LANES <= 2 * C) };
    let mut sums = [P::zero(set); R];
    let Some((&last, others)) = columns.split_last() else { return [V::zero(); R] };
    ahead(x.wrapping_add(last as usize * C), X_AHEAD);
    for (k, &j) in others.iter().enumerate() {
        // SAFETY: block k is at values + k R C, and x has C numbers at C j, as the caller promises. Another block follows in
        // both: columns rise, so that j is not the last column. A pack has at most 2 C lanes.
        unsafe {
            let x = x.add(j as usize * C);
            let x = if OVER { P::load(set, x) } else { P::load_first::<V, C>(set, x) };
            ahead(values.wrapping_add(k * R * C), MATRIX_AHEAD);
            for r in 0..R {
                sums[r] = P::load(set, values.add((k * R + r) * C)).mul_add(x, sums[r]);
            }
        }
    }
    // SAFETY: as above, for the last block, which nothing may follow.
    unsafe {
        let x = P::load_first::<V, C>(set, x.add(last as usize * C));
        for r in 0..R {
            sums[r] = P::load_first::<S, C>(set, values.add((others.len() * R + r) * C)).mul_add(x, sums[r]);
        }
    }
    let mut ax = [V::zero(); R];
    for r in 0..R {
        ax[r] = sums[r].sum_first::<C>();
    }
    ax
}

/// The same for 1x1 blocks, where rows are short: four sums, so that additions do not wait for each other.
#[inline(always)]
unsafe fn scalar_row<V: Real, S: Real, I: Set<V>>(
    set: I,
    values: *const S,
    columns: &[u32],
    x: *const V,
) -> V {
    // SAFETY: k is below the number of columns, and x is readable at each of them, as the caller promises.
    let term = |k: usize, sum: V| unsafe {
        let j = *columns.get_unchecked(k) as usize;
        set.mul_add((*values.add(k)).to::<V>(), *x.add(j), sum)
    };
    let [mut a, mut b, mut c, mut d] = [V::zero(); 4];
    let (mut k, n) = (0, columns.len());
    if n > 0 {
        ahead(x.wrapping_add(columns[n - 1] as usize), X_AHEAD);
        ahead(columns.as_ptr(), MATRIX_AHEAD / 2);
    }
    while k + 4 <= n {
        ahead(values.wrapping_add(k), MATRIX_AHEAD);
        (a, b, c, d) = (term(k, a), term(k + 1, b), term(k + 2, c), term(k + 3, d));
        k += 4;
    }
    if k + 2 <= n {
        (a, b) = (term(k, a), term(k + 1, b));
        k += 2;
    }
    if k < n {
        c = term(k, c);
    }
    (a + b) + (c + d)
}

/// Prefetches what lies `bytes` after `at`.
#[inline(always)]
fn ahead<T>(at: *const T, bytes: usize) {
    prefetch(at.cast::<u8>().wrapping_add(bytes));
}
