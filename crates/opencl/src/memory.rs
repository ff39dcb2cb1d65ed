//! Device memory, and numbers as bytes.

use std::ffi::c_void;
use std::ptr;

use coarsen_core::{Error, Real};
use ocl::core::{self, Mem};
use ocl::ffi;

use crate::Counters;
use crate::error::check;

/// Device memory and the type of its entries.
pub(crate) struct Buffer {
    pub(crate) mem: Mem,
    pub(crate) entry: &'static str,
}

/// Device memory of at least 8 bytes (zero is not allowed), holding `host` where given.
pub(crate) fn allocate(
    context: &core::Context,
    counters: &mut Counters,
    entry: &'static str,
    bytes: usize,
    host: Option<&[u8]>,
) -> Result<Buffer, Error> {
    let host = host.filter(|h| !h.is_empty());
    let copy = if host.is_some() { ffi::CL_MEM_COPY_HOST_PTR } else { 0 };
    let source = host.map_or(ptr::null(), <[u8]>::as_ptr);
    let mut status = 0;
    debug_assert!(host.is_none_or(|h| h.len() == bytes));
    // SAFETY: `source` is null or as long as the buffer, and is copied before the call returns.
    let mem = unsafe {
        let (flags, source) = (ffi::CL_MEM_READ_WRITE | copy, source.cast::<c_void>().cast_mut());
        ffi::clCreateBuffer(context.as_ptr(), flags, bytes.max(8), source, &mut status)
    };
    check("clCreateBuffer", status)?;
    counters.allocations += 1;
    // SAFETY: the call succeeded, so `mem` is a buffer with one reference, which the value takes over.
    Ok(Buffer { mem: unsafe { Mem::from_raw_create_ptr(mem) }, entry })
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
