//! Symmetric matrices packed in tiles, and their product with a vector (§7.1, Fig. 11 to 13).
//!
//! A symmetric matrix of m rows is cut into tiles of 8 x 8. Tiles on and below the diagonal are stored by
//! block columns, each tile by columns; diagonal tiles are stored whole. A 96 x 96 matrix needs 4,992 values
//! instead of 9,216.
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

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_backend::conformance::noise;
    use coarsen_core::simd::{self, Kernel};

    struct Product<'a, S>(&'a [S], &'a [f64], &'a mut [f64]);

    impl<S: Real> Kernel<f64> for Product<'_, S> {
        type Output = ();
        #[inline(always)]
        fn run<I: Set<f64>>(self, set: I) {
            multiply(set, self.0, self.1, self.2);
        }
    }

    #[test]
    fn tiles_lie_one_after_the_other() {
        let places: Vec<usize> =
            [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)].map(|(i, j)| tile(3, i, j) / AREA).to_vec();
        assert_eq!(places, [0, 1, 2, 3, 4, 5]);
        assert_eq!((length(17), length(24), length(96)), (6 * 64, 6 * 64, 4992));
        assert_eq!(entry(3, 9, 2), 64 + 2 * 8 + 1);
    }

    #[test]
    fn products_are_those_of_the_whole_matrix() {
        for m in [1, 3, 8, 9, 48, 96, 100] {
            let n = side(m) * SIDE;
            let values = noise(m * m, 5);
            let at = |i: usize, j: usize| values[i.max(j) * m + i.min(j)];
            let mut packed = vec![0.0_f64; length(m)];
            for (i, j) in (0..m).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                packed[entry(side(m), i, j)] = at(i, j);
                if i / SIDE == j / SIDE {
                    packed[tile(side(m), i / SIDE, j / SIDE) + i % SIDE * SIDE + j % SIDE] = at(i, j);
                }
            }
            let mut x = noise(n, 6);
            x[m..].fill(7.0); // padding is multiplied by zeros
            let mut y = vec![f64::NAN; n];
            simd::run(Product(&packed, &x, &mut y));
            for i in 0..m {
                let sum: f64 = (0..m).map(|j| at(i, j) * x[j]).sum();
                assert!((y[i] - sum).abs() < 1e-13 * m as f64, "{m}: row {i}");
            }
            let single: Vec<f32> = packed.iter().map(|&v| v as f32).collect();
            let mut z = vec![0.0; n];
            simd::run(Product(&single, &x, &mut z));
            assert!((0..m).all(|i| (y[i] - z[i]).abs() < 1e-5 * m as f64));
        }
    }
}
