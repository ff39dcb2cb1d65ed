//! Copies between the host and a device.
//!
//! If they share memory, buffers are mapped, and the host reads and writes them without a copy.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::{ptr, slice};

use coarsen_core::Error;
use coarsen_device::Access;
use ocl::core::{CommandQueue, Mem};
use ocl::ffi::{self, cl_event};

use crate::error::check;

/// A mapped buffer, which is always unmapped. Otherwise a panic of the caller would leave it mapped, and the
/// next use of the buffer would be undefined.
struct Mapping<'a> {
    queue: &'a CommandQueue,
    buffer: &'a Mem,
    there: *mut c_void,
}

impl Mapping<'_> {
    /// Enqueues the unmapping.
    fn end(self) -> Result<(), Error> {
        let status = ManuallyDrop::new(self).unmap();
        check("clEnqueueUnmapMemObject", status)
    }

    fn unmap(&self) -> i32 {
        let (queue, buffer) = (self.queue.as_ptr(), self.buffer.as_ptr());
        // SAFETY: `there` is a mapping of this buffer. `end` and `drop` consume it, so it is not used
        // afterwards.
        unsafe { ffi::clEnqueueUnmapMemObject(queue, buffer, self.there, 0, ptr::null(), ptr::null_mut()) }
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // The panic in progress is more important than this status.
        let _ = self.unmap();
    }
}

/// Enqueues a copy of `from` to `to`.
pub(crate) fn copy(queue: &CommandQueue, from: &Mem, to: &Mem, bytes: usize) -> Result<(), Error> {
    let (queue, from, to) = (queue.as_ptr(), from.as_ptr(), to.as_ptr());
    // SAFETY: both buffers hold `bytes` bytes or more, and the queue retains them.
    let status =
        unsafe { ffi::clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, ptr::null(), ptr::null_mut()) };
    check("clEnqueueCopyBuffer", status)
}

/// Waits for all earlier work, maps the first `bytes` bytes of a buffer and calls `with` on them.
pub(crate) fn map_buffer(
    queue: &CommandQueue,
    buffer: &Mem,
    bytes: usize,
    access: Access,
    with: &mut dyn FnMut(&mut [u8]),
) -> Result<(), Error> {
    let flags = match access {
        Access::Read => ffi::CL_MAP_READ,
        Access::Overwrite => ffi::CL_MAP_WRITE_INVALIDATE_REGION,
    };
    let mut status = 0;
    // SAFETY: the buffer holds `bytes` bytes; the call blocks until the host may use them.
    let there = unsafe {
        ffi::clEnqueueMapBuffer(
            queue.as_ptr(),
            buffer.as_ptr(),
            ffi::CL_TRUE,
            flags,
            0,
            bytes,
            0,
            ptr::null(),
            ptr::null_mut(),
            &mut status,
        )
    };
    check("clEnqueueMapBuffer", status)?;
    let mapping = Mapping { queue, buffer, there };
    // SAFETY: the mapping has `bytes` bytes, and no other code uses it until it ends.
    with(unsafe { slice::from_raw_parts_mut(there.cast::<u8>(), bytes) });
    mapping.end()
}

/// Reads from a buffer and waits for the data.
pub(crate) fn read(queue: &CommandQueue, from: &Mem, start: usize, host: &mut [u8]) -> Result<(), Error> {
    // SAFETY: the call blocks until `host` is written, and the buffer holds `start + host.len()` bytes.
    let status = unsafe {
        ffi::clEnqueueReadBuffer(
            queue.as_ptr(),
            from.as_ptr(),
            ffi::CL_TRUE,
            start,
            host.len(),
            host.as_mut_ptr().cast(),
            0,
            ptr::null(),
            ptr::null_mut(),
        )
    };
    check("clEnqueueReadBuffer", status)
}

/// Overwrites ranges of a buffer. Waits once for all ranges.
pub(crate) fn write(queue: &CommandQueue, to: &Mem, runs: &[(usize, &[u8])]) -> Result<(), Error> {
    if let [(start, host)] = runs {
        return check("clEnqueueWriteBuffer", write_now(queue, to, *start, host, ptr::null_mut()));
    }
    let written = runs.iter().try_for_each(|(start, host)| {
        let status = enqueue_write(queue, to, *start, host, ffi::CL_FALSE, ptr::null_mut());
        check("clEnqueueWriteBuffer", status)
    });
    // The driver may still read `host`, even after an error, so wait until it has finished.
    written.and(finish(queue))
}

/// Writes to a buffer and waits for it; returns the status. `event` is null or has room for an event.
pub(crate) fn write_now(
    queue: &CommandQueue,
    to: &Mem,
    start: usize,
    host: &[u8],
    event: *mut cl_event,
) -> i32 {
    enqueue_write(queue, to, start, host, ffi::CL_TRUE, event)
}

/// Enqueues a write, and waits for it if `blocking`. Otherwise `host` must stay alive and unchanged until
/// [`finish`] returns. Returns the status.
fn enqueue_write(
    queue: &CommandQueue,
    to: &Mem,
    start: usize,
    host: &[u8],
    blocking: u32,
    event: *mut cl_event,
) -> i32 {
    // SAFETY: the buffer holds `start + host.len()` bytes. `host` is read before this returns, or lives until
    // the caller has waited. `event` is null or has room for an event.
    unsafe {
        ffi::clEnqueueWriteBuffer(
            queue.as_ptr(),
            to.as_ptr(),
            blocking,
            start,
            host.len(),
            host.as_ptr().cast::<c_void>().cast_mut(),
            0,
            ptr::null(),
            event,
        )
    }
}

/// Starts what a queue has.
pub(crate) fn flush(queue: &CommandQueue) -> Result<(), Error> {
    // SAFETY: the queue is alive.
    check("clFlush", unsafe { ffi::clFlush(queue.as_ptr()) })
}

/// Waits for everything enqueued so far.
pub(crate) fn finish(queue: &CommandQueue) -> Result<(), Error> {
    // SAFETY: the queue is alive.
    check("clFinish", unsafe { ffi::clFinish(queue.as_ptr()) })
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use coarsen_device::{Access, Driver};
    use ocl::core::{self, MemInfo, MemInfoResult};

    use crate::devices;
    use crate::driver::buffer;

    /// After a panic of the caller, the buffer is unmapped and the driver can be used.
    #[test]
    fn a_panic_gives_a_mapped_buffer_back() {
        let Ok([device, ..]) = devices() else { return println!("skipped: no device") };
        let mut device = device.clone();
        device.shared = true;
        let mut driver: Box<dyn Driver> = (device.open)(&device).unwrap();
        let x = driver.allocate(8, Some(&[3; 8])).unwrap();
        let mut panics = |_: &mut [u8]| panic!("of the closure");
        let caught =
            catch_unwind(AssertUnwindSafe(|| driver.map_buffer(&x, 8, Access::Overwrite, &mut panics)));
        assert!(caught.is_err());
        driver.finish().unwrap();
        let mapped = core::get_mem_object_info(buffer(&x), MemInfo::MapCount).unwrap();
        assert!(matches!(mapped, MemInfoResult::MapCount(0)), "{mapped:?}");
        driver.write(&x, &[(0, &[5; 8])]).unwrap();
        let mut found = [0; 8];
        driver.read(&x, 0, &mut found).unwrap();
        assert_eq!(found, [5; 8]);
    }
}
