//! Events of commands: synchronisation, and times of profiling.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use coarsen_core::Error;
use coarsen_device::Recorded;
use ocl::ffi::{self, cl_event};

use crate::error::check;

/// An event, released when it is dropped; errors on release are ignored.
pub(crate) struct Event(cl_event);

// SAFETY: the functions of events may be called from any thread, also at the same time.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Calls `enqueue` with an address for an event, which a successful call fills, and returns the event.
    pub(crate) fn of(call: &'static str, enqueue: impl FnOnce(*mut cl_event) -> i32) -> Result<Self, Error> {
        let mut event = ptr::null_mut();
        check(call, enqueue(&mut event))?;
        Ok(Self(event))
    }

    /// The event as a list of one.
    pub(crate) fn list(&self) -> *const cl_event {
        &self.0
    }

    pub(crate) fn wait(&self) -> Result<(), Error> {
        // SAFETY: the event is alive.
        check("clWaitForEvents", unsafe { ffi::clWaitForEvents(1, self.list()) })
    }

    /// The times of a command that has ended, in a queue with profiling.
    fn times(&self) -> Result<[u64; 3], Error> {
        let mut times = [0_u64; 3];
        let names = [
            ffi::CL_PROFILING_COMMAND_QUEUED,
            ffi::CL_PROFILING_COMMAND_START,
            ffi::CL_PROFILING_COMMAND_END,
        ];
        for (name, time) in names.into_iter().zip(&mut times) {
            let to = ptr::from_mut(time).cast::<c_void>();
            // SAFETY: the event is alive, and `to` holds the 8 bytes of a time.
            let status =
                unsafe { ffi::clGetEventProfilingInfo(self.0, name, size_of::<u64>(), to, ptr::null_mut()) };
            check("clGetEventProfilingInfo", status)?;
        }
        Ok(times)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: this value owns one reference.
        let _ = unsafe { ffi::clReleaseEvent(self.0) };
    }
}

/// The commands since the last call of `take`, if they are recorded.
#[derive(Default)]
pub(crate) struct Record(Option<Vec<(String, Arc<Event>)>>);

impl Record {
    /// Starts or stops recording, and forgets what is recorded.
    pub(crate) fn set(&mut self, on: bool) {
        self.0 = on.then(Vec::new);
    }

    /// Calls `enqueue`, with an address for an event if commands are recorded.
    pub(crate) fn keep(
        &mut self,
        call: &'static str,
        name: impl FnOnce() -> String,
        enqueue: impl FnOnce(*mut cl_event) -> i32,
    ) -> Result<(), Error> {
        match &mut self.0 {
            None => check(call, enqueue(ptr::null_mut())),
            Some(events) => {
                let event = Event::of(call, enqueue)?;
                events.push((name(), Arc::new(event)));
                Ok(())
            }
        }
    }

    /// Keeps a command that has an event in any case.
    pub(crate) fn note(&mut self, name: &str, event: &Arc<Event>) {
        if let Some(events) = &mut self.0 {
            events.push((name.to_owned(), event.clone()));
        }
    }

    /// The commands so far, all of which have ended.
    pub(crate) fn take(&mut self) -> Result<Vec<Recorded>, Error> {
        let events = self.0.as_mut().map(std::mem::take).unwrap_or_default();
        let times = events.into_iter().map(|(name, event)| {
            let [queued, start, end] = event.times()?;
            Ok(Recorded { name, queued, start, end })
        });
        times.collect()
    }
}
