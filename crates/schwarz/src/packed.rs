//! Symmetric matrices packed in tiles, and their product with a vector (§7.1, Fig. 11 to 13).
//!
//! [`Packed`](crate::Packed) describes the tiles. A 96 x 96 matrix needs 4,992 values instead of 9,216.
//!
//! Deviation: in Wu et al. each thread of a warp starts from the diagonal and walks along one row, so that no
//! two threads write the same entry at once. A CPU core has wide registers instead. It reads a tile T once,
//! and adds T x_J to y_I and Tᵀ x_I to y_J. The eight columns of the second product stay in registers along
//! the whole block column.

use coarsen_core::Real;
use coarsen_core::simd::{Pack, Set, prefetch};

/// The number of rows and columns of a tile.
pub(crate) const SIDE: usize = 8;

/// The number of values of a tile.
pub(crate) const AREA: usize = SIDE * SIDE;

/// The number of rows of the largest domain.
pub(crate) const MOST: usize = 1024;

/// Returns the number of tiles along a side of a matrix of `m` rows.
pub(crate) fn side(m: usize) -> usize {
    m.div_ceil(SIDE)
}

/// Returns the number of values of a packed matrix of `m` rows.
pub(crate) fn length(m: usize) -> usize {
    side(m) * (side(m) + 1) / 2 * AREA
}

/// The prefetch distance of a matrix in bytes. Two pages, because the prefetchers of a processor stop at the
/// end of a page. After the last tiles the next matrix is prefetched.
const AHEAD: usize = 8192;

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// Returns the start of tile (i, j), i ≥ j, of a matrix with `side` tiles along a side.
#[inline(always)]
pub(crate) fn tile(side: usize, i: usize, j: usize) -> usize {
    tile_number(side, i, j) * AREA
}

/// Returns the index of tile (i, j), counted in tiles.
#[inline(always)]
pub(crate) fn tile_number(side: usize, i: usize, j: usize) -> usize {
    j * (2 * side + 1 - j) / 2 + (i - j)
}

/// Returns the index of entry (row, column), row ≥ column.
#[inline(always)]
pub(crate) fn entry(side: usize, row: usize, column: usize) -> usize {
    tile(side, row / SIDE, column / SIDE) + column % SIDE * SIDE + row % SIDE
}

/// Loads eight numbers of any precision.
#[inline(always)]
pub(crate) fn load<V: Real, S: Real, I: Set<V>>(set: I, from: &[S; SIDE]) -> I::Eight {
    // SAFETY: the array has as many numbers as the pack has lanes.
    unsafe { I::Eight::load(set, from.as_ptr()) }
}

/// Stores eight numbers.
#[inline(always)]
pub(crate) fn store<V: Real, I: Set<V>>(pack: I::Eight, to: &mut [V; SIDE]) {
    // SAFETY: as above.
    unsafe { pack.store(to.as_mut_ptr()) }
}

/// Computes y = M x, reading each stored value once; to be inlined into a kernel.
///
/// `x` and `y` are padded to whole tiles. The padding rows of M are multiplied as well.
#[inline(always)]
pub(crate) fn multiply<V: Real, S: Real, I: Set<V>>(set: I, m: &[S], x: &[V], y: &mut [V]) {
    debug_assert!(x.len() == y.len() && x.len().is_multiple_of(SIDE) && m.len() == length(x.len()));
    let (x, _) = x.as_chunks::<SIDE>();
    let (y, _) = y.as_chunks_mut::<SIDE>();
    let (columns, _) = m.as_chunks::<SIDE>();
    let (mut tiles, _) = columns.as_chunks::<SIDE>();
    y.fill([V::zero(); SIDE]);
    for j in 0..x.len() {
        let (diagonal, rest) = tiles.split_at(1);
        let (column, rest) = rest.split_at(x.len() - 1 - j);
        tiles = rest;
        let mut xj = [I::Eight::zero(set); SIDE];
        let (yj, below) = y[j..].split_at_mut(1);
        let mut sum: I::Eight = load(set, &yj[0]);
        for c in 0..SIDE {
            xj[c] = I::Eight::splat(set, x[j][c]);
            sum = load::<V, S, I>(set, &diagonal[0][c]).mul_add(xj[c], sum);
        }
        // The columns of Σ Tᵀ x_I stay in registers.
        let mut transposed = [I::Eight::zero(set); SIDE];
        for ((t, xi), yi) in column.iter().zip(&x[j + 1..]).zip(below) {
            let (xi, mut s): (I::Eight, I::Eight) = (load(set, xi), load(set, yi));
            for c in 0..SIDE {
                if (c * size_of::<[S; SIDE]>()).is_multiple_of(LINE) {
                    prefetch(t[c].as_ptr().cast::<u8>().wrapping_add(AHEAD));
                }
                let t: I::Eight = load(set, &t[c]);
                s = t.mul_add(xj[c], s);
                transposed[c] = t.mul_add(xi, transposed[c]);
            }
            store::<V, I>(s, yi);
        }
        store::<V, I>(sum, &mut yj[0]);
        for c in 0..SIDE {
            yj[0][c] += transposed[c].sum_first::<SIDE>();
        }
    }
}
