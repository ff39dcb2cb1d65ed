//! Memory of the host that a device copies without help of the host.

use std::{ptr, slice};

use ocl::core::{CommandQueue, Context, Mem};
use ocl::ffi;

use crate::handle::Handle;

/// A buffer in memory of the host, which drivers of GPUs pin, mapped as long as it lives. No kernel uses it.
pub(crate) struct Pinned {
    queue: Handle<CommandQueue>,
    buffer: Handle<Mem>,
    there: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping has no other user, and functions of OpenCL may be called from any thread.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Returns pinned memory; `None` if the driver has none of this size.
    pub(crate) fn new(context: &Context, queue: &CommandQueue, bytes: usize) -> Option<Self> {
        let mut status = 0;
        let flags = ffi::CL_MEM_READ_WRITE | ffi::CL_MEM_ALLOC_HOST_PTR;
        // SAFETY: a buffer without contents of the host.
        let mem = unsafe {
            ffi::clCreateBuffer(context.as_ptr(), flags, bytes.max(8), ptr::null_mut(), &mut status)
        };
        if status != ffi::CL_SUCCESS {
            return None;
        }
        // SAFETY: the call succeeded, so `mem` is a buffer with one reference, which the handle owns.
        let buffer = Handle::new(unsafe { Mem::from_raw_create_ptr(mem) });
        let flags = ffi::CL_MAP_READ | ffi::CL_MAP_WRITE;
        // SAFETY: the buffer has `bytes` bytes; the call blocks until the host may use them.
        let there = unsafe {
            let (queue, buffer) = (queue.as_ptr(), buffer.as_ptr());
            ffi::clEnqueueMapBuffer(
                queue,
                buffer,
                ffi::CL_TRUE,
                flags,
                0,
                bytes.max(8),
                0,
                ptr::null(),
                ptr::null_mut(),
                &mut status,
            )
        };
        let there = there.cast::<u8>();
        (status == ffi::CL_SUCCESS).then(|| Self { queue: Handle::new(queue.clone()), buffer, there, bytes })
    }
}

impl AsMut<[u8]> for Pinned {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has `bytes` bytes, which any value fits, and lives as long as `self`, its only user.
        unsafe { slice::from_raw_parts_mut(self.there, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: `there` is a mapping of this buffer, and is not used afterwards. A failure leaks it.
        let _ = unsafe {
            let (queue, buffer) = (self.queue.as_ptr(), self.buffer.as_ptr());
            ffi::clEnqueueUnmapMemObject(queue, buffer, self.there.cast(), 0, ptr::null(), ptr::null_mut())
        };
    }
}
