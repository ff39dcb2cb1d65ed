//! The devices of a machine.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use coarsen_core::Real;

use crate::driver::Open;

/// A device: its reported properties, and the function that opens it.
#[derive(Clone)]
pub struct Device {
    /// Its name, such as `pthread-skylake-avx512`.
    pub name: String,
    /// The platform it belongs to, such as `Portable Computing Language`.
    pub platform: String,
    /// The version of its driver.
    pub driver: String,
    /// The number of compute units: cores of a processor, multiprocessors of a GPU.
    pub units: u32,
    /// The size of its global memory in bytes.
    pub memory: u64,
    /// Whether it computes in `f64`.
    pub double: bool,
    /// Whether it is a GPU or another accelerator, not the host's processor.
    pub accelerator: bool,
    /// Whether it uses the host's memory. Buffers are then mapped instead of copied.
    pub shared: bool,
    /// The largest size of one buffer in bytes.
    pub most: u64,
    /// The largest number of items in a work group.
    pub width: usize,
    /// The size of the local memory of a work group in bytes.
    pub local: usize,
    /// The size in bytes of the buffers of all backends on it in this process.
    pub used: Arc<AtomicU64>,
    /// Opens a queue on it.
    pub open: Arc<Open>,
}

impl Device {
    /// Whether it supports vectors of `T`.
    pub fn computes<T: Real>(&self) -> bool {
        size_of::<T>() == 4 || self.double
    }

    /// Returns the first accelerator that supports `T`, or otherwise the first device that does.
    pub fn first<T: Real>(all: &[Self]) -> Option<&Self> {
        let able = || all.iter().filter(|d| d.computes::<T>());
        able().find(|d| d.accelerator).or_else(|| able().next())
    }
}

coarsen_core::debug_as_display!(Device);

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = if self.double { "f32, f64" } else { "f32" };
        let gigabytes = self.memory as f64 / f64::from(1 << 30);
        write!(
            f,
            "{} ({} {}): {} units, {gigabytes:.1} GiB, {precision}",
            self.name, self.platform, self.driver, self.units
        )
    }
}
