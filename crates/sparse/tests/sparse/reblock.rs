//! Conversion between block sizes, and their detection.

use coarsen_core::parallel;
use coarsen_sparse::{Pattern, SparseError, Zeros, assembly, block_sizes, detect_block_size};

use crate::random;

/// The number of runs of consecutive rows in the sample of a large pattern.
const RUNS: usize = 16;
/// The number of rows per run.
const RUN: usize = 120;

#[test]
fn entries_survive_any_block_size() {
    let a = random::matrix(12, 18, (2, 2), 4, 1);
    for block in [(1, 1), (2, 3), (3, 2), (6, 6), (24, 36), (4, 1)] {
        for zeros in [Zeros::Keep, Zeros::Drop] {
            let b = a.reblock(block, zeros).unwrap();
            assert!((0..24).all(|i| (0..36).all(|j| a.get(i, j) == b.get(i, j))), "{block:?}");
        }
    }
    assert!(matches!(a.reblock((5, 1), Zeros::Keep), Err(SparseError::BlockSize { .. })));
    assert!(matches!(a.reblock((1, 0), Zeros::Keep), Err(SparseError::BlockSize { .. })));
}

#[test]
fn to_scalars_and_back_is_the_identity() {
    let a = random::matrix(700, 500, (3, 6), 5, 2);
    let there = parallel::threads(3, || a.reblock((1, 1), Zeros::Keep).unwrap()).unwrap();
    assert_eq!(there.nnz(), a.nnz());
    assert_eq!(there.reblock((3, 6), Zeros::Keep).unwrap(), a);
}

#[test]
fn stored_zeros_stay_or_go() {
    let a = assembly::from_triplets(4, 4, &[(0, 0, 1.0), (0, 1, 0.0), (3, 0, 0.0)]).unwrap();
    let nnz = |block, zeros| a.reblock(block, zeros).unwrap().nnz();
    assert_eq!((nnz((1, 1), Zeros::Keep), nnz((1, 1), Zeros::Drop)), (3, 1));
    assert_eq!((nnz((2, 2), Zeros::Keep), nnz((2, 2), Zeros::Drop)), (8, 4));
}

#[test]
fn counted_blocks_are_the_blocks_made() {
    let a = random::matrix(120, 240, (1, 1), 7, 3);
    for b in block_sizes(a.pattern()) {
        let made = a.reblock((b.size, b.size), Zeros::Keep).unwrap();
        assert_eq!(b.blocks, made.pattern().len());
        assert_eq!(b.fill, a.nnz() as f64 / made.nnz() as f64);
    }
}

#[test]
fn gathered_blocks_equal_those_of_the_general_path() {
    let a = random::matrix(900, 1200, (1, 1), 9, 4);
    for block in [(2, 3), (3, 3), (12, 5), (1, 4)] {
        let general = a.reblock((36, 60), Zeros::Keep).unwrap().reblock(block, Zeros::Drop).unwrap();
        assert_eq!(a.reblock(block, Zeros::Keep).unwrap(), general, "{block:?}");
    }
}

/// A scalar matrix in which the sampled rows look like full blocks but the rows between the samples do not.
#[test]
fn a_sample_that_deceives_is_found_out() {
    let n = 6 * 2 * RUNS * RUN;
    let blocked = |i: usize| (0..RUNS).any(|run| (run * (n - RUN) / (RUNS - 1)).abs_diff(i) <= RUN + 12);
    let scalar = |i: usize| (0..8).map(move |k| (i * 7919 + k * 104_729) % n);
    let mut offsets = vec![0];
    let mut columns: Vec<u32> = Vec::new();
    for i in 0..n {
        let mut row: Vec<usize> =
            if blocked(i) { (i / 3 * 3..i / 3 * 3 + 3).collect() } else { scalar(i).collect() };
        row.sort_unstable();
        row.dedup();
        columns.extend(row.iter().map(|&j| j as u32));
        offsets.push(columns.len());
    }
    let pattern = Pattern::new(n, offsets, columns).unwrap();
    assert_eq!(detect_block_size(&pattern), 1);
    let chain: Vec<(u32, u32)> = (0..(n / 3) as u32).map(|i| (i, i)).collect();
    let blocks = assembly::from_blocks((n / 3, n / 3), (3, 3), &chain, &vec![1.0; chain.len() * 9]).unwrap();
    assert_eq!(detect_block_size(blocks.reblock((1, 1), Zeros::Keep).unwrap().pattern()), 3);
}

#[test]
fn nodes_of_a_grid_are_found() {
    for b in [1, 2, 3, 6] {
        let chain: Vec<(u32, u32)> =
            (0..60_u32).flat_map(|i| [(i, i.saturating_sub(1)), (i, i), (i, (i + 1).min(59))]).collect();
        let values = vec![1.0; chain.len() * b * b];
        let a = assembly::from_blocks((60, 60), (b, b), &chain, &values).unwrap();
        let scalars = a.reblock((1, 1), Zeros::Keep).unwrap();
        assert_eq!(detect_block_size(scalars.pattern()), b);
    }
    assert_eq!(detect_block_size(&Pattern::new(6, vec![0; 7], vec![]).unwrap()), 1);
}

/// The sample of a large pattern includes the last rows.
#[test]
fn nodes_are_found_behind_a_head_of_scalars() {
    let n = 18_000_usize;
    let mut offsets = vec![0];
    let mut columns: Vec<u32> = Vec::new();
    for i in 0..n {
        match i < 500 {
            true => columns.push(i as u32),
            false => columns.extend((i / 3 * 3..i / 3 * 3 + 3).map(|j| j as u32)),
        }
        offsets.push(columns.len());
    }
    assert_eq!(detect_block_size(&Pattern::new(n, offsets, columns).unwrap()), 3);
}

/// Counts that end early give the size that complete counts give, for blocks with ever more holes.
#[test]
fn the_best_size_has_the_fewest_bytes() {
    let mut found = Vec::new();
    for (b, holes) in [1_usize, 2, 3, 4, 6].into_iter().flat_map(|b| (0..10).map(move |holes| (b, holes))) {
        let n = 240_usize;
        let stored = |i: usize, j: usize| i == j || (i * 7919 + j * 104_729) % 13 > holes;
        let mut offsets = vec![0];
        let mut columns = Vec::new();
        for i in 0..n {
            let near = (i / b).saturating_sub(1) * b..((i / b + 2) * b).min(n);
            columns.extend(near.filter(|&j| stored(i, j)).map(|j| j as u32));
            offsets.push(columns.len());
        }
        let pattern = Pattern::new(n, offsets, columns).unwrap();
        let half_full = block_sizes(&pattern).into_iter().rev().filter(|size| size.fill >= 0.5);
        let best = half_full.min_by_key(|size| size.bytes).unwrap();
        assert_eq!(detect_block_size(&pattern), best.size, "{b}, {holes}");
        found.push(best.size);
    }
    assert!([1, 2, 3].iter().all(|size| found.contains(size)));
}
