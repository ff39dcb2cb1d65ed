//! Buffers, compiled programs and launches of a queue; copies are in `transfer`.

use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use coarsen_core::Error;
use coarsen_device::{Access, Argument, Built, Device, Driver, Object, Recorded, Staging};
use ocl::core::{self, CommandQueueProperties, DeviceId, Mem};
use ocl::ffi;

use crate::aside::{self, Aside};
use crate::cache::Cache;
use crate::compile::{Compiler, Programs};
use crate::error::{check, failed};
use crate::event::Record;
use crate::handle::Handle;
use crate::pinned::Pinned;
use crate::transfer;

/// One in-order queue of an OpenCL device, and a second one for transfers beside its kernels.
pub(crate) struct OpenClDriver {
    context: Handle<core::Context>,
    queue: Handle<core::CommandQueue>,
    /// Made by the first transfer that needs it.
    aside: Option<Aside>,
    /// Queues measure times if there is a record.
    properties: CommandQueueProperties,
    record: Record,
    compiler: Compiler,
    /// Whether the device shares the memory of the host.
    shared: bool,
}

impl OpenClDriver {
    pub(crate) fn new(
        context: core::Context,
        programs: Arc<Programs>,
        id: DeviceId,
        device: &Device,
    ) -> Result<Self, Error> {
        let context = Handle::new(context);
        let properties = CommandQueueProperties::empty();
        let queue = open(&context, id, properties)?;
        let (name, cache) = (device.name.clone(), Cache::of(device));
        let compiler = Compiler { device: id, name, cache, programs };
        let (aside, record) = (None, Record::default());
        Ok(Self { context, queue, aside, properties, record, compiler, shared: device.shared })
    }

    /// The second queue.
    fn aside(&mut self) -> Result<(&Aside, &core::CommandQueue, &mut Record), Error> {
        if self.aside.is_none() {
            self.aside = Some(Aside::new(open(&self.context, self.compiler.device, self.properties)?));
        }
        let aside = self.aside.as_ref().expect("it is open");
        Ok((aside, &self.queue, &mut self.record))
    }
}

/// A new in-order queue.
fn open(
    context: &core::Context,
    id: DeviceId,
    properties: CommandQueueProperties,
) -> Result<Handle<core::CommandQueue>, Error> {
    let queue = core::create_command_queue(context, id, Some(properties));
    Ok(Handle::new(queue.map_err(failed("clCreateCommandQueue"))?))
}

/// The name of a kernel in its source.
fn name(kernel: &core::Kernel) -> String {
    core::get_kernel_info(kernel, core::KernelInfo::FunctionName)
        .map_or_else(|_| String::new(), |name| name.to_string())
}

/// Returns the OpenCL buffer behind an object of the driver.
pub(crate) fn buffer(object: &Object) -> &Mem {
    object.downcast_ref::<Handle<Mem>>().expect("a buffer of OpenCL")
}

impl Driver for OpenClDriver {
    fn allocate(&mut self, bytes: usize, host: Option<&[u8]>) -> Result<Object, Error> {
        let copy = if host.is_some() { ffi::CL_MEM_COPY_HOST_PTR } else { 0 };
        let place = if self.shared { ffi::CL_MEM_ALLOC_HOST_PTR } else { 0 };
        let source = host.map_or(ptr::null(), <[u8]>::as_ptr);
        let mut status = 0;
        // SAFETY: `source` is null or has the length of the buffer, and is copied before the call returns.
        let mem = unsafe {
            let flags = ffi::CL_MEM_READ_WRITE | copy | place;
            let source = source.cast::<c_void>().cast_mut();
            ffi::clCreateBuffer(self.context.as_ptr(), flags, bytes, source, &mut status)
        };
        check("clCreateBuffer", status)?;
        // SAFETY: the call succeeded, so `mem` is a buffer with one reference. The returned value owns this
        // reference.
        Ok(Box::new(Handle::new(unsafe { Mem::from_raw_create_ptr(mem) })))
    }

    fn staging(&mut self, bytes: usize) -> Option<Staging> {
        Pinned::new(&self.context, &self.queue, bytes).map(|pinned| Box::new(pinned) as Staging)
    }

    fn copy(&mut self, from: &Object, to: &Object, bytes: usize) -> Result<(), Error> {
        transfer::copy(&self.queue, buffer(from), buffer(to), bytes)
    }

    fn read(&mut self, from: &Object, start: usize, host: &mut [u8]) -> Result<(), Error> {
        transfer::read(&self.queue, buffer(from), start, host)
    }

    fn write(&mut self, to: &Object, runs: &[(usize, &[u8])]) -> Result<(), Error> {
        transfer::write(&self.queue, buffer(to), runs)
    }

    fn map_buffer(
        &mut self,
        memory: &Object,
        bytes: usize,
        access: Access,
        with: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Error> {
        transfer::map_buffer(&self.queue, buffer(memory), bytes, access, with)
    }

    fn compile(&mut self, sources: &[&str], kernels: &[&str], options: &str) -> Result<Built, Error> {
        self.compiler.compile(&self.context, sources, kernels, options)
    }

    fn launch(
        &mut self,
        kernel: &dyn Any,
        groups: usize,
        local: usize,
        args: &[Argument<'_>],
    ) -> Result<(), Error> {
        let object = kernel.downcast_ref::<Handle<core::Kernel>>().expect("a kernel of OpenCL");
        let kernel = object.as_ptr();
        for (k, arg) in args.iter().enumerate() {
            let handle;
            let (size, value) = match arg {
                Argument::Memory(object) => {
                    handle = buffer(object).as_ptr();
                    (size_of_val(&handle), ptr::from_ref(&handle).cast())
                }
                Argument::Index(i) => (size_of::<u32>(), ptr::from_ref(i).cast()),
                Argument::Length(n) => (size_of::<u64>(), ptr::from_ref(n).cast()),
                Argument::Single(v) => (size_of::<f32>(), ptr::from_ref(v).cast()),
                Argument::Double(v) => (size_of::<f64>(), ptr::from_ref(v).cast()),
            };
            // SAFETY: `value` points to `size` bytes that live until the call returns, which copies them.
            let status = unsafe { ffi::clSetKernelArg(kernel, k as u32, size, value) };
            check("clSetKernelArg", status)?;
        }
        let (global, queue) = (groups * local, self.queue.as_ptr());
        let enqueue = |event| {
            // SAFETY: all arguments are set. Buffers have the lengths passed with them, and the queue retains
            // them. `event` is null or has room for an event.
            unsafe {
                ffi::clEnqueueNDRangeKernel(
                    queue,
                    kernel,
                    1,
                    ptr::null(),
                    &global,
                    &local,
                    0,
                    ptr::null(),
                    event,
                )
            }
        };
        self.record.keep("clEnqueueNDRangeKernel", || name(object), enqueue)
    }

    fn flush(&mut self) -> Result<(), Error> {
        transfer::flush(&self.queue)
    }

    fn copy_async(&mut self, from: &Object, bytes: usize, read: &mut Option<Object>) -> Result<(), Error> {
        let (aside, main, record) = self.aside()?;
        aside.begin(main, record, buffer(from), bytes, read)
    }

    fn end_aside(&mut self, read: &mut Object, host: &mut [u8]) -> Result<(), Error> {
        self.flush()?;
        aside::end(read, host)
    }

    fn write_aside(&mut self, to: &Object, start: usize, host: &[u8]) -> Result<(), Error> {
        let (aside, _, record) = self.aside()?;
        aside.write(record, buffer(to), start, host)
    }

    fn record(&mut self, on: bool) -> Result<(), Error> {
        self.finish()?;
        self.properties = match on {
            true => CommandQueueProperties::PROFILING_ENABLE,
            false => CommandQueueProperties::empty(),
        };
        self.queue = open(&self.context, self.compiler.device, self.properties)?;
        self.aside = None;
        self.record.set(on);
        Ok(())
    }

    fn recorded(&mut self) -> Result<Vec<Recorded>, Error> {
        self.finish()?;
        self.record.take()
    }

    fn finish(&mut self) -> Result<(), Error> {
        transfer::finish(&self.queue)?;
        self.aside.as_ref().map_or(Ok(()), Aside::finish)
    }

    fn kept_local(&self, options: &str) -> Option<usize> {
        self.compiler.cache.local(options)
    }

    fn keep_local(&self, options: &str, local: usize) {
        self.compiler.cache.store_local(options, local);
    }
}
