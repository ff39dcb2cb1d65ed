//! The part of OpenCL that coarsen calls, implemented with a CUDA driver and NVRTC, for benchmarks on
//! machines whose GPU has no OpenCL driver.
//!
//! ```text
//! cargo build --release -p coarsen-opencl --example opencl_on_cuda
//! COARSEN_OPENCL_LIB=target/release/examples/libopencl_on_cuda.so coarsen devices
//! ```
//!
//! `benches/gpu/run.sh` uses this library if it finds no OpenCL driver; the platform name in the table shows
//! this. The kernels are compiled from the same sources, preceded by `opencl.cuh`. All other code (queues,
//! formats, solvers) is unchanged. The handle of a buffer is its device address, so kernel arguments are
//! passed unchanged. Work is submitted in order to the default stream. Every process compiles its programs.
//!
//! | file | what |
//! |---|---|
//! | `lib` | platform, devices, contexts, queues, buffers |
//! | `program` | programs, kernels, launches |
//! | `cuda` | the two libraries, loaded at run time |
//! | `opencl.cuh` | OpenCL C in CUDA |
//! | `fake.cpp` | a fake GPU for the test: kernels compiled for the host, work items as fibers |

#![allow(non_snake_case, reason = "the names of OpenCL")]

mod cuda;
mod program;

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cuda::{Cuda, Handle, MOST_THREADS, PROCESSORS, SHARED_MEMORY};

const SUCCESS: i32 = 0;
const NO_DEVICE: i32 = -1;
const NO_BUFFER: i32 = -4;
const FAILED: i32 = -5;
const INVALID: i32 = -30;
const NO_PLATFORM: i32 = -1001;

/// An OpenCL context. It is also the queue of the context, because there is one in-order queue.
struct Context {
    device: i32,
    context: usize,
}

/// The buffers, by address, with their contexts.
static BUFFERS: LazyLock<Mutex<HashMap<u64, usize>>> = LazyLock::new(Mutex::default);

/// Converts a CUDA error to an OpenCL error and prints it, because the OpenCL number is less specific.
fn status(call: &str, code: i32) -> i32 {
    if code != 0 {
        eprintln!("opencl_on_cuda: {call} failed with CUDA error {code}");
    }
    if code == 0 { SUCCESS } else { FAILED }
}

/// The device of a handle; handles are numbered from 1.
fn device_of(handle: Handle) -> i32 {
    handle.addr() as i32 - 1
}

/// Makes the CUDA context of a queue or context current on this thread.
///
/// # Safety
/// `handle` must come from `clCreateContext` or `clCreateCommandQueue`.
unsafe fn enter<'a>(handle: Handle) -> Result<(&'static Cuda, &'a Context), i32> {
    let cuda = Cuda::get().map_err(|_| NO_PLATFORM)?;
    // SAFETY: the caller guarantees the handle; the context is never released.
    let context = unsafe { &*handle.cast::<Context>() };
    // SAFETY: `context` is a context of the driver.
    let code = unsafe { (cuda.set_context)(ptr::without_provenance_mut(context.context)) };
    if code == 0 { Ok((cuda, context)) } else { Err(status("cuCtxSetCurrent", code)) }
}

/// The result of a CUDA call.
fn checked(call: &str, code: i32) -> Result<(), i32> {
    match status(call, code) {
        SUCCESS => Ok(()),
        failed => Err(failed),
    }
}

/// Converts a result to a status.
fn ended(done: Result<(), i32>) -> i32 {
    done.err().unwrap_or(SUCCESS)
}

/// Writes the answer to an OpenCL query: its length, and its bytes if they fit.
///
/// # Safety
/// `value` must be null or hold `size` bytes. `size_needed` must be null or valid.
unsafe fn answer(bytes: &[u8], size: usize, value: *mut c_void, size_needed: *mut usize) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if !size_needed.is_null() {
            *size_needed = bytes.len();
        }
        if !value.is_null() {
            if size < bytes.len() {
                return INVALID;
            }
            ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), bytes.len());
        }
    }
    SUCCESS
}

/// Writes the list of handles 1, 2, ..., `count`.
///
/// # Safety
/// `list` must be null or hold `capacity` handles. `found` must be null or valid.
unsafe fn numbered(count: usize, capacity: u32, list: *mut Handle, found: *mut u32) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if !found.is_null() {
            *found = count as u32;
        }
        if !list.is_null() {
            (0..count.min(capacity as usize)).for_each(|k| *list.add(k) = ptr::without_provenance_mut(k + 1));
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clGetPlatformIDs(capacity: u32, list: *mut Handle, found: *mut u32) -> i32 {
    match Cuda::get() {
        // SAFETY: the arguments are those of OpenCL.
        Ok(_) => unsafe { numbered(1, capacity, list, found) },
        Err(missing) => {
            eprintln!("opencl_on_cuda: {missing}");
            NO_PLATFORM
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clGetPlatformInfo(
    _: Handle,
    _: u32,
    size: usize,
    value: *mut c_void,
    needed: *mut usize,
) -> i32 {
    // SAFETY: the arguments are those of OpenCL.
    unsafe { answer(b"CUDA through NVRTC, not OpenCL\0", size, value, needed) }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clGetDeviceIDs(
    _: Handle,
    _: u64,
    capacity: u32,
    list: *mut Handle,
    found: *mut u32,
) -> i32 {
    match Cuda::get() {
        // SAFETY: the arguments are those of OpenCL.
        Ok(cuda) => unsafe { numbered(cuda.devices(), capacity, list, found) },
        Err(_) => NO_DEVICE,
    }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clGetDeviceInfo(
    device: Handle,
    what: u32,
    size: usize,
    value: *mut c_void,
    needed: *mut usize,
) -> i32 {
    const GPU: u64 = 4;
    let Ok(cuda) = Cuda::get() else { return NO_DEVICE };
    let device = device_of(device);
    let bytes = match what {
        0x1000 => GPU.to_le_bytes().to_vec(),
        0x1002 => (cuda.attribute(device, PROCESSORS) as u32).to_le_bytes().to_vec(),
        0x1004 => cuda.attribute(device, MOST_THREADS).to_le_bytes().to_vec(),
        0x1010 | 0x101F => cuda.memory(device).to_le_bytes().to_vec(),
        0x1023 => cuda.attribute(device, SHARED_MEMORY).to_le_bytes().to_vec(),
        0x1032 => 63_u64.to_le_bytes().to_vec(), // f64 with all required capabilities
        0x1035 => 0_u32.to_le_bytes().to_vec(),
        0x102B => format!("{}\0", cuda.name(device)).into_bytes(),
        0x102D => format!("{}\0", cuda.version()).into_bytes(),
        _ => return INVALID,
    };
    // SAFETY: the arguments are those of OpenCL.
    unsafe { answer(&bytes, size, value, needed) }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clCreateContext(
    _: Handle,
    _: u32,
    devices: *const Handle,
    _: Handle,
    _: Handle,
    code: *mut i32,
) -> Handle {
    // SAFETY: there is at least one device.
    let device = device_of(unsafe { *devices });
    let mut context = ptr::null_mut();
    let done = Cuda::get().map_or(NO_PLATFORM, |cuda| {
        // SAFETY: the device has been listed.
        let code = unsafe { (cuda.retain_context)(&mut context, device) };
        status("cuDevicePrimaryCtxRetain", code)
    });
    // SAFETY: `code` is valid.
    unsafe { *code = done };
    // Kept until the process ends, because the number of retains and releases is not tracked.
    Box::into_raw(Box::new(Context { device, context: context.addr() })).cast()
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clGetContextInfo(
    context: Handle,
    _: u32,
    size: usize,
    value: *mut c_void,
    needed: *mut usize,
) -> i32 {
    // SAFETY: the context was created here.
    let device = unsafe { &*context.cast::<Context>() }.device as usize + 1;
    // SAFETY: the arguments are those of OpenCL.
    unsafe { answer(&device.to_le_bytes(), size, value, needed) }
}

#[unsafe(no_mangle)]
extern "system" fn clRetainContext(_: Handle) -> i32 {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "system" fn clReleaseContext(_: Handle) -> i32 {
    SUCCESS
}

/// The queue of a context is the context itself.
#[unsafe(no_mangle)]
unsafe extern "system" fn clCreateCommandQueue(context: Handle, _: Handle, _: u64, code: *mut i32) -> Handle {
    // SAFETY: `code` is valid.
    unsafe { *code = SUCCESS };
    context
}

#[unsafe(no_mangle)]
extern "system" fn clReleaseCommandQueue(_: Handle) -> i32 {
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clCreateBuffer(
    context: Handle,
    _: u64,
    bytes: usize,
    host: *const c_void,
    code: *mut i32,
) -> Handle {
    // SAFETY: the context was created here; `host` is null or as long as the buffer.
    let made = unsafe { enter(context) }.and_then(|(cuda, at)| unsafe {
        let mut address = 0;
        if (cuda.allocate)(&mut address, bytes) != 0 {
            return Err(NO_BUFFER);
        }
        if !host.is_null() {
            checked("cuMemcpyHtoD", (cuda.upload)(address, host, bytes))?;
        }
        BUFFERS.lock().unwrap_or_else(PoisonError::into_inner).insert(address, at.context);
        Ok(address)
    });
    // SAFETY: `code` is valid.
    unsafe { *code = made.err().unwrap_or(SUCCESS) };
    ptr::without_provenance_mut(made.unwrap_or(0) as usize)
}

/// The driver waits for work that uses the buffer.
#[unsafe(no_mangle)]
unsafe extern "system" fn clReleaseMemObject(buffer: Handle) -> i32 {
    let address = buffer.addr() as u64;
    let context = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
    let (Ok(cuda), Some(context)) = (Cuda::get(), context) else { return INVALID };
    // SAFETY: the buffer exists and has no other user.
    unsafe {
        (cuda.set_context)(ptr::without_provenance_mut(context));
        status("cuMemFree", (cuda.free)(address))
    }
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clEnqueueReadBuffer(
    queue: Handle,
    buffer: Handle,
    _: u32,
    start: usize,
    bytes: usize,
    host: *mut c_void,
    _: u32,
    _: Handle,
    _: Handle,
) -> i32 {
    // SAFETY: the arguments are those of OpenCL.
    ended(unsafe { enter(queue) }.and_then(|(cuda, _)| {
        let from = (buffer.addr() + start) as u64;
        // SAFETY: the caller guarantees both ranges.
        checked("cuMemcpyDtoH", unsafe { (cuda.download)(host, from, bytes) })
    }))
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clEnqueueWriteBuffer(
    queue: Handle,
    buffer: Handle,
    _: u32,
    start: usize,
    bytes: usize,
    host: *const c_void,
    _: u32,
    _: Handle,
    _: Handle,
) -> i32 {
    // SAFETY: the arguments are those of OpenCL.
    ended(unsafe { enter(queue) }.and_then(|(cuda, _)| {
        let to = (buffer.addr() + start) as u64;
        // SAFETY: the caller guarantees both ranges.
        checked("cuMemcpyHtoD", unsafe { (cuda.upload)(to, host, bytes) })
    }))
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clEnqueueCopyBuffer(
    queue: Handle,
    from: Handle,
    to: Handle,
    from_start: usize,
    to_start: usize,
    bytes: usize,
    _: u32,
    _: Handle,
    _: Handle,
) -> i32 {
    // SAFETY: the arguments are those of OpenCL.
    ended(unsafe { enter(queue) }.and_then(|(cuda, _)| {
        let [from, to] = [from.addr() + from_start, to.addr() + to_start].map(|at| at as u64);
        // SAFETY: the caller guarantees both ranges.
        checked("cuMemcpyDtoDAsync", unsafe { (cuda.copy)(to, from, bytes, ptr::null_mut()) })
    }))
}

#[unsafe(no_mangle)]
unsafe extern "system" fn clFinish(queue: Handle) -> i32 {
    // SAFETY: the queue was created here.
    ended(unsafe { enter(queue) }.and_then(|(cuda, _)| {
        // SAFETY: a context is current.
        checked("cuCtxSynchronize", unsafe { (cuda.synchronize)() })
    }))
}

/// Releases one reference of a counted object.
///
/// # Safety
/// `handle` must come from `Arc::into_raw` for a `T`, and own one reference.
unsafe fn release<T>(handle: Handle) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe { Arc::decrement_strong_count(handle.cast::<T>()) };
    SUCCESS
}
