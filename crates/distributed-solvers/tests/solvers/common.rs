//! Ranks as threads, numbers and bits.

use std::time::Duration;

use coarsen_distributed::ThreadComm;

pub(crate) use coarsen_backend::conformance::noise;

/// The numbers of ranks of most tests.
pub(crate) const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

/// Runs `f` on every rank and returns the results; a rank that panics fails the test.
pub(crate) fn on_ranks<R: Send>(ranks: usize, f: impl Fn(ThreadComm) -> R + Sync) -> Vec<R> {
    let all = ThreadComm::run(ranks, Duration::from_secs(60), f);
    all.into_iter().map(|one| one.unwrap_or_else(|e| panic!("{e}"))).collect()
}

pub(crate) fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| v.to_bits()).collect()
}
