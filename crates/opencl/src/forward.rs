//! The OpenCL functions that `cl-sys` declares for OpenCL 1.2. Each function forwards its calls to the
//! library of the machine.
//!
//! Parameters have the names of the standard. All pointers, handles and callbacks have one type, because only
//! their size matters for forwarding.

use std::ffi::c_void;
use std::sync::OnceLock;

use crate::loader::{PLATFORM_NOT_FOUND, symbol};

/// A handle, an address or a callback.
type Pointer = *mut c_void;

/// Functions that return a status.
macro_rules! status {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
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
    )*};
}

/// Functions that return a handle or an address, and a status through a last parameter, which may be null.
macro_rules! handle {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "system" fn $name($($arg: $type,)* errcode_ret: *mut i32) -> Pointer {
            type Function = unsafe extern "system" fn($($type,)* *mut i32) -> Pointer;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            // SAFETY: the table below gives the types of the OpenCL standard.
            match FUNCTION.get_or_init(|| unsafe { symbol(stringify!($name)) }) {
                // SAFETY: the same arguments go to the function of the same name; the caller guarantees that
                // they are valid.
                Some(f) => unsafe { f($($arg,)* errcode_ret) },
                None => {
                    // SAFETY: by the standard errcode_ret is null or a valid address.
                    if let Some(status) = unsafe { errcode_ret.as_mut() } {
                        *status = PLATFORM_NOT_FOUND;
                    }
                    std::ptr::null_mut()
                }
            }
        }
    )*};
}

status! {
    clGetPlatformIDs(num_entries: u32, platforms: Pointer, num_platforms: Pointer);
    clGetPlatformInfo(
        platform: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clGetDeviceIDs(
        platform: Pointer, device_type: u64, num_entries: u32, devices: Pointer, num_devices: Pointer
    );
    clGetDeviceInfo(
        device: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clCreateSubDevices(
        in_device: Pointer, properties: Pointer, num_devices: u32, out_devices: Pointer,
        num_devices_ret: Pointer
    );
    clRetainDevice(device: Pointer);
    clReleaseDevice(device: Pointer);
    clRetainContext(context: Pointer);
    clReleaseContext(context: Pointer);
    clGetContextInfo(
        context: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clRetainCommandQueue(command_queue: Pointer);
    clReleaseCommandQueue(command_queue: Pointer);
    clGetCommandQueueInfo(
        command_queue: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clRetainMemObject(memobj: Pointer);
    clReleaseMemObject(memobj: Pointer);
    clGetSupportedImageFormats(
        context: Pointer, flags: u64, image_type: u32, num_entries: u32, image_formats: Pointer,
        num_image_formats: Pointer
    );
    clGetMemObjectInfo(
        memobj: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clGetImageInfo(
        image: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clSetMemObjectDestructorCallback(memobj: Pointer, pfn_notify: Pointer, user_data: Pointer);
    clRetainSampler(sampler: Pointer);
    clReleaseSampler(sampler: Pointer);
    clGetSamplerInfo(
        sampler: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clRetainProgram(program: Pointer);
    clReleaseProgram(program: Pointer);
    clBuildProgram(
        program: Pointer, num_devices: u32, device_list: Pointer, options: Pointer, pfn_notify: Pointer,
        user_data: Pointer
    );
    clUnloadCompiler();
    clCompileProgram(
        program: Pointer, num_devices: u32, device_list: Pointer, options: Pointer, num_input_headers: u32,
        input_headers: Pointer, header_include_names: Pointer, pfn_notify: Pointer, user_data: Pointer
    );
    clGetProgramInfo(
        program: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clGetProgramBuildInfo(
        program: Pointer, device: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clCreateKernelsInProgram(
        program: Pointer, num_kernels: u32, kernels: Pointer, num_kernels_ret: Pointer
    );
    clRetainKernel(kernel: Pointer);
    clReleaseKernel(kernel: Pointer);
    clSetKernelArg(kernel: Pointer, arg_index: u32, arg_size: usize, arg_value: Pointer);
    clGetKernelInfo(
        kernel: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clGetKernelArgInfo(
        kernel: Pointer, arg_indx: u32, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clGetKernelWorkGroupInfo(
        kernel: Pointer, device: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clWaitForEvents(num_events: u32, event_list: Pointer);
    clGetEventInfo(
        event: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clRetainEvent(event: Pointer);
    clReleaseEvent(event: Pointer);
    clSetUserEventStatus(event: Pointer, execution_status: i32);
    clSetEventCallback(
        event: Pointer, command_exec_callback_type: i32, pfn_notify: Pointer, user_data: Pointer
    );
    clGetEventProfilingInfo(
        event: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clFlush(command_queue: Pointer);
    clFinish(command_queue: Pointer);
    clEnqueueReadBuffer(
        command_queue: Pointer, buffer: Pointer, blocking_read: u32, offset: usize, cb: usize, ptr: Pointer,
        num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueReadBufferRect(
        command_queue: Pointer, buffer: Pointer, blocking_read: u32, buffer_origin: Pointer,
        host_origin: Pointer, region: Pointer, buffer_row_pitch: usize, buffer_slc_pitch: usize,
        host_row_pitch: usize, host_slc_pitch: usize, ptr: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clEnqueueWriteBuffer(
        command_queue: Pointer, buffer: Pointer, blocking_write: u32, offset: usize, cb: usize,
        ptr: Pointer, num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueWriteBufferRect(
        command_queue: Pointer, buffer: Pointer, blocking_write: u32, buffer_origin: Pointer,
        host_origin: Pointer, region: Pointer, buffer_row_pitch: usize, buffer_slc_pitch: usize,
        host_row_pitch: usize, host_slc_pitch: usize, ptr: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clEnqueueFillBuffer(
        command_queue: Pointer, buffer: Pointer, pattern: Pointer, pattern_size: usize, offset: usize,
        size: usize, num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueCopyBuffer(
        command_queue: Pointer, src_buffer: Pointer, dst_buffer: Pointer, src_offset: usize,
        dst_offset: usize, cb: usize, num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueCopyBufferRect(
        command_queue: Pointer, src_buffer: Pointer, dst_buffer: Pointer, src_origin: Pointer,
        dst_origin: Pointer, region: Pointer, src_row_pitch: usize, src_slc_pitch: usize,
        dst_row_pitch: usize, dst_slc_pitch: usize, num_events_in_wait_list: u32, event_wait_list: Pointer,
        event: Pointer
    );
    clEnqueueReadImage(
        command_queue: Pointer, image: Pointer, blocking_read: u32, origin: Pointer, region: Pointer,
        row_pitch: usize, slc_pitch: usize, ptr: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clEnqueueWriteImage(
        command_queue: Pointer, image: Pointer, blocking_write: u32, origin: Pointer, region: Pointer,
        input_row_pitch: usize, input_slc_pitch: usize, ptr: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clEnqueueFillImage(
        command_queue: Pointer, image: Pointer, fill_color: Pointer, origin: Pointer, region: Pointer,
        num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueCopyImage(
        command_queue: Pointer, src_image: Pointer, dst_image: Pointer, src_origin: Pointer,
        dst_origin: Pointer, region: Pointer, num_events_in_wait_list: u32, event_wait_list: Pointer,
        event: Pointer
    );
    clEnqueueCopyImageToBuffer(
        command_queue: Pointer, src_image: Pointer, dst_buffer: Pointer, src_origin: Pointer,
        region: Pointer, dst_offset: usize, num_events_in_wait_list: u32, event_wait_list: Pointer,
        event: Pointer
    );
    clEnqueueCopyBufferToImage(
        command_queue: Pointer, src_buffer: Pointer, dst_image: Pointer, src_offset: usize,
        dst_origin: Pointer, region: Pointer, num_events_in_wait_list: u32, event_wait_list: Pointer,
        event: Pointer
    );
    clEnqueueUnmapMemObject(
        command_queue: Pointer, memobj: Pointer, mapped_ptr: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clEnqueueMigrateMemObjects(
        command_queue: Pointer, num_mem_objects: u32, mem_objects: Pointer, flags: u64,
        num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueNDRangeKernel(
        command_queue: Pointer, kernel: Pointer, work_dim: u32, global_work_offset: Pointer,
        global_work_dims: Pointer, local_work_dims: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clEnqueueTask(
        command_queue: Pointer, kernel: Pointer, num_events_in_wait_list: u32, event_wait_list: Pointer,
        event: Pointer
    );
    clEnqueueNativeKernel(
        command_queue: Pointer, user_func: Pointer, args: Pointer, cb_args: usize, num_mem_objects: u32,
        mem_list: Pointer, args_mem_loc: Pointer, num_events_in_wait_list: u32, event_wait_list: Pointer,
        event: Pointer
    );
    clEnqueueMarker(command_queue: Pointer, event: Pointer);
    clEnqueueMarkerWithWaitList(
        command_queue: Pointer, num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueWaitForEvents(command_queue: Pointer, num_events: u32, event_list: Pointer);
    clEnqueueBarrierWithWaitList(
        command_queue: Pointer, num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueBarrier(command_queue: Pointer);
    clGetGLObjectInfo(memobj: Pointer, gl_object_type: Pointer, gl_object_name: Pointer);
    clGetGLTextureInfo(
        memobj: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
    clEnqueueAcquireGLObjects(
        command_queue: Pointer, num_objects: u32, mem_objects: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clEnqueueReleaseGLObjects(
        command_queue: Pointer, num_objects: u32, mem_objects: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clGetGLContextInfoKHR(
        properties: Pointer, param_name: u32, param_value_size: usize, param_value: Pointer,
        param_value_size_ret: Pointer
    );
}

handle! {
    clCreateContext(
        properties: Pointer, num_devices: u32, devices: Pointer, pfn_notify: Pointer, user_data: Pointer
    );
    clCreateContextFromType(properties: Pointer, device_type: u64, pfn_notify: Pointer, user_data: Pointer);
    clCreateCommandQueue(context: Pointer, device: Pointer, properties: u64);
    clCreateBuffer(context: Pointer, flags: u64, size: usize, host_ptr: Pointer);
    clCreateSubBuffer(buffer: Pointer, flags: u64, buffer_create_type: u32, buffer_create_info: Pointer);
    clCreateImage2D(
        context: Pointer, flags: u64, image_format: Pointer, image_width: usize, image_depth: usize,
        image_slc_pitch: usize, host_ptr: Pointer
    );
    clCreateImage3D(
        context: Pointer, flags: u64, image_format: Pointer, image_width: usize, image_height: usize,
        image_depth: usize, image_row_pitch: usize, image_slc_pitch: usize, host_ptr: Pointer
    );
    clCreateImage(
        context: Pointer, flags: u64, image_format: Pointer, image_desc: Pointer, host_ptr: Pointer
    );
    clCreateSampler(context: Pointer, normalize_coords: u32, addressing_mode: u32, filter_mode: u32);
    clCreateProgramWithSource(context: Pointer, count: u32, strings: Pointer, lengths: Pointer);
    clCreateProgramWithBinary(
        context: Pointer, num_devices: u32, device_list: Pointer, lengths: Pointer, binaries: Pointer,
        binary_status: Pointer
    );
    clCreateProgramWithBuiltInKernels(
        context: Pointer, num_devices: u32, device_list: Pointer, kernel_names: Pointer
    );
    clLinkProgram(
        context: Pointer, num_devices: u32, device_list: Pointer, options: Pointer, num_input_programs: u32,
        input_programs: Pointer, pfn_notify: Pointer, user_data: Pointer
    );
    clCreateKernel(program: Pointer, kernel_name: Pointer);
    clCreateUserEvent(context: Pointer);
    clEnqueueMapBuffer(
        command_queue: Pointer, buffer: Pointer, blocking_map: u32, map_flags: u64, offset: usize,
        size: usize, num_events_in_wait_list: u32, event_wait_list: Pointer, event: Pointer
    );
    clEnqueueMapImage(
        command_queue: Pointer, image: Pointer, blocking_map: u32, map_flags: u64, origin: Pointer,
        region: Pointer, image_row_pitch: Pointer, image_slc_pitch: Pointer, num_events_in_wait_list: u32,
        event_wait_list: Pointer, event: Pointer
    );
    clCreateFromGLBuffer(context: Pointer, flags: u64, bufobj: u32);
    clCreateFromGLTexture(context: Pointer, flags: u64, texture_target: u32, miplevel: i32, texture: u32);
    clCreateFromGLRenderbuffer(context: Pointer, flags: u64, renderbuffer: u32);
    clCreateFromGLTexture2D(context: Pointer, flags: u64, texture_target: u32, miplevel: i32, texture: u32);
    clCreateFromGLTexture3D(context: Pointer, flags: u64, texture_target: u32, miplevel: i32, texture: u32);
}

/// The only other function: it returns an address or null.
#[unsafe(no_mangle)]
unsafe extern "system" fn clGetExtensionFunctionAddressForPlatform(
    platform: Pointer,
    func_name: Pointer,
) -> Pointer {
    type Function = unsafe extern "system" fn(Pointer, Pointer) -> Pointer;
    // SAFETY: as above.
    match unsafe { symbol::<Function>("clGetExtensionFunctionAddressForPlatform") } {
        // SAFETY: as above.
        Some(f) => unsafe { f(platform, func_name) },
        None => std::ptr::null_mut(),
    }
}
