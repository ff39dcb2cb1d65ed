//! Loops until a call of MPI is complete.
//!
//! MPI makes progress while it is called, so waiting is calling again. A wait begins with a busy loop, since most
//! messages arrive within microseconds. It then yields its core to other ranks, and sleeps if that takes long.

use std::time::{Duration, Instant};

/// The number of busy rounds, some microseconds.
const BUSY: usize = 64;

/// The time until a wait sleeps between its rounds, and the length of a sleep.
const PATIENCE: Duration = Duration::from_millis(20);
const NAP: Duration = Duration::from_micros(50);

/// Calls `done` until it returns a value; `None` after the deadline.
pub(crate) fn until<R, E>(
    deadline: Duration,
    mut done: impl FnMut() -> Result<Option<R>, E>,
) -> Result<Option<R>, E> {
    for _ in 0..BUSY {
        if let Some(value) = done()? {
            return Ok(Some(value));
        }
        std::hint::spin_loop();
    }
    let begun = Instant::now();
    loop {
        if let Some(value) = done()? {
            return Ok(Some(value));
        }
        match begun.elapsed() {
            waited if waited >= deadline => return Ok(None),
            waited if waited >= PATIENCE => std::thread::sleep(NAP),
            _ => std::thread::yield_now(),
        }
    }
}
