//! Transfers that run beside the kernels of the queue, and records of both.

use coarsen_core::{Error, Real};

use super::Queue;
use crate::driver::{Object, Recorded};
use crate::memory::{Buffer, bytes, bytes_mut};

impl<T: Real> Queue<T> {
    /// Begins to read the start of a buffer after all commands enqueued so far, beside later ones. `read` keeps memory and
    /// event of the read.
    pub(crate) fn copy_async(
        &mut self,
        from: &Buffer,
        count: usize,
        read: &mut Option<Object>,
    ) -> Result<(), Error> {
        self.state()?;
        self.idle = false;
        let bytes = count * size_of::<T>();
        let there = from.check(0, bytes);
        let done = there.and_then(|()| self.driver.copy_async(&from.object, bytes, read));
        self.keep(done.clone());
        done
    }

    /// Starts what is enqueued, without a wait.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.state()?;
        let done = self.driver.flush();
        self.keep(done.clone());
        done
    }

    /// Waits for the read that [`copy_async`](Self::copy_async) began in `read`; `host` has its length.
    pub(crate) fn end_aside(&mut self, read: &mut Object, host: &mut [T]) -> Result<(), Error> {
        self.state()?;
        self.counters.synchronisations += 1;
        self.counters.download(size_of_val(host));
        let done = self.driver.end_aside(read, bytes_mut(host));
        self.keep(done.clone());
        done
    }

    /// Overwrites entries of a buffer from `first` on, beside the kernels enqueued since
    /// [`copy_async`](Self::copy_async), none of which uses the buffer. Waits for the transfer.
    pub(crate) fn write_aside(&mut self, to: &Buffer, first: usize, host: &[T]) -> Result<(), Error> {
        self.state()?;
        if host.is_empty() {
            return Ok(());
        }
        let start = first * size_of::<T>();
        to.check(start, size_of_val(host))?;
        self.counters.synchronisations += 1;
        self.counters.upload(size_of_val(host));
        let done = self.driver.write_aside(&to.object, start, bytes(host));
        self.keep(done.clone());
        done
    }

    /// Begins or ends the record of commands.
    pub(crate) fn record(&mut self, on: bool) -> Result<(), Error> {
        self.state()?;
        let done = self.driver.record(on);
        self.keep(done.clone());
        done
    }

    /// Returns the recorded commands since the last call.
    pub(crate) fn recorded(&mut self) -> Result<Vec<Recorded>, Error> {
        self.state()?;
        self.counters.synchronisations += 1;
        self.driver.recorded()
    }
}
