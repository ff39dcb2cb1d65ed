//! Transfers between the host and a device.
//!
//! If both share one memory, buffers are mapped, and the host reads and writes them without another copy.

use std::ops::Range;
use std::slice;

use coarsen_core::{Error, Real};

use super::Queue;
use crate::driver::{Access, Type};
use crate::memory::{Buffer, bytes, bytes_mut, bytes_of_indices, bytes_of_indices_mut};

/// Memory of the host without further properties.
struct Pageable(Vec<u64>);

impl AsMut<[u8]> for Pageable {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: u64 has no padding, and any bytes are valid numbers.
        unsafe { slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), size_of_val(&self.0[..])) }
    }
}

/// Views memory of a driver as numbers.
fn numbers<S: Real>(bytes: &mut [u8]) -> &mut [S] {
    // SAFETY: `Real` is sealed to f32 and f64: any bytes are valid numbers.
    let (before, values, after) = unsafe { bytes.align_to_mut::<S>() };
    assert!(before.is_empty() && after.is_empty(), "a driver lends aligned memory");
    values
}

impl<T: Real> Queue<T> {
    /// Uploads a list to a new buffer.
    pub(crate) fn list(&mut self, host: &[u32]) -> Result<Buffer, Error> {
        self.allocate(Type::Index, size_of_val(host), Some(bytes_of_indices(host)))
    }

    /// Enqueues a copy of `from` to `to`.
    pub(crate) fn copy(&mut self, from: &Buffer, to: &Buffer, bytes: usize) {
        if self.failure.is_none() && bytes > 0 {
            self.idle = false;
            let done = self.enqueue_copy(from, to, bytes);
            self.keep(done);
        }
    }

    fn enqueue_copy(&mut self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<(), Error> {
        from.check(0, bytes)?;
        to.check(0, bytes)?;
        self.driver.copy(&from.object, &to.object, bytes)
    }

    /// Reads the start of a buffer and waits for it.
    pub(crate) fn read<S: Real>(&mut self, from: &Buffer, host: &mut [S]) -> Result<(), Error> {
        self.state()?;
        let done = if self.memory.shared {
            self.mapped(from, host.len(), Access::Read, |there: &mut [S]| host.copy_from_slice(there))
        } else {
            self.read_at(Some(from), 0, bytes_mut(host))
        };
        self.keep(done.clone());
        done
    }

    /// Overwrites the start of a buffer and waits for it.
    pub(crate) fn write<S: Real>(&mut self, to: &Buffer, host: &[S]) -> Result<(), Error> {
        self.state()?;
        let done = if self.memory.shared {
            let copy = |there: &mut [S]| there.copy_from_slice(host);
            self.mapped(to, host.len(), Access::Overwrite, copy)
        } else {
            self.write_all(to, bytes(host))
        };
        self.keep(done.clone());
        done
    }

    /// Copies the entries `runs` of `host` to a buffer; entry k of `host` belongs to entry `first` + k of the
    /// buffer. Waits once.
    pub(crate) fn write_runs<S: Real>(
        &mut self,
        to: &Buffer,
        first: usize,
        host: &[S],
        runs: &[Range<usize>],
    ) -> Result<(), Error> {
        self.state()?;
        if runs.is_empty() {
            return Ok(());
        }
        let at = |run: &Range<usize>| ((first + run.start) * size_of::<S>(), bytes(&host[run.clone()]));
        let runs: Vec<_> = runs.iter().map(at).collect();
        let done = self.write_at(to, &runs);
        self.keep(done.clone());
        done
    }

    /// Overwrites the start of a list and waits for it.
    pub(crate) fn write_list(&mut self, to: &Buffer, host: &[u32]) -> Result<(), Error> {
        self.state()?;
        let done = self.write_all(to, bytes_of_indices(host));
        self.keep(done.clone());
        done
    }

    /// Reads the start of a list and waits for it.
    pub(crate) fn read_list(&mut self, from: &Buffer, host: &mut [u32]) -> Result<(), Error> {
        self.state()?;
        let done = self.read_at(Some(from), 0, bytes_of_indices_mut(host));
        self.keep(done.clone());
        done
    }

    /// Calls `fill` to write all of the first `count` entries of a buffer, and waits for it. `fill` must stay
    /// on this thread, see [`convert`](crate::memory::convert).
    pub(crate) fn put<S: Real>(
        &mut self,
        to: &Buffer,
        count: usize,
        fill: impl FnOnce(&mut [S]),
    ) -> Result<(), Error> {
        self.state()?;
        let room = to.check(0, count * size_of::<S>());
        let done = if room.is_err() {
            room
        } else if self.memory.shared {
            self.mapped(to, count, Access::Overwrite, fill)
        } else {
            let needed = count * size_of::<S>();
            let kept =
                self.staging.take().and_then(|mut kept| ((*kept).as_mut().len() >= needed).then_some(kept));
            let mut staging = kept
                .or_else(|| self.driver.staging(needed.next_power_of_two()))
                .or_else(|| self.driver.staging(needed))
                .unwrap_or_else(|| Box::new(Pageable(vec![0; needed.div_ceil(size_of::<u64>())])));
            let values = numbers(&mut (*staging).as_mut()[..needed]);
            fill(values);
            let done = self.write_all(to, bytes(values));
            self.staging = Some(staging);
            done
        };
        self.keep(done.clone());
        done
    }

    /// Maps the first `count` entries of a buffer for the host, after all work enqueued so far. Waits once.
    fn mapped<S: Real>(
        &mut self,
        buffer: &Buffer,
        count: usize,
        access: Access,
        use_them: impl FnOnce(&mut [S]),
    ) -> Result<(), Error> {
        if count == 0 {
            use_them(&mut []);
            return Ok(());
        }
        buffer.check(0, count * size_of::<S>())?;
        self.counters.synchronisations += 1;
        match access {
            Access::Overwrite => self.counters.upload(count * size_of::<S>()),
            Access::Read => self.counters.download(count * size_of::<S>()),
        }
        self.idle = false;
        let mut use_them = Some(use_them);
        self.driver.map_buffer(&buffer.object, count * size_of::<S>(), access, &mut |there| {
            if let Some(use_them) = use_them.take() {
                use_them(numbers(there));
            }
        })
    }

    /// Reads from a buffer, or from the slots, and waits for it.
    pub(super) fn read_at(
        &mut self,
        from: Option<&Buffer>,
        start: usize,
        host: &mut [u8],
    ) -> Result<(), Error> {
        if host.is_empty() {
            return Ok(());
        }
        let from = from.unwrap_or(&self.scalars);
        from.check(start, host.len())?;
        self.counters.synchronisations += 1;
        self.counters.download(host.len());
        let done = self.driver.read(&from.object, start, host);
        self.idle = done.is_ok();
        done
    }

    fn write_all(&mut self, to: &Buffer, host: &[u8]) -> Result<(), Error> {
        if host.is_empty() {
            return Ok(());
        }
        self.write_at(to, &[(0, host)])
    }

    /// Overwrites runs of bytes of a buffer. Waits once.
    fn write_at(&mut self, to: &Buffer, runs: &[(usize, &[u8])]) -> Result<(), Error> {
        runs.iter().try_for_each(|(start, host)| to.check(*start, host.len()))?;
        self.counters.synchronisations += 1;
        self.counters.upload(runs.iter().map(|(_, host)| host.len()).sum());
        let done = self.driver.write(&to.object, runs);
        self.idle = done.is_ok();
        done
    }
}
