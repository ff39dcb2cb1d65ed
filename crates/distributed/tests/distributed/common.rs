//! Ranks as threads, for all tests.

use std::time::Duration;

use coarsen_distributed::ThreadComm;

/// Runs `f` on every rank and returns the results; a rank that panics fails the test.
pub(crate) fn on_ranks<R: Send>(ranks: usize, f: impl Fn(ThreadComm) -> R + Sync) -> Vec<R> {
    let all = ThreadComm::run(ranks, Duration::from_secs(60), f);
    all.into_iter().map(|one| one.unwrap_or_else(|e| panic!("{e}"))).collect()
}
