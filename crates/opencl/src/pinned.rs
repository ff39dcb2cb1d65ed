//! Memory of the host that a device copies without help of the host.

use std::slice;

use ocl::core::{CommandQueue, Context, Mem};
use ocl::ffi;

use crate::handle::Handle;
use crate::transfer;

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
        let buffer = transfer::create(context, ffi::CL_MEM_ALLOC_HOST_PTR, bytes.max(8), None).ok()?;
        let flags = ffi::CL_MAP_READ | ffi::CL_MAP_WRITE;
        let there = transfer::map(queue, &buffer, flags, bytes.max(8)).ok()?;
        Some(Self { queue: Handle::new(queue.clone()), buffer, there, bytes })
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
        // A failure leaks the memory. SAFETY: `there` is a mapping of this buffer, and is not used afterwards.
        let _ = unsafe { transfer::unmap(&self.queue, &self.buffer, self.there) };
    }
}
