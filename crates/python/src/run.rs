//! Work without the GIL, on a pool of threads, that Ctrl-C ends.

use std::process;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use coarsen::{Cancel, Error};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::raise;

/// The time between two questions for signals.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// The pools in use, by process (a fork has no threads of its parent) and number of threads.
static POOLS: Mutex<Vec<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(Vec::new());

/// Runs `work` on `threads` threads (`None` or 0: one for each core) while the GIL is released. After Ctrl-C the flag is set, and
/// the `KeyboardInterrupt` is returned once `work` has ended; work that does not look at the flag ends first.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce(&Cancel) -> R + Send,
) -> PyResult<R> {
    run_with(py, threads, &Cancel::new(), work)
}

/// [`run`] with a flag of the caller.
pub(crate) fn run_with<R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    cancel: &Cancel,
    work: impl FnOnce(&Cancel) -> R + Send,
) -> PyResult<R> {
    let (pool, mut result) = (pool(threads.unwrap_or(0))?, None);
    py.detach(|| {
        if rayon::current_thread_index().is_some() {
            // Called by a callback of a running solve: this thread is one of the pool.
            result = Some(work(cancel));
            return Ok(());
        }
        let mut signal = Ok(());
        pool.in_place_scope(|scope| {
            let (done, is_done) = channel::<()>();
            let result = &mut result;
            scope.spawn(move |_| {
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

/// The pool of this process with this number of threads.
pub(crate) fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if let Some((.., pool)) = pools.iter().find(|(of, n, _)| (*of, *n) == (process, threads)) {
        return Ok(pool.clone());
    }
    let named = |i| format!("pycoarsen-{i}");
    let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(named).build();
    let pool = Arc::new(built.map_err(|_| raise(Error::Threads { threads }))?);
    pools.push((process, threads, pool.clone()));
    Ok(pool)
}
