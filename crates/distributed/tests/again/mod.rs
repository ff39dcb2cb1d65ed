//! The bytes that all ranks allocate in a second call.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use coarsen_distributed::Communicator;

use crate::counting;

/// Waits for the threads of earlier groups, which allocate at their end; elsewhere than on Linux it
/// does not know them. Each of the `ranks` has a thread and a pool of one.
fn wait_for_earlier_threads(ranks: usize) {
    let others = || std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1 + 2 * ranks);
    let start = Instant::now();
    while others() {
        assert!(start.elapsed() < Duration::from_secs(30), "threads of an earlier group do not end");
        std::thread::yield_now();
    }
}

/// Runs `solve` on every rank, and returns the bytes that all ranks allocate while they run it again.
pub(crate) fn again<C: Communicator>(comm: &C, bytes: &Mutex<usize>, mut solve: impl FnMut()) -> usize {
    solve();
    wait_for_earlier_threads(comm.size());
    comm.barrier().unwrap();
    let mut both = || {
        comm.barrier().unwrap();
        solve();
        comm.barrier().unwrap();
    };
    if comm.rank() == 0 {
        *bytes.lock().unwrap() = counting::bytes(both);
    } else {
        both();
    }
    comm.barrier().unwrap();
    *bytes.lock().unwrap()
}
