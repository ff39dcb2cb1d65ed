//! Symmetric matrices packed in tiles, and their product with a vector (§7.1, Fig. 11 to 13).
//!
//! A symmetric matrix of m rows is cut into tiles of 8 x 8. The tiles on and below the diagonal are stored, block column after block
//! column, each tile by columns; those on the diagonal are stored whole. A 96 x 96 matrix takes 4,992 values instead of 9,216.
//!
//! Deviation: Wu et al. give every thread of a warp a row and walk it away from the diagonal, so that no two write the same
//! entry at once. A CPU core has wide registers instead: it reads a tile T once and adds T x_J to y_I and Tᵀ x_I to y_J, where
//! the eight columns of the second product stay in registers along the whole block column.

use coarsen_core::simd::prefetch;

use crate::simd::{Kernel, Lane, Lanes, dispatch};

/// Rows and columns of a tile.
pub(crate) const SIDE: usize = 8;

/// Values of a tile.
pub(crate) const AREA: usize = SIDE * SIDE;

/// Tiles along a side of a matrix of `m` rows.
pub(crate) fn side(m: usize) -> usize {
    m.div_ceil(SIDE)
}

/// Values of a packed matrix of `m` rows.
pub(crate) fn length(m: usize) -> usize {
    side(m) * (side(m) + 1) / 2 * AREA
}

/// How far ahead of its use a matrix is asked for, in bytes: a page, because the prefetchers of a processor stop at its end. What lies
/// ahead of the last tiles is the next matrix.
const AHEAD: usize = 4096;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Where tile (i, j), i ≥ j, of a matrix with `side` tiles along a side is stored.
#[inline(always)]
pub(crate) fn tile(side: usize, i: usize, j: usize) -> usize {
    tile_number(side, i, j) * AREA
}

/// The same, counted in tiles.
#[inline(always)]
pub(crate) fn tile_number(side: usize, i: usize, j: usize) -> usize {
    j * (2 * side + 1 - j) / 2 + (i - j)
}

/// Where entry (row, column), row ≥ column, is stored.
#[inline(always)]
pub(crate) fn entry(side: usize, row: usize, column: usize) -> usize {
    tile(side, row / SIDE, column / SIDE) + column % SIDE * SIDE + row % SIDE
}

/// y = M x, reading each stored value once.
///
/// `x` and `y` are padded to whole tiles; what the padding of y receives is what the padding of M holds.
#[inline]
pub(crate) fn multiply<S: Lane, V: Lane>(m: &[S], x: &[V], y: &mut [V]) {
    debug_assert!(x.len() == y.len() && x.len().is_multiple_of(SIDE) && m.len() == length(x.len()));
    dispatch(Multiply { m, x, y });
}

struct Multiply<'a, S, V> {
    m: &'a [S],
    x: &'a [V],
    y: &'a mut [V],
}

impl<S: Lane, V: Lane> Kernel for Multiply<'_, S, V> {
    type Out = ();
    type Of = V;

    #[inline(always)]
    fn run<L: Lanes<Of = V>>(self) {
        let (x, _) = self.x.as_chunks::<SIDE>();
        let (y, _) = self.y.as_chunks_mut::<SIDE>();
        let (columns, _) = self.m.as_chunks::<SIDE>();
        let (mut tiles, _) = columns.as_chunks::<SIDE>();
        y.fill([V::zero(); SIDE]);
        for j in 0..x.len() {
            let (diagonal, rest) = tiles.split_at(1);
            let (column, rest) = rest.split_at(x.len() - 1 - j);
            tiles = rest;
            let xj: [L; SIDE] = std::array::from_fn(|c| L::splat(x[j][c]));
            let (yj, below) = y[j..].split_at_mut(1);
            let mut sum = L::load(&yj[0]);
            for c in 0..SIDE {
                sum = S::widen::<L>(&diagonal[0][c]).times_plus(xj[c], sum);
            }
            // The columns of Σ Tᵀ x_I stay in registers.
            let mut transposed = [L::splat(V::zero()); SIDE];
            for ((t, xi), yi) in column.iter().zip(&x[j + 1..]).zip(below) {
                let (xi, mut s) = (L::load(xi), L::load(yi));
                for c in 0..SIDE {
                    if (c * size_of::<[S; SIDE]>()).is_multiple_of(LINE) {
                        prefetch(t[c].as_ptr().cast::<u8>().wrapping_add(AHEAD));
                    }
                    let t = S::widen::<L>(&t[c]);
                    s = t.times_plus(xj[c], s);
                    transposed[c] = t.times_plus(xi, transposed[c]);
                }
                s.store(yi);
            }
            sum.store(&mut yj[0]);
            for c in 0..SIDE {
                let mut p = [V::zero(); SIDE];
                transposed[c].store(&mut p);
                yj[0][c] += ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_backend::conformance::noise;

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
            multiply(&packed, &x, &mut y);
            for i in 0..m {
                let sum: f64 = (0..m).map(|j| at(i, j) * x[j]).sum();
                assert!((y[i] - sum).abs() < 1e-13 * m as f64, "{m}: row {i}");
            }
            let single: Vec<f32> = packed.iter().map(|&v| v as f32).collect();
            let mut z = vec![0.0_f64; n];
            multiply(&single, &x, &mut z);
            assert!((0..m).all(|i| (y[i] - z[i]).abs() < 1e-5 * m as f64));
        }
    }
}
