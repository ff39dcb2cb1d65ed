//! The way of data between the host and a device.
//!
//! Where both share one memory nothing is copied twice: buffers are mapped, and the host reads and writes in place.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::{ptr, slice};

use coarsen_core::{Error, Real};
use ocl::core::CommandQueue;
use ocl::ffi;

use super::Queue;
use crate::error::check;
use crate::memory::{Buffer, bytes, bytes_mut, bytes_of_indices, bytes_of_indices_mut};
use crate::program::INDEX;

/// A buffer in the hands of the host, given back in any case: a panic of whoever uses it would leave it there, and its next use to chance.
struct Mapping<'a> {
    queue: &'a CommandQueue,
    buffer: &'a Buffer,
    there: *mut c_void,
}

impl Mapping<'_> {
    /// Enqueues the way back.
    fn end(self) -> Result<(), Error> {
        let status = ManuallyDrop::new(self).unmap();
        check("clEnqueueUnmapMemObject", status)
    }

    fn unmap(&self) -> i32 {
        let (queue, buffer) = (self.queue.as_ptr(), self.buffer.mem.as_ptr());
        // SAFETY: `there` is a mapping of this buffer; `end` and `drop` take it, so that nobody uses it afterwards.
        unsafe { ffi::clEnqueueUnmapMemObject(queue, buffer, self.there, 0, ptr::null(), ptr::null_mut()) }
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // A panic is on its way, which says more than this status.
        let _ = self.unmap();
    }
}

impl<T: Real> Queue<T> {
    /// A list in device memory.
    pub(crate) fn list(&mut self, host: &[u32]) -> Result<Buffer, Error> {
        self.allocate(INDEX, size_of_val(host), Some(bytes_of_indices(host)))
    }

    /// Enqueues to = from.
    pub(crate) fn copy(&mut self, from: &Buffer, to: &Buffer, bytes: usize) {
        if self.failure.is_none() && bytes > 0 {
            self.idle = false;
            let done = self.enqueue_copy(from, to, bytes);
            self.keep(done);
        }
    }

    pub(super) fn enqueue_copy(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<(), Error> {
        from.check(0, bytes)?;
        to.check(0, bytes)?;
        let (from, to) = (from.mem.as_ptr(), to.mem.as_ptr());
        // SAFETY: both buffers are of `bytes` bytes or more, and the queue retains them.
        let status = unsafe {
            ffi::clEnqueueCopyBuffer(
                self.queue.as_ptr(),
                from,
                to,
                0,
                0,
                bytes,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueCopyBuffer", status)
    }

    /// Reads the start of a buffer, waiting for it.
    pub(crate) fn read<S: Real>(&mut self, from: &Buffer, host: &mut [S]) -> Result<(), Error> {
        self.state()?;
        let done = if self.memory.shared {
            self.mapped(from, host.len(), ffi::CL_MAP_READ, |there: &mut [S]| host.copy_from_slice(there))
        } else {
            self.read_at(Some(from), 0, bytes_mut(host))
        };
        self.keep(done.clone());
        done
    }

    /// Overwrites the start of a buffer, waiting for it.
    pub(crate) fn write<S: Real>(&mut self, to: &Buffer, host: &[S]) -> Result<(), Error> {
        self.state()?;
        let done = if self.memory.shared {
            let copy = |there: &mut [S]| there.copy_from_slice(host);
            self.mapped(to, host.len(), ffi::CL_MAP_WRITE_INVALIDATE_REGION, copy)
        } else {
            self.write_all(to, bytes(host))
        };
        self.keep(done.clone());
        done
    }

    /// Overwrites `runs` of the entries of a buffer that begin with entry `first`, from those of the host, with one wait for all of them.
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
        let written = runs.iter().try_for_each(|run| {
            let from = bytes(&host[run.clone()]);
            self.enqueue_write(to, (first + run.start) * size_of::<S>(), from, ffi::CL_FALSE)
        });
        // The driver may still read: nobody leaves before it is done, whether all was enqueued or not.
        self.idle = false;
        let done = written.and(self.finish());
        self.keep(done.clone());
        done
    }

    /// Overwrites the start of a list, waiting for it.
    pub(crate) fn write_list(&mut self, to: &Buffer, host: &[u32]) -> Result<(), Error> {
        self.state()?;
        let done = self.write_all(to, bytes_of_indices(host));
        self.keep(done.clone());
        done
    }

    /// Reads the start of a list, waiting for it.
    pub(crate) fn read_list(&mut self, from: &Buffer, host: &mut [u32]) -> Result<(), Error> {
        self.state()?;
        let done = self.read_at(Some(from), 0, bytes_of_indices_mut(host));
        self.keep(done.clone());
        done
    }

    /// Lets `fill` write the first `count` entries of a buffer, all of them, waiting for it; on this thread alone, see [`convert`](crate::memory::convert).
    pub(crate) fn put<S: Real>(
        &mut self,
        to: &Buffer,
        count: usize,
        fill: impl FnOnce(&mut [S]),
    ) -> Result<(), Error> {
        self.state()?;
        let done = if self.memory.shared {
            self.mapped(to, count, ffi::CL_MAP_WRITE_INVALIDATE_REGION, fill)
        } else {
            let mut staging = std::mem::take(&mut self.staging);
            let words = (count * size_of::<S>()).div_ceil(size_of::<u64>());
            staging.resize(words.max(staging.len()), 0);
            // SAFETY: `Real` is sealed to f32 and f64, to which any bytes are numbers and u64 is aligned enough.
            let values = unsafe { slice::from_raw_parts_mut(staging.as_mut_ptr().cast::<S>(), count) };
            fill(values);
            let done = self.write_all(to, bytes(values));
            self.staging = staging;
            done
        };
        self.keep(done.clone());
        done
    }

    /// Hands the first `count` entries of a buffer to the host in place, after all work enqueued before. One wait.
    fn mapped<S: Real>(
        &mut self,
        buffer: &Buffer,
        count: usize,
        flags: ffi::cl_map_flags,
        use_them: impl FnOnce(&mut [S]),
    ) -> Result<(), Error> {
        if count == 0 {
            use_them(&mut []);
            return Ok(());
        }
        buffer.check(0, count * size_of::<S>())?;
        self.counters.waits += 1;
        if flags != ffi::CL_MAP_READ {
            self.counters.sent += (count * size_of::<S>()) as u64;
        }
        let mut status = 0;
        // SAFETY: the buffer holds `count` entries; the call blocks until the host may use them.
        let there = unsafe {
            ffi::clEnqueueMapBuffer(
                self.queue.as_ptr(),
                buffer.mem.as_ptr(),
                ffi::CL_TRUE,
                flags,
                0,
                count * size_of::<S>(),
                0,
                ptr::null(),
                ptr::null_mut(),
                &mut status,
            )
        };
        check("clEnqueueMapBuffer", status)?;
        self.idle = false;
        let mapping = Mapping { queue: &self.queue, buffer, there };
        // SAFETY: the mapping is of so many entries, aligned as OpenCL aligns its largest type, and nobody else's until it ends.
        use_them(unsafe { slice::from_raw_parts_mut(there.cast::<S>(), count) });
        mapping.end()
    }

    /// Reads from a buffer, or from the slots, waiting for it.
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
        self.counters.waits += 1;
        // SAFETY: the call blocks until `host` is written, and the buffer holds `start + host.len()` bytes.
        let status = unsafe {
            ffi::clEnqueueReadBuffer(
                self.queue.as_ptr(),
                from.mem.as_ptr(),
                ffi::CL_TRUE,
                start,
                host.len(),
                host.as_mut_ptr().cast(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        self.idle = status == 0;
        check("clEnqueueReadBuffer", status)
    }

    fn write_all(&mut self, to: &Buffer, host: &[u8]) -> Result<(), Error> {
        if host.is_empty() {
            return Ok(());
        }
        self.counters.waits += 1;
        let done = self.enqueue_write(to, 0, host, ffi::CL_TRUE);
        self.idle = done.is_ok();
        done
    }

    /// Enqueues a write, and waits for it where it is `blocking`; else `host` must live, unchanged, until [`finish`](Self::finish) returns.
    fn enqueue_write(&mut self, to: &Buffer, start: usize, host: &[u8], blocking: u32) -> Result<(), Error> {
        to.check(start, host.len())?;
        self.counters.sent += host.len() as u64;
        // SAFETY: the buffer holds as many bytes from there on, and `host` is read before this returns, or lives until its caller has waited.
        let status = unsafe {
            ffi::clEnqueueWriteBuffer(
                self.queue.as_ptr(),
                to.mem.as_ptr(),
                blocking,
                start,
                host.len(),
                host.as_ptr().cast::<c_void>().cast_mut(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueWriteBuffer", status)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use coarsen_backend::Backend;
    use coarsen_core::Vector;
    use ocl::core::{self, MemInfo, MemInfoResult};

    use crate::OpenCl;

    /// Who panics while a buffer is mapped leaves it unmapped, and the place goes on.
    #[test]
    fn a_panic_gives_a_mapped_buffer_back() {
        let Ok(on) = OpenCl::<f32>::default_device() else { return println!("skipped: no device") };
        let mut device = on.device().clone();
        device.shared = true;
        let on = OpenCl::<f32>::on(&device).unwrap();
        let mut x = on.vector(&[3.0, 4.0]).unwrap();
        let panics = |_: &mut [f32]| panic!("of the closure");
        let caught = catch_unwind(AssertUnwindSafe(|| on.queue().put(&x.memory, 2, panics)));
        assert!(caught.is_err());
        on.sync().unwrap();
        let mapped = core::get_mem_object_info(&x.memory.mem, MemInfo::MapCount).unwrap();
        assert!(matches!(mapped, MemInfoResult::MapCount(0)), "{mapped:?}");
        on.write(&[5.0, 12.0], &mut x).unwrap();
        assert_eq!(x.norm(), 13.0);
    }
}
