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
    /// Bytes of it.
    size: usize,
    _share: Share,
}

impl Buffer {
    /// Whether it has so many bytes from byte `start` on.
    ///
    /// # Errors
    /// [`Error::Shape`] where it has not, before the driver sees a pointer.
    pub(crate) fn check(&self, start: usize, bytes: usize) -> Result<(), Error> {
        let (expected, found) = (self.size, start.saturating_add(bytes));
        if found <= expected {
            return Ok(());
        }
        Err(Error::Shape { what: "bytes of a device buffer", expected, found })
    }
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
        Ok(Buffer { mem, entry, size: bytes.max(LEAST), _share: share })
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
    use coarsen_backend::Backend;
    use coarsen_core::Error;

    use crate::{OpenCl, OpenClError};

    /// Lengths are looked at in every build, before the driver is given a pointer.
    #[test]
    fn lengths_that_differ_are_refused() {
        let refused = |found: Result<(), Error>, expected, length| match found {
            Err(Error::Shape { expected: e, found: f, .. }) => assert_eq!((e, f), (expected, length)),
            other => panic!("{other:?}"),
        };
        // The first failure of a place is its last, so that each case has a place of its own.
        for case in 0..6 {
            let Ok(on) = OpenCl::<f32>::default_device() else { return println!("skipped: no device") };
            let [x, y] = [4, 8].map(|n| on.vector(&vec![1.0; n]).unwrap());
            let mut queue = on.queue();
            match case {
                0 => refused(queue.allocate("float", 64, Some(&[0; 60])).map(drop), 64, 60),
                1 => refused(queue.read(&x.memory, &mut [0.0_f32; 5]), 16, 20),
                2 => refused(queue.write(&x.memory, &[0.0_f32; 5]), 16, 20),
                3 => refused(queue.put(&x.memory, 5, |_: &mut [f32]| panic!("has no room")), 16, 20),
                4 => refused(queue.write_list(&x.memory, &[0; 6]), 16, 24),
                _ => {
                    queue.copy(&y.memory, &x.memory, 32);
                    refused(queue.finish(), 16, 32);
                }
            }
        }
    }

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
