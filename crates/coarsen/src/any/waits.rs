//! How often the host has waited for a place, and what was moved to it and back.

use std::ops::Sub;

use coarsen_backend::Cpu;
use coarsen_core::Real;

use super::AnyBackend;

/// The transfers between host and place since the place was made, or between two counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Waits of the host: each transfer that ends a queue of commands, and each number that is read.
    pub waits: u64,
    /// Transfers to the place, also those that fill new memory.
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
            waits: self.waits - earlier.waits,
            uploads: self.uploads - earlier.uploads,
            sent: self.sent - earlier.sent,
            downloads: self.downloads - earlier.downloads,
            received: self.received - earlier.received,
        }
    }
}

/// A place that counts how often the host has waited for it, and what was moved. *Use* to see what a method costs on a
/// device, where a wait takes longer than a small kernel.
pub trait Waits {
    /// Returns the transfers since the place was made; none on the CPU.
    fn transfers(&self) -> Transfers;

    /// Returns the number of waits since the place was made; 0 on the CPU.
    fn waits(&self) -> u64 {
        self.transfers().waits
    }
}

impl<V: Real, S: Real> Waits for Cpu<V, S> {
    fn transfers(&self) -> Transfers {
        Transfers::default()
    }
}

impl<V: Real, S: Real> Waits for AnyBackend<V, S> {
    fn transfers(&self) -> Transfers {
        match self {
            Self::Cpu(_) => Transfers::default(),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => {
                let now = on.counters();
                let (waits, uploads, sent) = (now.waits, now.uploads, now.sent);
                Transfers { waits, uploads, sent, downloads: now.downloads, received: now.received }
            }
        }
    }
}
