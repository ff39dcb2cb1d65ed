//! Random matrices and vectors for the tests of this crate, and of those above that name this file.

use coarsen_sparse::{Bsr, assembly};

/// SplitMix64: the next number in [-1, 1).
pub(crate) fn number(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// n numbers in [-1, 1).
pub(crate) fn vector(n: usize, mut seed: u64) -> Vec<f64> {
    (0..n).map(|_| number(&mut seed)).collect()
}

/// About `per_row` full blocks at random places in each block row; some rows and columns stay empty.
pub(crate) fn matrix(
    rows: usize,
    columns: usize,
    block: (usize, usize),
    per_row: usize,
    mut seed: u64,
) -> Bsr<f64> {
    let below = |n: usize, v: f64| ((v + 1.0) / 2.0 * n as f64) as u32;
    let places: Vec<(u32, u32)> = (0..rows * per_row)
        .map(|_| (below(rows, number(&mut seed)), below(columns, number(&mut seed))))
        .collect();
    let values = vector(places.len() * block.0 * block.1, seed);
    assembly::from_blocks(block.0 * rows, block.1 * columns, block, &places, &values).unwrap()
}
