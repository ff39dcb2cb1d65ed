//! A second queue, whose transfers run at the same time as the kernels of the first.

use std::ptr;
use std::sync::Arc;

use coarsen_core::Error;
use ocl::core::{CommandQueue, Mem};
use ocl::ffi;

use crate::error::check;
use crate::event::{Event, Record};
use crate::handle::Handle;
use crate::transfer;

/// The second queue of a driver.
pub(crate) struct Aside {
    queue: Handle<CommandQueue>,
    pending: Option<Pending>,
}

/// A read under way. Its memory lives until the read has ended.
#[derive(Default)]
struct Pending {
    event: Option<Arc<Event>>,
    landing: Vec<u8>,
}

impl Pending {
    fn wait(&mut self) -> Result<(), Error> {
        self.event.take().map_or(Ok(()), |event| event.wait())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let _ = self.wait(); // a failure of the device ends the read too
    }
}

impl Aside {
    pub(crate) fn new(queue: Handle<CommandQueue>) -> Self {
        Self { queue, pending: None }
    }

    /// Lets later commands of this queue wait for all commands that `main` has now.
    fn follow(&self, main: &CommandQueue) -> Result<(), Error> {
        let marker = Event::of("clEnqueueMarkerWithWaitList", |event| {
            // SAFETY: the queue is alive, and `event` has room for an event.
            unsafe { ffi::clEnqueueMarkerWithWaitList(main.as_ptr(), 0, ptr::null(), event) }
        })?;
        // SAFETY: queue and event are alive; the call retains the event.
        let status = unsafe {
            ffi::clEnqueueBarrierWithWaitList(self.queue.as_ptr(), 1, marker.list(), ptr::null_mut())
        };
        check("clEnqueueBarrierWithWaitList", status)?;
        transfer::flush(main) // else the marker might never come
    }

    /// Begins to read from a buffer, after all commands that `main` has now.
    pub(crate) fn begin(
        &mut self,
        main: &CommandQueue,
        record: &mut Record,
        from: &Mem,
        bytes: usize,
    ) -> Result<(), Error> {
        let mut pending = self.pending.take().unwrap_or_default();
        pending.wait()?; // a read that nobody has ended
        pending.landing.resize(bytes, 0);
        self.follow(main)?;
        if bytes > 0 {
            let (queue, to) = (self.queue.as_ptr(), pending.landing.as_mut_ptr().cast());
            let read = |event| {
                // SAFETY: the buffer holds `bytes` bytes. `landing` has as many, and neither moves its memory nor is
                // freed before `Pending` has waited for the event.
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
            let event = Arc::new(Event::of("clEnqueueReadBuffer", read)?);
            record.note("read aside", &event);
            pending.event = Some(event);
        }
        self.pending = Some(pending);
        transfer::flush(&self.queue)
    }

    /// Starts the commands of `main`, and waits for the read; `host` has its length.
    pub(crate) fn end(&mut self, main: &CommandQueue, host: &mut [u8]) -> Result<(), Error> {
        transfer::flush(main)?;
        let pending = self.pending.as_mut().expect("a read that has begun");
        pending.wait()?;
        host.copy_from_slice(&pending.landing);
        Ok(())
    }

    /// Writes to a buffer and waits for it.
    pub(crate) fn write(
        &mut self,
        record: &mut Record,
        to: &Mem,
        start: usize,
        host: &[u8],
    ) -> Result<(), Error> {
        let write = |event| transfer::write_now(&self.queue, to, start, host, event);
        record.keep("clEnqueueWriteBuffer", || "write aside".to_owned(), write)
    }

    /// Waits for all commands of this queue.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        transfer::finish(&self.queue)
    }
}
