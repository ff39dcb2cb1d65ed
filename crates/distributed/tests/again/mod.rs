//! The bytes that all ranks allocate in a second call.

use std::sync::Mutex;

use coarsen_distributed::Communicator;

use crate::counting;

/// Runs `solve` on every rank, and returns the bytes that all ranks allocate while they run it again.
pub(crate) fn again<C: Communicator>(comm: &C, bytes: &Mutex<usize>, mut solve: impl FnMut()) -> usize {
    solve();
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
