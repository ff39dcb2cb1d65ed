//! Ending a setup from outside.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A flag that another thread raises, and that long setups look at between their steps.
///
/// Hand it to a setup in `System::cancel`; solves end by their [`Monitor`](crate::Monitor). Once raised it stays so until it is [reset](Self::reset).
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
    /// A flag that is not raised.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Raises it.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Takes it back, for the next setup.
    pub fn reset(&self) {
        self.0.store(false, Relaxed);
    }

    /// Whether it is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}
