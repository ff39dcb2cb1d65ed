//! How often the host has waited for a backend, and what was moved to it and back.

use std::ops::Sub;

/// The transfers between host and backend since the backend was made, or between two counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Synchronisations of the host with the backend: each transfer that ends a queue of commands, and each number that is read.
    pub synchronisations: u64,
    /// Transfers to the backend, also those that fill new memory.
    pub uploads: u64,
    /// Their bytes.
    pub sent: u64,
    /// Transfers to the host.
    pub downloads: u64,
    /// Their bytes.
    pub received: u64,
}

impl Sub for Transfers {
    type Output = Self;

    /// What was counted after `earlier`.
    fn sub(self, earlier: Self) -> Self {
        Self {
            synchronisations: self.synchronisations - earlier.synchronisations,
            uploads: self.uploads - earlier.uploads,
            sent: self.sent - earlier.sent,
            downloads: self.downloads - earlier.downloads,
            received: self.received - earlier.received,
        }
    }
}
