//! Work without the GIL, on a pool of threads, that Ctrl-C ends.

use std::cell::RefCell;
use std::process;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use coarsen::{Cancel, Error};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::raise;

/// The time between two questions for signals.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// The pools that no call uses, by process (a fork has no threads of its parent) and number of threads.
static IDLE: Mutex<Vec<(u32, usize, ThreadPool)>> = Mutex::new(Vec::new());

thread_local! {
    /// The flags of the runs that work on this thread, the innermost last.
    static RUNNING: RefCell<Vec<Arc<Cancel>>> = const { RefCell::new(Vec::new()) };
}

/// The flag of the run that called Python on this thread, if one did.
pub(crate) fn outer() -> Option<Arc<Cancel>> {
    RUNNING.with_borrow(|running| running.last().cloned())
}

/// A pool that one call uses. Two calls never share a pool: a worker that waits would take up the other call, on the stack of the first
/// one and under its locks.
struct PoolGuard(usize, Option<ThreadPool>);

impl PoolGuard {
    fn pool(&self) -> &ThreadPool {
        self.1.as_ref().expect("until it is dropped")
    }
}

impl Drop for PoolGuard {
    fn drop(&mut self) {
        idle().extend(self.1.take().map(|pool| (process::id(), self.0, pool)));
    }
}

fn idle() -> MutexGuard<'static, Vec<(u32, usize, ThreadPool)>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An idle pool of this process with this number of threads, or a new one.
fn idle_pool(threads: usize) -> PyResult<PoolGuard> {
    let mut pools = idle();
    let process = process::id();
    if let Some(i) = pools.iter().position(|(of, n, _)| (*of, *n) == (process, threads)) {
        return Ok(PoolGuard(threads, Some(pools.swap_remove(i).2)));
    }
    drop(pools);
    let named = |i| format!("pycoarsen-{i}");
    let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(named).build();
    Ok(PoolGuard(threads, Some(built.map_err(|_| raise(Error::Threads { threads }))?)))
}

/// Keeps the flag of a run until it is dropped, also by a panic.
struct Running;

impl Running {
    fn new(cancel: &Arc<Cancel>) -> Self {
        RUNNING.with_borrow_mut(|running| running.push(cancel.clone()));
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.pop());
    }
}

/// Runs `work` on `threads` threads (`None` or 0: one for each core) while the GIL is released. After Ctrl-C the flag is set, and
/// the `KeyboardInterrupt` is returned once `work` has ended; work that does not check the flag ends first.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce(&Arc<Cancel>) -> R + Send,
) -> PyResult<R> {
    if rayon::current_thread_index().is_some() {
        // Called by a callback of a running solve: this thread is one of its pool, and Ctrl-C sets its flag.
        let cancel = outer().unwrap_or_default();
        return Ok(py.detach(|| work(&cancel)));
    }
    let (guard, mut result) = (idle_pool(threads.unwrap_or(0))?, None);
    py.detach(|| {
        let (cancel, mut signal) = (Arc::new(Cancel::new()), Ok(()));
        guard.pool().in_place_scope(|scope| {
            let (done, is_done) = channel::<()>();
            let (result, cancel) = (&mut result, &cancel);
            scope.spawn(move |_| {
                let _running = Running::new(cancel);
                *result = Some(work(cancel));
                drop(done);
            });
            while is_done.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if signal.is_ok() {
                    signal = Python::attach(|py| py.check_signals());
                    if signal.is_err() {
                        cancel.cancel();
                    }
                }
            }
        });
        signal
    })?;
    Ok(result.expect("the work has ended"))
}
