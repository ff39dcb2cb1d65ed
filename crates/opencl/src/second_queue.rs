//! A second queue, whose transfers run at the same time as the kernels of the first.

use std::ptr;
use std::sync::Arc;

use coarsen_core::Error;
use coarsen_device::Object;
use ocl::core::{CommandQueue, Mem};
use ocl::ffi;

use crate::error::check;
use crate::event::{Event, Record};
use crate::handle::Handle;
use crate::transfer;

pub(crate) struct SecondQueue(Handle<CommandQueue>);

/// A read, and the memory that it fills, which lives until the read has ended.
#[derive(Default)]
struct Read {
    event: Option<Arc<Event>>,
    landing: Vec<u8>,
}

impl Read {
    fn of(object: &mut Object) -> &mut Self {
        object.downcast_mut().expect("a read of OpenCL")
    }

    fn wait(&mut self) -> Result<(), Error> {
        self.event.take().map_or(Ok(()), |event| event.wait())
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        let _ = self.wait(); // a failure of the device ends the read too
    }
}

/// Waits for a read, and copies its bytes to `host`, which has their number.
pub(crate) fn end(read: &mut Object, host: &mut [u8]) -> Result<(), Error> {
    let read = Read::of(read);
    read.wait()?;
    host.copy_from_slice(&read.landing);
    Ok(())
}

impl SecondQueue {
    pub(crate) fn new(queue: Handle<CommandQueue>) -> Self {
        Self(queue)
    }

    /// Lets later commands of this queue wait for all commands that `main` has now.
    fn wait_for(&self, main: &CommandQueue) -> Result<(), Error> {
        let marker = Event::of("clEnqueueMarkerWithWaitList", |event| {
            // SAFETY: the queue is alive, and `event` points to memory for an event.
            unsafe { ffi::clEnqueueMarkerWithWaitList(main.as_ptr(), 0, ptr::null(), event) }
        })?;
        // SAFETY: queue and event are alive; the call retains the event.
        let status =
            unsafe { ffi::clEnqueueBarrierWithWaitList(self.0.as_ptr(), 1, marker.list(), ptr::null_mut()) };
        check("clEnqueueBarrierWithWaitList", status)?;
        transfer::flush(main) // else the marker might never come
    }

    /// Begins to read from a buffer, after all commands that `main` has now, into the memory of `read`.
    pub(crate) fn begin(
        &self,
        main: &CommandQueue,
        record: &mut Record,
        from: &Mem,
        bytes: usize,
        read: &mut Option<Object>,
    ) -> Result<(), Error> {
        let read = Read::of(read.get_or_insert_with(|| Box::new(Read::default())));
        read.wait()?; // one that nobody has ended
        read.landing.resize(bytes, 0);
        self.wait_for(main)?;
        if bytes > 0 {
            let (queue, to) = (self.0.as_ptr(), read.landing.as_mut_ptr().cast());
            let begin = |event| {
                // SAFETY: the buffer holds `bytes` bytes. `landing` has as many, and neither moves its memory nor is
                // freed before `Read` has waited for the event.
                unsafe {
                    ffi::clEnqueueReadBuffer(
                        queue,
                        from.as_ptr(),
                        ffi::CL_FALSE,
                        0,
                        bytes,
                        to,
                        0,
                        ptr::null(),
                        event,
                    )
                }
            };
            let event = Arc::new(Event::of("clEnqueueReadBuffer", begin)?);
            record.note("read", &event);
            read.event = Some(event);
        }
        transfer::flush(&self.0)
    }

    /// Writes to a buffer and synchronises.
    pub(crate) fn write(
        &self,
        record: &mut Record,
        to: &Mem,
        start: usize,
        host: &[u8],
    ) -> Result<(), Error> {
        let write = |event| transfer::enqueue_write(&self.0, to, start, host, ffi::CL_TRUE, event);
        record.keep("clEnqueueWriteBuffer", || "write".to_owned(), write)
    }

    pub(crate) fn finish(&self) -> Result<(), Error> {
        transfer::finish(&self.0)
    }
}
