//! Device memory, and numbers as bytes.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use coarsen_core::{Error, Real};
use ocl::core::{self, Mem};
use ocl::ffi;

use crate::Device;
use crate::error::check;
use crate::handle::Handle;

/// Bytes of the smallest buffer: zero is not allowed.
const LEAST: usize = 8;

/// Bytes of a place: how many there are, how many are taken.
///
/// A driver may promise memory that it does not have, and fail when it is used; what the device says of itself is checked first.
pub(crate) struct Memory {
    all: u64,
    /// The most that one buffer may have.
    most: u64,
    taken: Arc<AtomicU64>,
    /// Whether the host works in the same memory.
    pub(crate) shared: bool,
}

/// Device memory and the type of its entries.
pub(crate) struct Buffer {
    pub(crate) mem: Handle<Mem>,
    pub(crate) entry: &'static str,
    _share: Share,
}

/// What a buffer takes of the memory of its place.
struct Share {
    bytes: u64,
    taken: Arc<AtomicU64>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Memory {
    pub(crate) fn of(device: &Device) -> Self {
        Self { all: device.memory, most: device.most, taken: Arc::default(), shared: device.shared }
    }

    /// Bytes of all buffers that live.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Whether so many bytes more, in several buffers, are to be had.
    pub(crate) fn check_room(&self, needed: u64) -> Result<(), Error> {
        let available = self.all.saturating_sub(self.taken());
        if needed <= available { Ok(()) } else { Err(Error::Memory { needed, available }) }
    }

    /// Device memory of at least [`LEAST`] bytes, holding `host` where given, and then zeros.
    pub(crate) fn allocate(
        &self,
        context: &core::Context,
        entry: &'static str,
        bytes: usize,
        host: Option<&[u8]>,
    ) -> Result<Buffer, Error> {
        self.check_room(bytes as u64)?;
        if bytes as u64 > self.most {
            return Err(Error::Memory { needed: bytes as u64, available: self.most });
        }
        debug_assert!(host.is_none_or(|h| h.len() == bytes));
        let mut padded = [0; LEAST];
        let host = match host {
            Some([]) | None => None,
            Some(short) if short.len() < LEAST => {
                padded[..short.len()].copy_from_slice(short);
                Some(&padded[..])
            }
            long => long,
        };
        let copy = if host.is_some() { ffi::CL_MEM_COPY_HOST_PTR } else { 0 };
        let place = if self.shared { ffi::CL_MEM_ALLOC_HOST_PTR } else { 0 };
        let source = host.map_or(ptr::null(), <[u8]>::as_ptr);
        let mut status = 0;
        // SAFETY: `source` is null or as long as the buffer, and is copied before the call returns.
        let mem = unsafe {
            let flags = ffi::CL_MEM_READ_WRITE | copy | place;
            let source = source.cast::<c_void>().cast_mut();
            ffi::clCreateBuffer(context.as_ptr(), flags, bytes.max(LEAST), source, &mut status)
        };
        check("clCreateBuffer", status)?;
        // SAFETY: the call succeeded, so `mem` is a buffer with one reference, which the value takes over.
        let mem = Handle::new(unsafe { Mem::from_raw_create_ptr(mem) });
        self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
        let share = Share { bytes: bytes as u64, taken: self.taken.clone() };
        Ok(Buffer { mem, entry, _share: share })
    }
}

/// The same numbers in another precision, by this thread alone.
///
/// Whoever fills a buffer holds the queue of its place. A thread of a pool that waits for others takes up whatever else is waiting there, which may want the
/// same queue, and would then wait for itself.
pub(crate) fn convert<T: Real, S: Real>(from: &[T], to: &mut [S]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to());
}

/// The bytes of numbers.
pub(crate) fn bytes<T: Real>(x: &[T]) -> &[u8] {
    // SAFETY: `Real` is sealed to f32 and f64, which have no padding.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) }
}

/// The bytes of numbers, to be written.
pub(crate) fn bytes_mut<T: Real>(x: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes`; any bytes are numbers.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), size_of_val(x)) }
}

/// The bytes of indices.
pub(crate) fn bytes_of_indices(x: &[u32]) -> &[u8] {
    // SAFETY: u32 has no padding.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) }
}

/// The bytes of indices, to be written.
pub(crate) fn bytes_of_indices_mut(x: &mut [u32]) -> &mut [u8] {
    // SAFETY: as in `bytes_of_indices`; any bytes are indices.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), size_of_val(x)) }
}

#[cfg(test)]
mod tests {
    use crate::{OpenCl, OpenClError};

    /// A list of one entry takes that entry, and not what follows it on the host.
    #[test]
    fn short_lists_are_padded() {
        let on = match OpenCl::<f32>::default_device() {
            Ok(on) => on,
            Err(why @ (OpenClError::Absent(_) | OpenClError::Precision { .. })) => {
                return println!("skipped: {why}");
            }
            Err(why) => panic!("{why}"),
        };
        let (host, mut found) = ([3, 4], [7; 2]);
        let mut queue = on.queue();
        let there = queue.list(&host[..1]).unwrap();
        queue.read_list(&there, &mut found).unwrap();
        assert_eq!(found, [3, 0]);
    }
}
