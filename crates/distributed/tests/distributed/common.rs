//! Ranks as threads, systems and layouts, for all tests.

use std::sync::Arc;
use std::time::Duration;

use coarsen_core::SplitMix64;
use coarsen_distributed::{
    Communicator, DistMatrix, GlobalRows, Layout, Partition, Schedule, Spmv, ThreadComm,
};
use coarsen_problems::{cloth, elasticity3d, poisson2d};
use coarsen_sparse::Bsr;

/// The numbers of ranks of most tests.
pub(crate) const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

/// The number of block rows per leaf of reproducible reductions; small, so that tests have many leaves.
pub(crate) const LEAF: usize = 4;

/// Runs `f` on every rank and returns the results; a rank that panics fails the test.
pub(crate) fn on_ranks<R: Send>(ranks: usize, f: impl Fn(ThreadComm) -> R + Sync) -> Vec<R> {
    let all = ThreadComm::run(ranks, Duration::from_secs(60), f);
    all.into_iter().map(|one| one.unwrap_or_else(|e| panic!("{e}"))).collect()
}

pub(crate) fn noise(n: usize, seed: u64) -> Vec<f64> {
    SplitMix64::new(seed.wrapping_mul(SplitMix64::GAMMA) | 1).numbers(n)
}

/// Symmetric positive definite systems with blocks of 1 and 3.
pub(crate) fn systems() -> Vec<(&'static str, Bsr<f64>)> {
    vec![
        ("poisson2d", poisson2d(13).unwrap().matrix),
        ("elasticity3d", elasticity3d(4, 1.0).unwrap().matrix),
        ("cloth", cloth(11, 0.002).unwrap().matrix),
    ]
}

/// Layouts of `rows` block rows: even, uneven, and with empty ranks at both ends and in between.
pub(crate) fn layouts(rows: usize, block: usize, ranks: usize) -> Vec<Layout> {
    let n = rows as u64;
    let uneven = (0..=ranks as u64).map(|k| n * k * k / (ranks * ranks) as u64).collect();
    let empty = (0..=ranks)
        .map(|k| {
            if k <= ranks / 2 {
                0
            } else if k < ranks {
                n / 3
            } else {
                n
            }
        })
        .collect();
    let at_end = (0..=ranks).map(|k| if k == 0 { 0 } else { n }).collect();
    vec![
        Layout::even(n, block, ranks).unwrap(),
        Layout::new(uneven, block).unwrap(),
        Layout::new(empty, block).unwrap(),
        Layout::new(at_end, block).unwrap(),
    ]
}

/// All schedules for a number of ranks.
pub(crate) fn schedules(ranks: usize) -> Vec<(&'static str, Schedule)> {
    let mut all =
        vec![("ring", Schedule::ring(ranks).unwrap()), ("pairwise", Schedule::pairwise(ranks).unwrap())];
    if ranks.is_power_of_two() {
        all.push(("work queues", Schedule::work_queues(ranks).unwrap()));
    }
    all
}

/// All modes of products.
pub(crate) fn modes(ranks: usize) -> Vec<Spmv> {
    let whole =
        schedules(ranks).into_iter().flat_map(|(_, s)| [Spmv::Blocking(s.clone()), Spmv::Pipelined(s)]);
    whole.chain([Spmv::Halo, Spmv::Reproducible]).collect()
}

/// The rows of this rank of a matrix that every rank has.
pub(crate) fn cut<C: Communicator>(a: &Bsr<f64>, on: &Arc<Partition<C>>, mode: Spmv) -> DistMatrix<C> {
    let rows = GlobalRows::of(a, on.layout().range(on.rank())).unwrap();
    DistMatrix::new(on, on, &rows, mode).unwrap()
}

/// The largest difference, relative to the largest |y|.
pub(crate) fn distance(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    let largest = y.iter().fold(f64::MIN_POSITIVE, |m, y| m.max(y.abs()));
    x.iter().zip(y).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs())) / largest
}

pub(crate) fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| v.to_bits()).collect()
}
