//! Device memory, and views of numbers as bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use coarsen_core::{Error, Real};

use crate::Device;
use crate::driver::{Driver, Object, Type};

/// The size of the smallest buffer in bytes; drivers reject buffers of 0 bytes.
const LEAST: usize = 8;

/// The memory of a device: total bytes, and bytes in use by this backend and by all backends.
///
/// A driver may accept an allocation that does not fit and fail only when the buffer is first used. So each
/// request is first compared with the memory that the device reports.
pub(crate) struct Memory {
    all: u64,
    /// The largest size of one buffer in bytes.
    most: u64,
    used: Arc<Used>,
    /// Whether the host and the device share this memory.
    pub(crate) shared: bool,
}

/// A buffer in device memory, and the type of its entries.
pub(crate) struct Buffer {
    pub(crate) object: Object,
    pub(crate) entry: Type,
    /// The size of the buffer in bytes.
    size: usize,
    _share: Share,
}

impl Buffer {
    /// Checks that the buffer holds `bytes` bytes from byte `start` on.
    ///
    /// # Errors
    /// [`Error::Shape`] if it does not; the driver is not called then.
    pub(crate) fn check(&self, start: usize, bytes: usize) -> Result<(), Error> {
        let (expected, found) = (self.size, start.saturating_add(bytes));
        if found <= expected {
            return Ok(());
        }
        Err(Error::Shape { what: "bytes of a device buffer", expected, found })
    }
}

struct Used {
    of_backend: AtomicU64,
    of_device: Arc<AtomicU64>,
}

/// The part of the memory of a backend and of its device that a buffer uses.
struct Share {
    bytes: u64,
    of: Arc<Used>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.of_backend.fetch_sub(self.bytes, Ordering::Relaxed);
        self.of.of_device.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Memory {
    pub(crate) fn of(device: &Device) -> Self {
        let Device { memory, most, used, shared, .. } = device;
        let used = Used { of_backend: AtomicU64::new(0), of_device: used.clone() };
        Self { all: *memory, most: *most, used: Arc::new(used), shared: *shared }
    }

    /// Returns the total size in bytes of all buffers of the backend that exist now.
    pub(crate) fn taken(&self) -> u64 {
        self.used.of_backend.load(Ordering::Relaxed)
    }

    /// Checks that `needed` more bytes can be allocated, in one or several buffers.
    pub(crate) fn check_memory(&self, needed: u64) -> Result<(), Error> {
        let available = self.all.saturating_sub(self.used.of_device.load(Ordering::Relaxed));
        if needed <= available { Ok(()) } else { Err(Error::Memory { needed, available }) }
    }

    /// Takes `bytes` bytes, if there are as many; backends of several threads cannot take the same ones.
    fn take(&self, bytes: u64) -> Result<Share, Error> {
        let taken = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.all);
        if let Err(used) = self.used.of_device.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken) {
            return Err(Error::Memory { needed: bytes, available: self.all.saturating_sub(used) });
        }
        self.used.of_backend.fetch_add(bytes, Ordering::Relaxed);
        Ok(Share { bytes, of: self.used.clone() })
    }

    /// Allocates at least [`LEAST`] bytes, initialized with `host` if given; a short `host` is padded with
    /// zeros.
    pub(crate) fn allocate(
        &self,
        driver: &mut dyn Driver,
        entry: Type,
        bytes: usize,
        host: Option<&[u8]>,
    ) -> Result<Buffer, Error> {
        self.check_memory(bytes as u64)?;
        if bytes as u64 > self.most {
            let what = "a vector, a list or a block diagonal";
            return Err(Error::Allocation { what, row: None, needed: bytes as u64, limit: self.most });
        }
        if let Some(found) = host.map(<[u8]>::len).filter(|&found| found != bytes) {
            return Err(Error::Shape {
                what: "bytes that a device buffer begins with",
                expected: bytes,
                found,
            });
        }
        let mut padded = [0; LEAST];
        let host = match host {
            Some([]) | None => None,
            Some(short) if short.len() < LEAST => {
                padded[..short.len()].copy_from_slice(short);
                Some(&padded[..])
            }
            long => long,
        };
        let size = bytes.max(LEAST);
        let share = self.take(bytes as u64)?;
        let object = driver.allocate(size, host)?;
        Ok(Buffer { object, entry, size, _share: share })
    }
}

/// Converts numbers to another precision, on this thread alone.
///
/// The caller holds the lock of the queue. A thread of a pool that waits runs other tasks meanwhile. Such a
/// task may lock the same queue, which would be a deadlock.
pub(crate) fn convert<T: Real, S: Real>(from: &[T], to: &mut [S]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to());
}

pub(crate) fn bytes<T: Real>(x: &[T]) -> &[u8] {
    // SAFETY: `Real` is sealed to f32 and f64, which have no padding.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) }
}

pub(crate) fn bytes_mut<T: Real>(x: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes`; any bytes are valid numbers.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), size_of_val(x)) }
}

pub(crate) fn bytes_of_indices(x: &[u32]) -> &[u8] {
    // SAFETY: u32 has no padding.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) }
}

pub(crate) fn bytes_of_indices_mut(x: &mut [u32]) -> &mut [u8] {
    // SAFETY: as in `bytes_of_indices`; any bytes are valid indices.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), size_of_val(x)) }
}
