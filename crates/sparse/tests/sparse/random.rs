//! Random matrices and vectors for tests of this crate and of other crates that include this file.

use coarsen_core::SplitMix64;
use coarsen_sparse::{Bsr, assembly};

/// n numbers in [-1, 1).
pub(crate) fn vector(n: usize, seed: u64) -> Vec<f64> {
    SplitMix64::new(seed).numbers(n)
}

/// About `per_row` full blocks at random columns of each block row; some rows and columns stay empty.
pub(crate) fn matrix(
    rows: usize,
    columns: usize,
    block: (usize, usize),
    per_row: usize,
    seed: u64,
) -> Bsr<f64> {
    let below = |n: usize, v: f64| ((v + 1.0) / 2.0 * n as f64) as u32;
    let count = rows * per_row;
    let numbers = vector(count * (2 + block.0 * block.1), seed);
    let (at, values) = numbers.split_at(2 * count);
    let places: Vec<(u32, u32)> =
        at.chunks_exact(2).map(|at| (below(rows, at[0]), below(columns, at[1]))).collect();
    assembly::from_blocks((rows, columns), block, &places, values).unwrap()
}
