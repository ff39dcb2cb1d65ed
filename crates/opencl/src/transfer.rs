//! Copies between the host and a device.
//!
//! If they share memory, buffers are mapped, and the host reads and writes them without a copy.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::{ptr, slice};

use coarsen_core::Error;
use coarsen_device::Access;
use ocl::core::{CommandQueue, Context, Mem};
use ocl::ffi::{self, cl_event};

use crate::error::check;
use crate::handle::Handle;

/// Creates a buffer. If `host` is given, it has the length of the buffer, and is copied.
pub(crate) fn create(
    context: &Context,
    more_flags: u64,
    bytes: usize,
    host: Option<&[u8]>,
) -> Result<Handle<Mem>, Error> {
    let copy = if host.is_some() { ffi::CL_MEM_COPY_HOST_PTR } else { 0 };
    let source = host.map_or(ptr::null(), <[u8]>::as_ptr).cast::<c_void>().cast_mut();
    let flags = ffi::CL_MEM_READ_WRITE | copy | more_flags;
    let mut status = 0;
    // SAFETY: `source` is null or has the length of the buffer, and is copied before the call returns.
    let mem = unsafe { ffi::clCreateBuffer(context.as_ptr(), flags, bytes, source, &mut status) };
    check("clCreateBuffer", status)?;
    // SAFETY: the call succeeded, so `mem` is a buffer with one reference, which the handle owns.
    Ok(Handle::new(unsafe { Mem::from_raw_create_ptr(mem) }))
}

/// Maps the first bytes of a buffer, after all commands enqueued so far, and synchronises.
pub(crate) fn map(queue: &CommandQueue, buffer: &Mem, flags: u64, bytes: usize) -> Result<*mut u8, Error> {
    let (queue, buffer, mut status) = (queue.as_ptr(), buffer.as_ptr(), 0);
    let (blocking, none) = (ffi::CL_TRUE, ptr::null());
    // SAFETY: the buffer holds `bytes` bytes; the call blocks until the host may use them.
    let there = unsafe {
        ffi::clEnqueueMapBuffer(
            queue,
            buffer,
            blocking,
            flags,
            0,
            bytes,
            0,
            none,
            ptr::null_mut(),
            &mut status,
        )
    };
    check("clEnqueueMapBuffer", status)?;
    Ok(there.cast())
}

/// Enqueues the end of a mapping; returns the status.
///
/// # Safety
/// `there` is a mapping of the buffer, and is not used afterwards.
pub(crate) unsafe fn unmap(queue: &CommandQueue, buffer: &Mem, there: *mut u8) -> i32 {
    let (queue, buffer) = (queue.as_ptr(), buffer.as_ptr());
    // SAFETY: by the contract of this function.
    unsafe { ffi::clEnqueueUnmapMemObject(queue, buffer, there.cast(), 0, ptr::null(), ptr::null_mut()) }
}

/// Calls `with` on the first `bytes` bytes of a mapped buffer, which is always unmapped: after a panic of the caller, the
/// next use of a mapped buffer would be undefined.
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
    let there = map(queue, buffer, flags, bytes)?;
    // SAFETY: the mapping has `bytes` bytes, and no other code uses it until it ends.
    let there_bytes = unsafe { slice::from_raw_parts_mut(there, bytes) };
    let done = catch_unwind(AssertUnwindSafe(|| with(there_bytes)));
    // SAFETY: the mapping above, which ends here.
    let status = unsafe { unmap(queue, buffer, there) };
    match done {
        Ok(()) => check("clEnqueueUnmapMemObject", status),
        Err(panic) => resume_unwind(panic),
    }
}

pub(crate) fn copy(queue: &CommandQueue, from: &Mem, to: &Mem, bytes: usize) -> Result<(), Error> {
    let (queue, from, to) = (queue.as_ptr(), from.as_ptr(), to.as_ptr());
    // SAFETY: both buffers hold `bytes` bytes or more, and the queue retains them.
    let status =
        unsafe { ffi::clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, ptr::null(), ptr::null_mut()) };
    check("clEnqueueCopyBuffer", status)
}

/// Reads from a buffer and synchronises.
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

/// Overwrites ranges of a buffer. Synchronises once for all ranges.
pub(crate) fn write(queue: &CommandQueue, to: &Mem, runs: &[(usize, &[u8])]) -> Result<(), Error> {
    if let [(start, host)] = runs {
        return check(
            "clEnqueueWriteBuffer",
            enqueue_write(queue, to, *start, host, ffi::CL_TRUE, ptr::null_mut()),
        );
    }
    let written = runs.iter().try_for_each(|(start, host)| {
        let status = enqueue_write(queue, to, *start, host, ffi::CL_FALSE, ptr::null_mut());
        check("clEnqueueWriteBuffer", status)
    });
    // The driver may still read `host`, even after an error, so wait until it has finished.
    written.and(finish(queue))
}

/// Enqueues a write, and synchronises if `blocking`. Otherwise `host` must stay alive and unchanged until
/// [`finish`] returns. Returns the status.
pub(crate) fn enqueue_write(
    queue: &CommandQueue,
    to: &Mem,
    start: usize,
    host: &[u8],
    blocking: u32,
    event: *mut cl_event,
) -> i32 {
    // SAFETY: the buffer holds `start + host.len()` bytes. `host` is read before this returns, or lives until
    // the caller has waited. `event` is null or points to memory for an event.
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
