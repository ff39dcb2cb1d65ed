//! Transfers on a second queue, which run beside kernels, and recordings of both.

use coarsen_core::{Error, Real};

use super::Queue;
use crate::driver::{Object, Recorded};
use crate::memory::{Buffer, bytes, bytes_mut};

impl<T: Real> Queue<T> {
    /// Begins to read the start of a buffer after all commands enqueued so far, beside later ones. `read` keeps memory and
    /// event of the read.
    pub(crate) fn begin_read(
        &mut self,
        from: &Buffer,
        count: usize,
        read: &mut Option<Object>,
    ) -> Result<(), Error> {
        let bytes = count * size_of::<T>();
        self.run(|queue| {
            queue.idle = false;
            from.check(0, bytes)?;
            queue.driver.begin_read(&from.object, bytes, read)
        })
    }

    /// Starts what is enqueued, without synchronisation.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.run(|queue| queue.driver.flush())
    }

    /// Waits for the read that [`begin_read`](Self::begin_read) began in `read`; `host` has its length.
    pub(crate) fn end_read(&mut self, read: &mut Object, host: &mut [T]) -> Result<(), Error> {
        self.run(|queue| {
            queue.counters.synchronisations += 1;
            queue.counters.download(size_of_val(host));
            queue.driver.end_read(read, bytes_mut(host))
        })
    }

    /// Overwrites entries of a buffer from `first` on, beside the kernels enqueued since
    /// [`begin_read`](Self::begin_read), none of which uses the buffer. Waits for the transfer. A buffer that is too small is
    /// not a failure of the backend.
    pub(crate) fn write_beside(&mut self, to: &Buffer, first: usize, host: &[T]) -> Result<(), Error> {
        if host.is_empty() {
            return self.state();
        }
        let start = first * size_of::<T>();
        self.state()?;
        to.check(start, size_of_val(host))?;
        self.run(|queue| {
            queue.counters.synchronisations += 1;
            queue.counters.upload(size_of_val(host));
            queue.driver.write_beside(&to.object, start, bytes(host))
        })
    }

    pub(crate) fn record(&mut self, on: bool) -> Result<(), Error> {
        self.run(|queue| queue.driver.record(on))
    }

    pub(crate) fn recorded(&mut self) -> Result<Vec<Recorded>, Error> {
        self.state()?;
        self.counters.synchronisations += 1;
        self.driver.recorded()
    }
}
