//! Launches, waits, the first failure; `transfer` is the way of data.

mod transfer;

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use coarsen_core::{Error, Real};
use ocl::{core, ffi};

use crate::error::{check, failed};
use crate::handle::Handle;
use crate::memory::{Buffer, Memory, bytes_mut};
use crate::program::{Entry, INDEX, Kernel, LENGTH, Module, Program, real};
use crate::slots::{MINUS_ONE, ONE, Slots, ZERO};
use crate::{Counters, Device};

/// Sums that one reduction makes at most.
pub(crate) const SUMS: usize = 6;

/// What a kernel is given.
#[derive(Clone, Copy)]
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
    /// A count that an index has to hold: the queue fails with [`Error::TooLarge`] where it cannot.
    Count(usize),
    /// A number that the host knows.
    Number(T),
}

/// How many items run a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Items {
    /// One alone.
    One,
    /// One an entry, and more to fill the last group.
    Entries(usize),
    /// As few as take all entries, some at once.
    Packs(usize),
    /// Groups of a reduction.
    Groups(usize),
    /// So many groups of so many items.
    Shaped(usize, usize),
}

/// One in-order queue with its kernels and scalars.
///
/// Since commands run in the order they were enqueued, a slot or buffer may be reused as soon as its last use is
/// enqueued: nothing here waits but [`look`](Self::look), [`read`](Self::read), [`write`](Self::write) and
/// [`finish`](Self::finish).
pub(crate) struct Queue<T> {
    context: Handle<core::Context>,
    queue: Handle<core::CommandQueue>,
    memory: Memory,
    program: Program,
    /// What is in the slots.
    scalars: Buffer,
    slots: Slots,
    /// Where a look lands on the host: entry k is for slot k.
    landing: Vec<T>,
    partial: Buffer,
    /// Where values are put in order before they are moved.
    staging: Vec<u64>,
    counters: Counters,
    /// Whether everything enqueued has run: a blocking transfer was the last command.
    idle: bool,
    failure: Option<Error>,
    of: PhantomData<fn(T)>,
}

impl<T: Real> Queue<T> {
    pub(crate) fn new(device: &Device) -> Result<Self, Error> {
        let context = Handle::new(device.context()?);
        let queue =
            core::create_command_queue(&*context, device.id, None).map_err(failed("clCreateCommandQueue"))?;
        let queue = Handle::new(queue);
        let program = Program::build::<T>(&context, device)?;
        let memory = Memory::of(device);
        let slots = Slots::new();
        let scalars = memory.allocate(&context, real::<T>(), slots.count() * size_of::<T>(), None)?;
        let partials = SUMS * program.groups(usize::MAX) * size_of::<f64>();
        let partial = memory.allocate(&context, program.sum, partials, None)?;
        let counters = Counters { allocations: 2, ..Counters::default() };
        let landing = vec![T::zero(); slots.count()];
        let (staging, idle, failure, of) = (Vec::new(), false, None, PhantomData);
        let mut all = Self {
            context,
            queue,
            memory,
            program,
            scalars,
            slots,
            landing,
            partial,
            staging,
            counters,
            idle,
            failure,
            of,
        };
        for (slot, v) in [(ZERO, 0.0), (ONE, 1.0), (MINUS_ONE, -1.0)] {
            all.set(slot, T::of(v));
        }
        all.state()?;
        Ok(all)
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { compiled: self.program.compiled, bytes: self.memory.taken(), ..self.counters }
    }

    /// Rows or blocks that lie side by side on this device.
    pub(crate) fn slice(&self) -> usize {
        self.program.slice
    }

    /// How OpenCL C spells the type that sums are made in.
    pub(crate) fn sum(&self) -> &'static str {
        self.program.sum
    }

    /// The number of a module of kernels, compiled at the first call.
    pub(crate) fn module(&mut self, wanted: &Module) -> Result<usize, Error> {
        self.state()?;
        self.program.module(&self.context, wanted)
    }

    /// Work groups of a reduction over `n` entries.
    pub(crate) fn groups(&self, n: usize) -> usize {
        self.program.groups(n)
    }

    /// Items in a work group of an entry-wise kernel.
    pub(crate) fn local(&self) -> usize {
        self.program.local
    }

    /// The sizes that this device allows, from a handful of items on.
    pub(crate) fn locals(&self) -> Vec<usize> {
        self.program.locals().collect()
    }

    /// Takes another size.
    pub(crate) fn set_local(&mut self, local: usize) {
        self.program.local = local;
    }

    /// Takes another size, here and in places to come.
    pub(crate) fn keep_local(&mut self, local: usize) {
        self.program.local = local;
        self.program.store_local();
    }

    /// Whether so many bytes more are to be had.
    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), Error> {
        self.memory.check_room(bytes)
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
        let buffer = self.memory.allocate(&self.context, entry, bytes, host)?;
        self.counters.allocations += 1;
        Ok(buffer)
    }

    // ---- slots

    /// A new scalar's slot.
    pub(crate) fn take(&mut self) -> u32 {
        if self.slots.all_taken() && self.failure.is_none() {
            let grown = self.grow();
            self.keep(grown);
        }
        // After a failure any slot will do: nothing is computed any more.
        self.slots.take()
    }

    /// One more user of a slot.
    pub(crate) fn retain(&mut self, slot: u32) {
        self.slots.retain(slot);
    }

    /// One user less; the slot of the last one is reused.
    pub(crate) fn release(&mut self, slot: u32) {
        self.slots.release(slot);
    }

    /// Twice as many slots.
    fn grow(&mut self) -> Result<(), Error> {
        let old = self.slots.count();
        let scalars = self.allocate(real::<T>(), 2 * old * size_of::<T>(), None)?;
        self.enqueue_copy(&self.scalars, &scalars, old * size_of::<T>())?;
        self.scalars = scalars;
        self.idle = false;
        self.slots.double();
        self.landing.resize(2 * old, T::zero());
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
    ///
    /// *Panics* where `args` are not what the kernel is declared with: sources and launches of this crate do not fit together then, whatever a user does.
    pub(crate) fn launch(&mut self, kernel: impl Into<Entry>, items: Items, args: &[Arg<'_, T>]) {
        let nothing =
            matches!(items, Items::Entries(0) | Items::Packs(0) | Items::Groups(0) | Items::Shaped(0, _));
        if self.failure.is_none() && !nothing {
            self.idle = false;
            let done = self.try_launch(kernel.into(), items, args);
            self.keep(done);
        }
    }

    fn try_launch(&mut self, kernel: Entry, items: Items, args: &[Arg<'_, T>]) -> Result<(), Error> {
        let (object, types) = self.program.kernel(kernel);
        assert!(types.is_empty() || types.len() == args.len(), "{kernel:?}: {types:?}");
        for (k, arg) in args.iter().enumerate() {
            let buffer = match arg {
                Arg::Memory(buffer) => buffer,
                Arg::Partial => &self.partial,
                _ => &self.scalars,
            };
            let handle = buffer.mem.as_ptr();
            let (length, index);
            let (size, value, spelling) = match arg {
                Arg::Memory(_) | Arg::Slots | Arg::Partial => {
                    (size_of_val(&handle), (&raw const handle).cast::<c_void>(), buffer.entry)
                }
                Arg::Length(n) => {
                    length = *n as u64;
                    (size_of::<u64>(), (&raw const length).cast(), LENGTH)
                }
                Arg::Index(i) => (size_of::<u32>(), ptr::from_ref(i).cast(), INDEX),
                Arg::Count(n) => {
                    let (what, limit) = ("a count that a kernel is given", u32::MAX as usize);
                    index = u32::try_from(*n).map_err(|_| Error::TooLarge { what, count: *n, limit })?;
                    (size_of::<u32>(), (&raw const index).cast(), INDEX)
                }
                Arg::Number(v) => (size_of::<T>(), ptr::from_ref(v).cast(), real::<T>()),
            };
            assert!(
                types.get(k).is_none_or(|spelled| spelled.is_empty() || spelled == spelling),
                "{kernel:?}, parameter {k}: {types:?} and {spelling}"
            );
            // SAFETY: `value` points to `size` bytes that live until the call returns, which copies them.
            let status = unsafe { ffi::clSetKernelArg(object.as_ptr(), k as u32, size, value) };
            check("clSetKernelArg", status)?;
        }
        let (Program { width, lanes, .. }, local) = (&self.program, self.program.local_of(kernel));
        let (width, lanes) = (*width, *lanes);
        let (global, local) = match items {
            Items::One => (1, 1),
            Items::Entries(n) => (n.next_multiple_of(local), local),
            Items::Packs(n) => (n.div_ceil(lanes).next_multiple_of(local), local),
            Items::Groups(g) => (g * width, width),
            Items::Shaped(g, local) => (g * local, local),
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

    /// Runs `kernel`, whose groups leave partial sums in the last of `args`, and adds these into the slots `out`.
    pub(crate) fn reduce(&mut self, kernel: impl Into<Entry>, n: usize, args: &[Arg<'_, T>], out: &[u32]) {
        let groups = self.program.groups(n);
        self.launch(kernel, Items::Groups(groups), args);
        let out_of = |k: usize| Arg::Index(*out.get(k).unwrap_or(&ZERO));
        let (groups, count) = (Arg::Index(groups as u32), Arg::Index(out.len() as u32));
        let [a, b, c, d, e, f] = std::array::from_fn(out_of);
        let total = [groups, count, Arg::Partial, Arg::Slots, a, b, c, d, e, f];
        self.launch(Kernel::Total, Items::Groups(1), &total);
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

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use coarsen_backend::Backend;
    use coarsen_core::{Error, Scalar, Vector};

    use super::{Arg, Items};
    use crate::program::{Kernel, Module};
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
        let bad = on.vector(&[f32::NAN]).unwrap();
        assert_eq!(bad.first_not_finite(), Some(0));
        let set = [Arg::Slots, Arg::Index(200), Arg::Number(1.0)];
        on.queue().launch(Kernel::Set, Items::Shaped(1, 1 << 30), &set); // no group is as large
        let first = on.sync().unwrap_err();
        assert!(matches!(first, Error::Device { call: "clEnqueueNDRangeKernel", status: ..0 }), "{first}");
        let launches = on.counters().launches;
        x.axpy(&y.scalar(2.0), &y);
        assert!(x.norm().is_nan() && (y.scalar(0.0) + y.scalar(1.0)).read().is_nan());
        assert_eq!(on.counters().launches, launches);
        assert_eq!(bad.first_not_finite(), None); // it cannot say any more
        let found = [
            x.sync(),
            x.like().map(drop),
            on.vector(&[1.0]).map(drop),
            on.read(&y, &mut [0.0]),
            on.write(&[1.0], &mut x),
        ];
        assert_eq!(found, [(); 5].map(|()| Err(first.clone())));
    }

    /// A count that no index can say is refused, not cut.
    #[test]
    fn counts_beyond_an_index_are_refused() {
        let Ok(on) = OpenCl::<f32>::default_device() else { return println!("skipped: no device") };
        let set = |count| [Arg::Slots, Arg::Count(count), Arg::Number(1.0)];
        on.queue().launch(Kernel::Set, Items::One, &set(200));
        on.sync().unwrap();
        let count = u32::MAX as usize + 1;
        on.queue().launch(Kernel::Set, Items::One, &set(count));
        let found = on.sync();
        assert!(matches!(found, Err(Error::TooLarge { count: c, .. }) if c == count), "{found:?}");
    }

    /// Arguments of other types or another number than a kernel is declared with never reach the driver, and the place goes on.
    #[test]
    fn launches_of_other_types_panic() {
        let Ok(on) = OpenCl::<f32>::default_device() else { return println!("skipped: no device") };
        let types = on.queue().program.kernel(Kernel::Set.into()).1.to_vec();
        if types != ["float", "uint", "float"] {
            return println!("skipped: the driver tells {types:?}");
        }
        let list = on.queue().allocate("uint", 64, None).unwrap();
        let (slot, number) = (Arg::Index(200), Arg::Number(1.0));
        let wrong: [&[Arg<'_, f32>]; 6] = [
            &[Arg::Slots, slot],
            &[Arg::Slots, slot, number, number],
            &[Arg::Slots, number, number],
            &[Arg::Slots, Arg::Length(200), number],
            &[Arg::Slots, slot, slot],
            &[Arg::Memory(&list), slot, number],
        ];
        let launches = on.counters().launches;
        for (k, args) in wrong.into_iter().enumerate() {
            let launch = AssertUnwindSafe(|| on.queue().launch(Kernel::Set, Items::One, args));
            assert!(catch_unwind(launch).is_err(), "arguments {k}");
        }
        assert_eq!((on.counters().launches, on.vector(&[3.0, 4.0]).unwrap().norm()), (launches, 5.0));
    }

    /// What the compiler refuses is an error with its log, and the place goes on.
    #[test]
    fn a_build_failure_has_a_log() {
        let Ok(on) = OpenCl::<f32>::default_device() else { return println!("skipped: no device") };
        let broken = Module {
            sources: &["__kernel void broken(__global float *x) { x[0] = nobody_knows; }"],
            kernels: &["broken"],
            options: String::new(),
        };
        match on.queue().module(&broken) {
            Err(Error::Build { device, log }) => {
                assert!(device == on.device().name && log.contains("nobody_knows"), "{log}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(on.vector(&[3.0, 4.0]).unwrap().norm(), 5.0);
    }
}
