//! The start and the end of MPI.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading, is_finalized, is_initialized};

use crate::waiting::until;
use crate::{MpiError, ffi};

/// The exit code of a group that stops because of a fault.
pub(crate) const FAULT: i32 = 6;

/// A running MPI that this crate has started. Dropping it ends MPI.
///
/// The end of MPI waits for all processes, without a limit. So all processes first meet at a barrier with a
/// deadline: twice the longest one of all communicators, so that a rank that waits for one that has ended says so
/// first, with rank and stage. A process that misses it, a process that panics, and a group with a fault are aborted.
pub(crate) struct Session {
    /// Ends MPI when it is dropped, which is after the barrier.
    _universe: Universe,
    /// The longest deadline of a communicator.
    deadline: Mutex<Duration>,
    /// The text of the fault after which MPI must be aborted.
    fault: Mutex<Option<String>>,
    rank: AtomicUsize,
}

static SESSION: Mutex<Weak<Session>> = Mutex::new(Weak::new());

fn known() -> std::sync::MutexGuard<'static, Weak<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// The session that this crate started, which is started now if MPI does not run; `None` if the program has
    /// started MPI itself.
    pub(crate) fn get() -> Result<Option<Arc<Self>>, MpiError> {
        if is_finalized() {
            return Err(MpiError::NotRunning);
        }
        let mut known = known();
        if let Some((universe, level)) = initialize_with_threading(Threading::Serialized) {
            if level < Threading::Serialized {
                return Err(MpiError::OneThread);
            }
            let session = Arc::new(Self {
                _universe: universe,
                deadline: Mutex::default(), // each communicator allows its own
                fault: Mutex::default(),
                rank: AtomicUsize::new(0),
            });
            *known = Arc::downgrade(&session);
            return Ok(Some(session));
        }
        Ok(known.upgrade())
    }

    /// The session that this crate started before.
    pub(crate) fn running() -> Option<Arc<Self>> {
        if is_initialized() { known().upgrade() } else { None }
    }

    pub(crate) fn set_rank(&self, rank: usize) {
        self.rank.store(rank, Ordering::Relaxed);
    }

    /// The end waits longer than a communicator with this deadline.
    pub(crate) fn allow(&self, deadline: Duration) {
        let mut longest = self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        *longest = deadline.max(*longest);
    }

    /// Notes the first fault of the group, after which MPI must be aborted.
    pub(crate) fn stop(&self, fault: &str) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| fault.to_owned());
    }

    /// Why the other processes will not reach the end.
    fn at_the_end(&self) -> Option<String> {
        if std::thread::panicking() {
            return Some("a panic; its message is above".to_owned());
        }
        if let Some(fault) = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Some(fault);
        }
        let mut barrier = match ffi::barrier(ffi::world()) {
            Ok(barrier) => barrier,
            Err(fault) => return Some(fault),
        };
        let deadline = self.deadline.lock().unwrap_or_else(PoisonError::into_inner).saturating_mul(2);
        match until(deadline, || barrier.test().map(|done| done.then_some(()))) {
            Ok(Some(())) => None,
            Ok(None) => {
                let waited = deadline.as_secs_f64();
                Some(format!(
                    "it waited {waited} s for the other ranks at the end of MPI; a rank hangs or has died"
                ))
            }
            Err(fault) => Some(fault),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(why) = self.at_the_end() {
            let line = format!("rank {} aborts all ranks: {why}\n", self.rank.load(Ordering::Relaxed));
            let _ = std::io::stderr().write_all(line.as_bytes()); // in one piece, since other ranks print too
            ffi::abort(ffi::world(), FAULT);
        }
    }
}
