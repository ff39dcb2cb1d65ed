//! How often the host has waited for a place.

use coarsen_backend::Cpu;
use coarsen_core::Real;

use super::AnyBackend;

/// A place that counts how often the host has waited for it: each transfer that ends a queue of commands, and each
/// number that is read. *Use* to see what a method costs on a device, where a wait takes longer than a small kernel.
pub trait Waits {
    /// Returns the number of waits since the place was made; 0 on the CPU.
    fn waits(&self) -> u64;
}

impl<V: Real, S: Real> Waits for Cpu<V, S> {
    fn waits(&self) -> u64 {
        0
    }
}

impl<V: Real, S: Real> Waits for AnyBackend<V, S> {
    fn waits(&self) -> u64 {
        match self {
            Self::Cpu(_) => 0,
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.counters().waits,
        }
    }
}
