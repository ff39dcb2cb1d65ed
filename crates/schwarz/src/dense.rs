//! Conversion of a domain matrix between blocks and tiles.

use coarsen_backend::DenseBlocks;
use coarsen_core::Real;

use crate::eliminate::Workspace;
use crate::packed::{AREA, SIDE, entry, side, tile};

/// The smallest pivot for which a diagonal block, scaled to a unit diagonal, counts as positive definite.
const POSITIVE: f64 = 1e-6;

/// Adds the scaled block at nodes (a, c), c ≤ a, of a domain. If a = c, only its lower part is added.
#[inline(always)]
pub(crate) fn add<T: Real, E: Real>(w: &mut [E], n: usize, [a, c]: [usize; 2], block: &[T], scale: &[f64]) {
    match block.len() {
        1 => add_block::<1, T, E>(w, n, [a, c], block, scale),
        4 => add_block::<2, T, E>(w, n, [a, c], block, scale),
        9 => add_block::<3, T, E>(w, n, [a, c], block, scale),
        36 => add_block::<6, T, E>(w, n, [a, c], block, scale),
        _ => add_block::<0, T, E>(w, n, [a, c], block, scale),
    }
}

/// As [`add`]; `B` is the block size if it has its own kernel, otherwise 0.
#[inline(always)]
fn add_block<const B: usize, T: Real, E: Real>(
    w: &mut [E],
    n: usize,
    [a, c]: [usize; 2],
    block: &[T],
    scale: &[f64],
) {
    let b = if B == 0 { block.len().isqrt() } else { B };
    let (rows, columns) = (&scale[a * b..(a + 1) * b], &scale[c * b..(c + 1) * b]);
    for q in 0..b {
        let column = c * b + q;
        // The index of an entry is the sum of a term for its column and a term for its row.
        let first = tile(n, column / SIDE, column / SIDE) - column / SIDE * AREA + column % SIDE * SIDE;
        for p in if a == c { q } else { 0 }..b {
            let row = a * b + p;
            let v = block[p * b + q].as_f64() * (columns[q] * rows[p]);
            w[first + row / SIDE * AREA + row % SIDE] += E::from_f64(v);
        }
    }
}

/// Writes the matrix M + `raise` I, scaled to S M S, to storage.
pub(crate) fn write<E: Real, S: Real>(m: &[E], scale: &[f64], n: usize, raise: f64, out: &mut [S]) {
    for j in 0..n {
        for i in j..n {
            let tile = tile(n, i, j)..tile(n, i, j) + AREA;
            let (columns, rows) = (m[tile.clone()].as_chunks::<SIDE>().0, scale.as_chunks::<SIDE>().0[i]);
            let out = out[tile].as_chunks_mut::<SIDE>().0;
            for ((from, to), s) in columns.iter().zip(out).zip(&scale[j * SIDE..]) {
                (0..SIDE).for_each(|r| to[r] = S::from_f64(from[r].as_f64() * (s * rows[r])));
            }
        }
    }
    if raise > 0.0 {
        for (k, s) in scale[..n * SIDE].iter().enumerate() {
            let at = entry(n, k, k);
            out[at] = S::from_f64((m[at].as_f64() + raise) * (s * s));
        }
    }
}

/// The largest trace of a trusted inverse, as a multiple of one over the smallest trusted pivot.
///
/// No pivot bounds the smallest eigenvalue from below: a pivot can be 10⁵ times as large.
const LARGEST: f64 = 10.0;

/// Whether the inverse of a matrix with a unit diagonal can be trusted; returns its trace.
pub(crate) fn trusted<E: Real>(least: E, m: &[E], n: usize, trust: f64) -> Option<f64> {
    if least.as_f64() <= trust || least.is_nan() {
        return None;
    }
    let trace: f64 = (0..n * SIDE).map(|k| m[entry(n, k, k)].as_f64()).sum();
    (trace * trust <= LARGEST).then_some(trace)
}

/// Returns what to add to the diagonal of the inverse M of a matrix A with a unit diagonal, so that M is still positive
/// definite after it is rounded to `S`; 0 if it is so without.
///
/// > λ_min(M) ≥ 1 / tr A = 1 / m,    ‖rounding to S‖₂ ≤ u_S tr M,    ‖rounding of its sums to E‖₂ ≤ m u_E tr M
///
/// since |M_ij| ≤ √(M_ii M_jj), and M = L⁻ᵀ D⁻¹ L⁻¹ is a sum of m products. Twice the bound also covers the rounding of
/// what is added.
pub(crate) fn raise<E: Real, S: Real>(trace: f64, n: usize) -> f64 {
    let rows = (n * SIDE) as f64;
    let raise = (S::EPSILON.as_f64() + rows * E::EPSILON.as_f64()) * trace; // EPSILON is 2 u
    if raise * rows <= 1.0 { 0.0 } else { raise }
}

/// Replaces a scaled matrix by the inverses of its diagonal blocks. If a block is not positive definite, its
/// diagonal is inverted instead.
pub(crate) fn block_diagonal(w: &mut Workspace<f64>, b: usize, n: usize) {
    let rows = n * SIDE;
    let mut inverses = vec![0.0; rows.next_multiple_of(b) * b];
    for (node, inverse) in inverses.chunks_exact_mut(b * b).enumerate() {
        let at = |r: usize, c: usize| {
            let (r, c) = (node * b + r.max(c), node * b + r.min(c));
            if r < rows { w.values()[entry(n, r, c)] } else { f64::from(u8::from(r == c)) }
        };
        let block: Vec<f64> = (0..b * b).map(|k| at(k / b, k % b)).collect();
        let mut small = Workspace::<f64>::new(b);
        let tiles = side(b);
        for (r, c) in (0..b).flat_map(|r| (0..=r).map(move |c| (r, c))) {
            small.values_mut()[entry(tiles, r, c)] = block[r * b + c];
        }
        small.mirror(tiles);
        (b..tiles * SIDE).for_each(|k| small.values_mut()[entry(tiles, k, k)] = 1.0);
        let positive = small.invert(tiles) > POSITIVE;
        if !(positive && DenseBlocks::invert_one(&block, inverse, b)) {
            inverse.fill(0.0);
            inverse.iter_mut().step_by(b + 1).for_each(|v| *v = 1.0);
        }
    }
    w.clear(n);
    for (node, inverse) in inverses.chunks_exact(b * b).enumerate() {
        for (r, c) in (0..b * b).map(|k| (k / b, k % b)) {
            let (row, column) = (node * b + r, node * b + c);
            if row >= column && row < rows {
                w.values_mut()[entry(n, row, column)] = inverse[r * b + c];
            }
        }
    }
    w.mirror(n);
}
