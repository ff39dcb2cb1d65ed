//! Cancelling a setup from another thread.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A flag that cancels a setup: another thread sets it, and long setups read it between their steps.
///
/// Pass it to a setup in `System::cancel`. To end a solve, use a [`Monitor`](crate::Monitor) instead. The
/// flag stays set until it is [reset](Self::reset).
///
/// ```
/// let cancel = coarsen_core::Cancel::new();
/// std::thread::scope(|s| {
///     s.spawn(|| cancel.cancel());
/// });
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Debug, Default)]
pub struct Cancel(AtomicBool);

impl Cancel {
    /// A flag that is not set.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Sets the flag.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Clears the flag, for the next setup.
    pub fn reset(&self) {
        self.0.store(false, Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}
