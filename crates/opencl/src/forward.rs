//! The OpenCL functions that `cl-sys` declares for OpenCL 1.2. Each function forwards its calls to the
//! library of the machine.
//!
//! All pointers, handles and callbacks have one type, because only their size matters for forwarding.

use std::ffi::c_void;
use std::sync::OnceLock;

use crate::loader::{PLATFORM_NOT_FOUND, symbol};

/// A handle, an address or a callback.
type P = *mut c_void;

/// Defines functions that forward their calls, from the types of their parameters. They return a status, or, with a last
/// parameter for the status, which may be null, a handle or an address.
macro_rules! forward {
    // Each type gets a name, until there are no more types.
    (@ $kind:ident $name:ident [$type:ty $(, $types:ty)*] [$arg:ident $($args:ident)*] [$($done:tt)*]) => {
        forward!(@ $kind $name [$($types),*] [$($args)*] [$($done)* ($arg: $type)]);
    };
    (@ status $name:ident [] [$($rest:ident)*] [$(($arg:ident: $type:ty))*]) => {
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $name($($arg: $type),*) -> i32 {
            type Function = unsafe extern "system" fn($($type),*) -> i32;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            // SAFETY: the table below gives the types of the OpenCL standard.
            match FUNCTION.get_or_init(|| unsafe { symbol(stringify!($name)) }) {
                // SAFETY: the same arguments go to the function of the same name; the caller guarantees that
                // they are valid.
                Some(f) => unsafe { f($($arg),*) },
                None => PLATFORM_NOT_FOUND,
            }
        }
    };
    (@ handle $name:ident [] [$($rest:ident)*] [$(($arg:ident: $type:ty))*]) => {
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $name($($arg: $type,)* status: *mut i32) -> P {
            type Function = unsafe extern "system" fn($($type,)* *mut i32) -> P;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            // SAFETY: as above.
            match FUNCTION.get_or_init(|| unsafe { symbol(stringify!($name)) }) {
                // SAFETY: as above.
                Some(f) => unsafe { f($($arg,)* status) },
                None => {
                    // SAFETY: by the standard the address is null or valid.
                    if let Some(status) = unsafe { status.as_mut() } {
                        *status = PLATFORM_NOT_FOUND;
                    }
                    std::ptr::null_mut()
                }
            }
        }
    };
    ($kind:ident: $($name:ident($($type:ty),*);)*) => {
        $(forward!(@ $kind $name [$($type),*] [a b c d e f g h i j k l m n] []);)*
    };
}

forward! {
    status:
    clGetPlatformIDs(u32, P, P);
    clGetPlatformInfo(P, u32, usize, P, P);
    clGetDeviceIDs(P, u64, u32, P, P);
    clGetDeviceInfo(P, u32, usize, P, P);
    clCreateSubDevices(P, P, u32, P, P);
    clRetainDevice(P);
    clReleaseDevice(P);
    clRetainContext(P);
    clReleaseContext(P);
    clGetContextInfo(P, u32, usize, P, P);
    clRetainCommandQueue(P);
    clReleaseCommandQueue(P);
    clGetCommandQueueInfo(P, u32, usize, P, P);
    clRetainMemObject(P);
    clReleaseMemObject(P);
    clGetSupportedImageFormats(P, u64, u32, u32, P, P);
    clGetMemObjectInfo(P, u32, usize, P, P);
    clGetImageInfo(P, u32, usize, P, P);
    clSetMemObjectDestructorCallback(P, P, P);
    clRetainSampler(P);
    clReleaseSampler(P);
    clGetSamplerInfo(P, u32, usize, P, P);
    clRetainProgram(P);
    clReleaseProgram(P);
    clBuildProgram(P, u32, P, P, P, P);
    clUnloadCompiler();
    clCompileProgram(P, u32, P, P, u32, P, P, P, P);
    clGetProgramInfo(P, u32, usize, P, P);
    clGetProgramBuildInfo(P, P, u32, usize, P, P);
    clCreateKernelsInProgram(P, u32, P, P);
    clRetainKernel(P);
    clReleaseKernel(P);
    clSetKernelArg(P, u32, usize, P);
    clGetKernelInfo(P, u32, usize, P, P);
    clGetKernelArgInfo(P, u32, u32, usize, P, P);
    clGetKernelWorkGroupInfo(P, P, u32, usize, P, P);
    clWaitForEvents(u32, P);
    clGetEventInfo(P, u32, usize, P, P);
    clRetainEvent(P);
    clReleaseEvent(P);
    clSetUserEventStatus(P, i32);
    clSetEventCallback(P, i32, P, P);
    clGetEventProfilingInfo(P, u32, usize, P, P);
    clFlush(P);
    clFinish(P);
    clEnqueueReadBuffer(P, P, u32, usize, usize, P, u32, P, P);
    clEnqueueReadBufferRect(P, P, u32, P, P, P, usize, usize, usize, usize, P, u32, P, P);
    clEnqueueWriteBuffer(P, P, u32, usize, usize, P, u32, P, P);
    clEnqueueWriteBufferRect(P, P, u32, P, P, P, usize, usize, usize, usize, P, u32, P, P);
    clEnqueueFillBuffer(P, P, P, usize, usize, usize, u32, P, P);
    clEnqueueCopyBuffer(P, P, P, usize, usize, usize, u32, P, P);
    clEnqueueCopyBufferRect(P, P, P, P, P, P, usize, usize, usize, usize, u32, P, P);
    clEnqueueReadImage(P, P, u32, P, P, usize, usize, P, u32, P, P);
    clEnqueueWriteImage(P, P, u32, P, P, usize, usize, P, u32, P, P);
    clEnqueueFillImage(P, P, P, P, P, u32, P, P);
    clEnqueueCopyImage(P, P, P, P, P, P, u32, P, P);
    clEnqueueCopyImageToBuffer(P, P, P, P, P, usize, u32, P, P);
    clEnqueueCopyBufferToImage(P, P, P, usize, P, P, u32, P, P);
    clEnqueueUnmapMemObject(P, P, P, u32, P, P);
    clEnqueueMigrateMemObjects(P, u32, P, u64, u32, P, P);
    clEnqueueNDRangeKernel(P, P, u32, P, P, P, u32, P, P);
    clEnqueueTask(P, P, u32, P, P);
    clEnqueueNativeKernel(P, P, P, usize, u32, P, P, u32, P, P);
    clEnqueueMarker(P, P);
    clEnqueueMarkerWithWaitList(P, u32, P, P);
    clEnqueueWaitForEvents(P, u32, P);
    clEnqueueBarrierWithWaitList(P, u32, P, P);
    clEnqueueBarrier(P);
    clGetGLObjectInfo(P, P, P);
    clGetGLTextureInfo(P, u32, usize, P, P);
    clEnqueueAcquireGLObjects(P, u32, P, u32, P, P);
    clEnqueueReleaseGLObjects(P, u32, P, u32, P, P);
    clGetGLContextInfoKHR(P, u32, usize, P, P);
}

forward! {
    handle:
    clCreateContext(P, u32, P, P, P);
    clCreateContextFromType(P, u64, P, P);
    clCreateCommandQueue(P, P, u64);
    clCreateBuffer(P, u64, usize, P);
    clCreateSubBuffer(P, u64, u32, P);
    clCreateImage2D(P, u64, P, usize, usize, usize, P);
    clCreateImage3D(P, u64, P, usize, usize, usize, usize, usize, P);
    clCreateImage(P, u64, P, P, P);
    clCreateSampler(P, u32, u32, u32);
    clCreateProgramWithSource(P, u32, P, P);
    clCreateProgramWithBinary(P, u32, P, P, P, P);
    clCreateProgramWithBuiltInKernels(P, u32, P, P);
    clLinkProgram(P, u32, P, P, u32, P, P, P);
    clCreateKernel(P, P);
    clCreateUserEvent(P);
    clEnqueueMapBuffer(P, P, u32, u64, usize, usize, u32, P, P);
    clEnqueueMapImage(P, P, u32, u64, P, P, P, P, u32, P, P);
    clCreateFromGLBuffer(P, u64, u32);
    clCreateFromGLTexture(P, u64, u32, i32, u32);
    clCreateFromGLRenderbuffer(P, u64, u32);
    clCreateFromGLTexture2D(P, u64, u32, i32, u32);
    clCreateFromGLTexture3D(P, u64, u32, i32, u32);
}

/// The only other function: it returns an address or null.
#[unsafe(no_mangle)]
unsafe extern "system" fn clGetExtensionFunctionAddressForPlatform(platform: P, func_name: P) -> P {
    type Function = unsafe extern "system" fn(P, P) -> P;
    // SAFETY: as above.
    match unsafe { symbol::<Function>("clGetExtensionFunctionAddressForPlatform") } {
        // SAFETY: as above.
        Some(f) => unsafe { f(platform, func_name) },
        None => std::ptr::null_mut(),
    }
}
