//! Launches, slots, waits, the first failure.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use coarsen_core::{Error, Real};
use ocl::core::{self, Mem};
use ocl::ffi;

use crate::error::{check, failed};
use crate::program::{INDEX, Kernel, LENGTH, Program, real};
use crate::{Counters, Device, OpenClError};

/// Slots at the start; their number doubles when it does not suffice.
const SLOTS: usize = 256;

/// Sums that one reduction makes at most.
pub(crate) const SUMS: usize = 4;

/// Device memory and the type of its entries.
pub(crate) struct Buffer {
    mem: Mem,
    entry: &'static str,
}

/// What a kernel is given.
pub(crate) enum Arg<'a, T> {
    /// A buffer.
    Memory(&'a Buffer),
    /// The buffer of all slots.
    Slots,
    /// The buffer of partial sums.
    Partial,
    /// A length.
    Length(usize),
    /// A slot, or a small count.
    Index(u32),
    /// A number that the host knows.
    Number(T),
}

/// How many items run a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Items {
    One,
    Entries(usize),
    Groups(usize),
}

/// One in-order queue with its kernels and scalars.
///
/// Since commands run in the order they were enqueued, a slot or buffer may be reused as soon as its last use is
/// enqueued: nothing here waits but [`look`](Self::look), [`read`](Self::read), [`write`](Self::write) and
/// [`finish`](Self::finish).
pub(crate) struct Queue<T> {
    context: core::Context,
    queue: core::CommandQueue,
    program: Program,
    slots: Buffer,
    /// Users of each slot; 0 means free.
    users: Vec<u32>,
    free: Vec<u32>,
    /// Where a look lands on the host: entry k is for slot k.
    landing: Vec<T>,
    partial: Buffer,
    counters: Counters,
    /// Whether everything enqueued has run: a blocking transfer was the last command.
    idle: bool,
    failure: Option<Error>,
    of: PhantomData<fn(T)>,
}

impl<T: Real> Queue<T> {
    pub(crate) const ZERO: u32 = 0;
    pub(crate) const ONE: u32 = 1;
    pub(crate) const MINUS_ONE: u32 = 2;

    pub(crate) fn new(device: &Device) -> Result<Self, OpenClError> {
        let context = device.context()?;
        let queue =
            core::create_command_queue(&context, device.id, None).map_err(failed("clCreateCommandQueue"))?;
        let program = Program::build::<T>(&context, device)?;
        let mut counters = Counters::default();
        let slots = allocate(&context, &mut counters, real::<T>(), SLOTS * size_of::<T>(), None)?;
        let partials = SUMS * program.groups(usize::MAX) * size_of::<f64>();
        let partial = allocate(&context, &mut counters, program.sum, partials, None)?;
        let mut users = vec![0; SLOTS];
        users[..3].fill(1);
        let free = (3..SLOTS as u32).rev().collect();
        let landing = vec![T::zero(); SLOTS];
        let (idle, failure, of) = (false, None, PhantomData);
        let mut all = Self {
            context,
            queue,
            program,
            slots,
            users,
            free,
            landing,
            partial,
            counters,
            idle,
            failure,
            of,
        };
        for (slot, v) in [(Self::ZERO, 0.0), (Self::ONE, 1.0), (Self::MINUS_ONE, -1.0)] {
            all.set(slot, T::of(v));
        }
        all.state()?;
        Ok(all)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// The first failure.
    pub(crate) fn state(&self) -> Result<(), Error> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Device memory of at least one entry, holding `host` where given.
    pub(crate) fn allocate(
        &mut self,
        entry: &'static str,
        bytes: usize,
        host: Option<&[u8]>,
    ) -> Result<Buffer, Error> {
        self.state()?;
        allocate(&self.context, &mut self.counters, entry, bytes, host)
    }

    // ---- slots

    /// A slot for one user.
    pub(crate) fn take(&mut self) -> u32 {
        if self.free.is_empty() && self.failure.is_none() {
            let grown = self.grow();
            self.keep(grown);
        }
        // After a failure any slot will do: nothing is computed any more.
        let slot = self.free.pop().unwrap_or(Self::ZERO);
        self.retain(slot);
        slot
    }

    /// One more user of a slot.
    pub(crate) fn retain(&mut self, slot: u32) {
        self.users[slot as usize] += 1;
    }

    /// One user less; the slot of the last one is reused.
    pub(crate) fn release(&mut self, slot: u32) {
        self.users[slot as usize] -= 1;
        if self.users[slot as usize] == 0 {
            self.free.push(slot);
        }
    }

    /// Twice as many slots.
    fn grow(&mut self) -> Result<(), Error> {
        let (old, new) = (self.users.len(), 2 * self.users.len());
        let slots = self.allocate(real::<T>(), new * size_of::<T>(), None)?;
        self.enqueue_copy(&self.slots, &slots, old * size_of::<T>())?;
        self.idle = false;
        self.slots = slots;
        self.users.resize(new, 0);
        self.landing.resize(new, T::zero());
        self.free.extend((old as u32..new as u32).rev());
        Ok(())
    }

    /// Slot = v.
    pub(crate) fn set(&mut self, slot: u32, v: T) {
        self.launch(Kernel::Set, Items::One, &[Arg::Slots, Arg::Index(slot), Arg::Number(v)]);
    }

    /// The numbers in some slots, with one wait: one transfer of all slots between the first and the last of them.
    pub(crate) fn look<const N: usize>(&mut self, slots: [u32; N]) -> [T; N] {
        let (Some(&first), Some(&last)) = (slots.iter().min(), slots.iter().max()) else {
            return [T::nan(); N];
        };
        let mut landing = std::mem::take(&mut self.landing);
        let stretch = &mut landing[first as usize..=last as usize];
        let start = first as usize * size_of::<T>();
        let done = self.state().and_then(|()| self.read_at(None, start, bytes_mut(stretch)));
        let numbers = slots.map(|slot| landing[slot as usize]);
        self.landing = landing;
        self.keep(done);
        if self.failure.is_none() { numbers } else { [T::nan(); N] }
    }

    // ---- commands

    /// Enqueues a kernel, or notes why that failed; nothing for 0 items or after a failure.
    pub(crate) fn launch(&mut self, kernel: Kernel, items: Items, args: &[Arg<'_, T>]) {
        if self.failure.is_none() && !matches!(items, Items::Entries(0)) {
            self.idle = false;
            let done = self.try_launch(kernel, items, args);
            self.keep(done);
        }
    }

    fn try_launch(&mut self, kernel: Kernel, items: Items, args: &[Arg<'_, T>]) -> Result<(), Error> {
        let (object, types) = self.program.kernel(kernel);
        debug_assert_eq!(types.len(), args.len(), "{kernel:?}");
        for (k, (arg, spelled)) in args.iter().zip(types).enumerate() {
            let (length, handle);
            let memory = |buffer: &Buffer| (buffer.mem.as_ptr(), buffer.entry);
            let (size, value, spelling) = match arg {
                Arg::Memory(_) | Arg::Slots | Arg::Partial => {
                    let entry;
                    (handle, entry) = match arg {
                        Arg::Memory(buffer) => memory(buffer),
                        Arg::Slots => memory(&self.slots),
                        _ => memory(&self.partial),
                    };
                    (size_of::<ffi::cl_mem>(), (&raw const handle).cast::<c_void>(), entry)
                }
                Arg::Length(n) => {
                    length = *n as u64;
                    (size_of::<u64>(), (&raw const length).cast(), LENGTH)
                }
                Arg::Index(i) => (size_of::<u32>(), ptr::from_ref(i).cast(), INDEX),
                Arg::Number(v) => (size_of::<T>(), ptr::from_ref(v).cast(), real::<T>()),
            };
            debug_assert_eq!(spelled.trim_end_matches('*'), spelling, "{kernel:?}, parameter {k}");
            // SAFETY: `value` points to `size` bytes that live until the call returns, which copies them.
            let status = unsafe { ffi::clSetKernelArg(object.as_ptr(), k as u32, size, value) };
            check("clSetKernelArg", status)?;
        }
        let width = self.program.width;
        let (global, local) = match items {
            Items::One => (1, 1),
            Items::Entries(n) => (n.div_ceil(width) * width, width),
            Items::Groups(g) => (g * width, width),
        };
        // SAFETY: all arguments are set, to buffers as long as the lengths given with them; the queue retains them.
        let status = unsafe {
            ffi::clEnqueueNDRangeKernel(
                self.queue.as_ptr(),
                object.as_ptr(),
                1,
                ptr::null(),
                &global,
                &local,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        check("clEnqueueNDRangeKernel", status)?;
        self.counters.launches += 1;
        Ok(())
    }

    /// Runs `kernel`, which leaves partial sums, and adds these into the slots `out`.
    ///
    /// `args` without the buffer of partial sums, which comes last.
    pub(crate) fn reduce(&mut self, kernel: Kernel, n: usize, args: &[Arg<'_, T>], out: &[u32]) {
        let groups = self.program.groups(n);
        self.launch(kernel, Items::Groups(groups), args);
        let out_of = |k: usize| Arg::Index(*out.get(k).unwrap_or(&Self::ZERO));
        let (groups, count) = (Arg::Index(groups as u32), Arg::Index(out.len() as u32));
        let total = [groups, count, Arg::Partial, Arg::Slots, out_of(0), out_of(1), out_of(2), out_of(3)];
        self.launch(Kernel::Total, Items::Groups(1), &total);
    }

    /// Enqueues to = from.
    pub(crate) fn copy(&mut self, from: &Buffer, to: &Buffer, bytes: usize) {
        if self.failure.is_none() && bytes > 0 {
            self.idle = false;
            let done = self.enqueue_copy(from, to, bytes);
            self.keep(done);
        }
    }

    fn enqueue_copy(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<(), Error> {
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
    pub(crate) fn read(&mut self, from: &Buffer, host: &mut [u8]) -> Result<(), Error> {
        self.state()?;
        self.read_at(Some(from), 0, host)
    }

    /// Reads from a buffer, or from the slots, waiting for it.
    fn read_at(&mut self, from: Option<&Buffer>, start: usize, host: &mut [u8]) -> Result<(), Error> {
        if host.is_empty() {
            return Ok(());
        }
        self.counters.waits += 1;
        // SAFETY: the call blocks until `host` is written, and the buffer holds `start + host.len()` bytes.
        let status = unsafe {
            ffi::clEnqueueReadBuffer(
                self.queue.as_ptr(),
                from.unwrap_or(&self.slots).mem.as_ptr(),
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

    /// Writes the start of a buffer, waiting for it.
    pub(crate) fn write(&mut self, to: &Buffer, host: &[u8]) -> Result<(), Error> {
        self.state()?;
        if host.is_empty() {
            return Ok(());
        }
        self.counters.waits += 1;
        // SAFETY: the call blocks until `host` is read, and the buffer holds as many bytes.
        let status = unsafe {
            ffi::clEnqueueWriteBuffer(
                self.queue.as_ptr(),
                to.mem.as_ptr(),
                ffi::CL_TRUE,
                0,
                host.len(),
                host.as_ptr().cast::<c_void>().cast_mut(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        self.idle = status == 0;
        check("clEnqueueWriteBuffer", status)
    }

    /// Waits for everything enqueued so far, if a blocking transfer has not done so.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if self.failure.is_none() && !self.idle {
            self.counters.waits += 1;
            // SAFETY: the queue is alive.
            let done = check("clFinish", unsafe { ffi::clFinish(self.queue.as_ptr()) });
            self.idle = done.is_ok();
            self.keep(done);
        }
        self.state()
    }

    /// Notes the first failure.
    fn keep(&mut self, done: Result<(), Error>) {
        if let (None, Err(e)) = (&self.failure, done) {
            self.failure = Some(e);
        }
    }
}

/// Device memory of at least 8 bytes (zero is not allowed), holding `host` where given.
fn allocate(
    context: &core::Context,
    counters: &mut Counters,
    entry: &'static str,
    bytes: usize,
    host: Option<&[u8]>,
) -> Result<Buffer, Error> {
    let host = host.filter(|h| !h.is_empty());
    let copy = if host.is_some() { ffi::CL_MEM_COPY_HOST_PTR } else { 0 };
    let source = host.map_or(ptr::null(), <[u8]>::as_ptr);
    let mut status = 0;
    debug_assert!(host.is_none_or(|h| h.len() == bytes));
    // SAFETY: `source` is null or as long as the buffer, and is copied before the call returns.
    let mem = unsafe {
        let (flags, source) = (ffi::CL_MEM_READ_WRITE | copy, source.cast::<c_void>().cast_mut());
        ffi::clCreateBuffer(context.as_ptr(), flags, bytes.max(8), source, &mut status)
    };
    check("clCreateBuffer", status)?;
    counters.allocations += 1;
    // SAFETY: the call succeeded, so `mem` is a buffer with one reference, which the value takes over.
    Ok(Buffer { mem: unsafe { Mem::from_raw_create_ptr(mem) }, entry })
}

/// The bytes of numbers.
pub(crate) fn bytes<T: Real>(x: &[T]) -> &[u8] {
    // SAFETY: `Real` is sealed to f32 and f64, which have no padding.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) }
}

/// The bytes of numbers, to be written.
pub(crate) fn bytes_mut<T: Real>(x: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes`; any bytes are numbers.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), size_of_val(x)) }
}

/// The bytes of indices.
pub(crate) fn bytes_of_indices(x: &[u32]) -> &[u8] {
    // SAFETY: u32 has no padding.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) }
}

#[cfg(test)]
mod tests {
    use coarsen_core::{Error, Scalar, Vector};

    use crate::{OpenCl, OpenClError};

    /// A call that the driver refuses makes numbers NaN, and everything that can return an error returns this one.
    #[test]
    fn the_first_failure_is_kept() {
        let on = match OpenCl::<f32>::default_device() {
            Ok(on) => on,
            Err(why @ (OpenClError::Absent(_) | OpenClError::Precision { .. })) => {
                return println!("skipped: {why}");
            }
            Err(why) => panic!("{why}"),
        };
        let (mut x, y) = (on.vector(&[3.0]).unwrap(), on.vector(&[4.0]).unwrap());
        on.queue().copy(&y.memory, &x.memory, 1 << 20); // longer than both
        let first = on.sync().unwrap_err();
        assert!(matches!(first, Error::Device { call: "clEnqueueCopyBuffer", status: ..0 }), "{first}");
        let launches = on.counters().launches;
        x.axpy(&y.scalar(2.0), &y);
        assert!(x.norm().is_nan() && (y.scalar(0.0) + y.scalar(1.0)).read().is_nan());
        assert_eq!(on.counters().launches, launches);
        let found = [
            x.sync(),
            x.like().map(drop),
            on.vector(&[1.0]).map(drop),
            on.read(&y, &mut [0.0]),
            on.write(&[1.0], &mut x),
        ];
        assert_eq!(found, [(); 5].map(|()| Err(first.clone())));
    }
}
