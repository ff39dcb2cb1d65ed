//! One pool of threads for all calls, so that the global pool of rayon is left to the caller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{mem, process};

use coarsen::Error;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::status::{Failure, call, coarsen_status, raise};

/// The pool, and the process that started it.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The pool of this process. A fork has no threads of its parent, so the pool that it has a copy of is left as it is.
fn pool() -> MutexGuard<'static, Option<(u32, Arc<ThreadPool>)>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    mem::forget(pool.take_if(|(of, _)| *of != process::id()));
    pool
}

fn start(threads: usize) -> Result<Arc<ThreadPool>, Failure> {
    let named = |i| format!("coarsen-{i}");
    let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(named).build();
    Ok(Arc::new(built.map_err(|_| raise(Error::Threads { threads }))?))
}

/// What crosses to a thread of the pool while the caller waits.
struct Waiting<T>(T);

// SAFETY: `run` is the only user, and its caller has promised this.
unsafe impl<T> Send for Waiting<T> {}

/// Runs `work` on the pool while this thread waits.
///
/// # Safety
/// What `work` captures and returns may be used on another thread while this thread waits: it refers to no value of this thread
/// (`Rc`, thread-local) that anything else uses meanwhile.
pub(crate) unsafe fn run<R>(work: impl FnOnce() -> R) -> Result<R, Failure> {
    let pool = {
        let mut pool = pool();
        match &*pool {
            Some((_, pool)) => pool.clone(),
            None => pool.insert((process::id(), start(0)?)).1.clone(),
        }
    };
    let work = Waiting(work);
    let run = move || {
        let Waiting(work) = { work };
        Waiting(work())
    };
    Ok(pool.install(run).0)
}

/// Sets the number of threads of later calls; 0, the default, is one for each core. Running calls keep theirs.
#[unsafe(no_mangle)]
pub extern "C" fn coarsen_set_threads(threads: usize) -> coarsen_status {
    call(|| {
        let started = start(threads)?;
        *pool() = Some((process::id(), started));
        Ok(())
    })
}
