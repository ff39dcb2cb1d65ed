//! Transfers between the host and a device.
//!
//! If both share one memory, buffers are mapped, and the host reads and writes them without another copy.

use std::ops::Range;
use std::slice;

use coarsen_core::{Error, Real};

use super::Queue;
use crate::driver::{Access, Staging, Type};
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
    assert!(before.is_empty() && after.is_empty(), "memory of a driver is aligned");
    values
}

impl<T: Real> Queue<T> {
    /// Uploads a list to a new buffer.
    pub(crate) fn list(&mut self, host: &[u32]) -> Result<Buffer, Error> {
        self.allocate(Type::Index, size_of_val(host), Some(bytes_of_indices(host)))
    }

    pub(crate) fn copy(&mut self, from: &Buffer, to: &Buffer, bytes: usize) {
        if bytes > 0 {
            let _kept = self.run(|queue| {
                queue.idle = false;
                from.check(0, bytes)?;
                to.check(0, bytes)?;
                queue.driver.copy(&from.object, &to.object, bytes)
            });
        }
    }

    /// Reads the start of a buffer and synchronises.
    pub(crate) fn read<S: Real>(&mut self, from: &Buffer, host: &mut [S]) -> Result<(), Error> {
        self.run(|queue| match queue.memory.shared {
            true => queue.mapped(from, host.len(), Access::Read, |there| host.copy_from_slice(there)),
            false => queue.read_at(Some(from), 0, bytes_mut(host)),
        })
    }

    /// Overwrites the start of a buffer and synchronises.
    pub(crate) fn write<S: Real>(&mut self, to: &Buffer, host: &[S]) -> Result<(), Error> {
        self.run(|queue| match queue.memory.shared {
            true => queue.mapped(to, host.len(), Access::Overwrite, |there| there.copy_from_slice(host)),
            false => queue.write_at(to, &[(0, bytes(host))]),
        })
    }

    /// Copies the entries `runs` of `host` to a buffer; entry k of `host` belongs to entry `first` + k of the
    /// buffer. Synchronises once.
    pub(crate) fn write_runs<S: Real>(
        &mut self,
        to: &Buffer,
        first: usize,
        host: &[S],
        runs: &[Range<usize>],
    ) -> Result<(), Error> {
        let at = |run: &Range<usize>| ((first + run.start) * size_of::<S>(), bytes(&host[run.clone()]));
        let runs: Vec<_> = runs.iter().map(at).collect();
        self.run(|queue| queue.write_at(to, &runs))
    }

    /// Overwrites the start of a list and synchronises.
    pub(crate) fn write_list(&mut self, to: &Buffer, host: &[u32]) -> Result<(), Error> {
        self.run(|queue| queue.write_at(to, &[(0, bytes_of_indices(host))]))
    }

    /// Reads the start of a list and synchronises.
    pub(crate) fn read_list(&mut self, from: &Buffer, host: &mut [u32]) -> Result<(), Error> {
        self.run(|queue| queue.read_at(Some(from), 0, bytes_of_indices_mut(host)))
    }

    /// Calls `fill` to write all of the first `count` entries of a buffer, and synchronises. `fill` must stay
    /// on this thread, see [`convert`](crate::memory::convert).
    pub(crate) fn put<S: Real>(
        &mut self,
        to: &Buffer,
        count: usize,
        fill: impl FnOnce(&mut [S]),
    ) -> Result<(), Error> {
        let needed = count * size_of::<S>();
        self.run(|queue| {
            to.check(0, needed)?;
            if queue.memory.shared {
                return queue.mapped(to, count, Access::Overwrite, fill);
            }
            let mut staging = queue.staged(needed);
            let values = numbers(&mut (*staging).as_mut()[..needed]);
            fill(values);
            let done = queue.write_at(to, &[(0, bytes(values))]);
            queue.staging = Some(staging);
            done
        })
    }

    /// Returns memory of the host from which uploads are fast: that of the last upload, if it is large enough.
    fn staged(&mut self, bytes: usize) -> Staging {
        let last = self.staging.take();
        last.and_then(|mut last| ((*last).as_mut().len() >= bytes).then_some(last))
            .or_else(|| self.driver.staging(bytes.next_power_of_two()))
            .or_else(|| self.driver.staging(bytes))
            .unwrap_or_else(|| Box::new(Pageable(vec![0; bytes.div_ceil(size_of::<u64>())])))
    }

    /// Maps the first `count` entries of a buffer for the host, after all work enqueued so far. Synchronises once.
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

    /// Reads from a buffer, or from the slots, and synchronises.
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

    /// Overwrites runs of bytes of a buffer. Synchronises once.
    fn write_at(&mut self, to: &Buffer, runs: &[(usize, &[u8])]) -> Result<(), Error> {
        runs.iter().try_for_each(|(start, host)| to.check(*start, host.len()))?;
        let bytes = runs.iter().map(|(_, host)| host.len()).sum();
        if bytes == 0 {
            return Ok(());
        }
        self.counters.synchronisations += 1;
        self.counters.upload(bytes);
        let done = self.driver.write(&to.object, runs);
        self.idle = done.is_ok();
        done
    }
}
