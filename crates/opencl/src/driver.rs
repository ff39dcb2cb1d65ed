//! Buffers, compiled programs and launches of a queue; copies are in `transfer`.

use std::any::Any;
use std::ptr;
use std::sync::Arc;

use coarsen_core::Error;
use coarsen_device::{Access, Argument, Built, Device, Driver, Object, Recorded, Staging};
use ocl::core::{self, CommandQueueProperties, DeviceId, Mem};
use ocl::ffi;

use crate::cache::Cache;
use crate::compile::{Compiler, Programs};
use crate::error::{check, failed};
use crate::event::Record;
use crate::handle::Handle;
use crate::pinned::Pinned;
use crate::second_queue::{self, SecondQueue};
use crate::transfer;

/// One in-order queue of an OpenCL device, and a second one for transfers beside its kernels.
pub(crate) struct OpenClDriver {
    context: Handle<core::Context>,
    queue: Handle<core::CommandQueue>,
    /// Made by the first transfer that needs it.
    second: Option<SecondQueue>,
    /// Whether `queue` is that of all backends of the device, which always measures times.
    is_shared: bool,
    /// Queues measure times if there is a record.
    properties: CommandQueueProperties,
    record: Record,
    compiler: Compiler,
    /// Whether the device shares the memory of the host.
    shared: bool,
}

impl OpenClDriver {
    /// A driver that launches in `queue`, or else in one of its own.
    pub(crate) fn new(
        context: core::Context,
        queue: Option<core::CommandQueue>,
        programs: Arc<Programs>,
        id: DeviceId,
        device: &Device,
    ) -> Result<Self, Error> {
        let context = Handle::new(context);
        let properties = CommandQueueProperties::empty();
        let is_shared = queue.is_some();
        let queue = Handle::new(queue.map_or_else(|| open(&context, id, properties), Ok)?);
        let (name, cache) = (device.name.clone(), Cache::of(device));
        let compiler = Compiler { device: id, name, cache, programs };
        let (second, record) = (None, Record::default());
        Ok(Self { context, queue, second, is_shared, properties, record, compiler, shared: device.shared })
    }

    fn second_queue(&mut self) -> Result<(&SecondQueue, &core::CommandQueue, &mut Record), Error> {
        let second = match self.second.take() {
            Some(second) => second,
            None => {
                SecondQueue::new(Handle::new(open(&self.context, self.compiler.device, self.properties)?))
            }
        };
        Ok((self.second.insert(second), &self.queue, &mut self.record))
    }
}

/// A new in-order queue.
pub(crate) fn open(
    context: &core::Context,
    id: DeviceId,
    properties: CommandQueueProperties,
) -> Result<core::CommandQueue, Error> {
    core::create_command_queue(context, id, Some(properties)).map_err(failed("clCreateCommandQueue"))
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
        let flags = if self.shared { ffi::CL_MEM_ALLOC_HOST_PTR } else { 0 };
        Ok(Box::new(transfer::create(&self.context, flags, bytes, host)?))
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
            // them. `event` is null or points to memory for an event.
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

    fn begin_read(&mut self, from: &Object, bytes: usize, read: &mut Option<Object>) -> Result<(), Error> {
        let (second, main, record) = self.second_queue()?;
        second.begin(main, record, buffer(from), bytes, read)
    }

    fn end_read(&mut self, read: &mut Object, host: &mut [u8]) -> Result<(), Error> {
        self.flush()?;
        second_queue::end(read, host)
    }

    fn write_beside(&mut self, to: &Object, start: usize, host: &[u8]) -> Result<(), Error> {
        let (second, _, record) = self.second_queue()?;
        second.write(record, buffer(to), start, host)
    }

    fn record(&mut self, on: bool) -> Result<(), Error> {
        self.finish()?;
        self.properties = match on {
            true => CommandQueueProperties::PROFILING_ENABLE,
            false => CommandQueueProperties::empty(),
        };
        if !self.is_shared {
            self.queue = Handle::new(open(&self.context, self.compiler.device, self.properties)?);
        }
        self.second = None;
        self.record.set(on);
        Ok(())
    }

    fn recorded(&mut self) -> Result<Vec<Recorded>, Error> {
        self.finish()?;
        self.record.take()
    }

    fn finish(&mut self) -> Result<(), Error> {
        transfer::finish(&self.queue)?;
        self.second.as_ref().map_or(Ok(()), SecondQueue::finish)
    }

    fn kept_local(&self, options: &str) -> Option<usize> {
        self.compiler.cache.local(options)
    }

    fn keep_local(&self, options: &str, local: usize) {
        self.compiler.cache.store_local(options, local);
    }
}
