//! The queue: slots, synchronisation and the first failure. Launches are in `launch`, operations on slots in `scalars`, transfers in
//! `transfer`, those beside kernels in `beside`.

mod beside;
mod counters;
mod launch;
mod scalars;
mod transfer;

use std::marker::PhantomData;

use coarsen_core::{Error, Real};

use crate::Device;
use crate::driver::{Driver, Staging, Type};
use crate::memory::{Buffer, Memory, bytes, bytes_mut};
use crate::program::{Module, Program};
use crate::slots::{CONSTANTS, Slots};

pub use counters::Counters;
pub(crate) use launch::{Arg, Items};
pub(crate) use scalars::Operation;
use scalars::{Pending, REDUCTIONS};

/// The largest number of sums of one reduction.
pub(crate) const SUMS: usize = 6;

/// One in-order queue with its kernels and scalars.
///
/// Commands run in the order in which they were enqueued, so a slot or buffer may be reused as soon as its
/// last use is enqueued. Only reads, writes ([`read_slots`](Self::read_slots), [`read`](Self::read),
/// [`write`](Self::write), ...) and [`finish`](Self::finish) synchronise.
pub(crate) struct Queue<T> {
    driver: Box<dyn Driver>,
    memory: Memory,
    pub(crate) program: Program,
    /// The memory of the slots.
    scalars: Buffer,
    slots: Slots,
    /// The host buffer that [`read_slots`](Self::read_slots) reads into; entry k is for slot k.
    landing: Vec<T>,
    /// The buffers of partial sums.
    partials: Vec<Buffer>,
    /// Operations on slots that no kernel has needed yet.
    pending: Pending,
    /// The memory of the host in which values are arranged before an upload.
    staging: Option<Staging>,
    counters: Counters,
    /// Whether all enqueued commands have run, because the last command was blocking.
    idle: bool,
    failure: Option<Error>,
    of: PhantomData<fn(T)>,
}

impl<T: Real> Queue<T> {
    pub(crate) fn new(device: &Device) -> Result<Self, Error> {
        let mut driver = (device.open)(device)?;
        let program = Program::build::<T>(&mut *driver, device)?;
        let memory = Memory::of(device);
        let slots = Slots::new();
        let mut landing = vec![T::zero(); slots.count()];
        landing.iter_mut().zip(CONSTANTS).for_each(|(to, v)| *to = T::from_f64(v));
        let (size, constants) = (size_of_val(&landing[..]), Some(bytes(&landing)));
        let scalars = memory.allocate(&mut *driver, Type::of::<T>(), size, constants)?;
        let partials = SUMS * program.groups(usize::MAX) * size_of::<f64>();
        let partials = (0..REDUCTIONS).map(|_| memory.allocate(&mut *driver, program.sum, partials, None));
        let partials = partials.collect::<Result<Vec<_>, _>>()?;
        let counters = Counters { allocations: 1 + REDUCTIONS as u64, ..Counters::default() };
        let (staging, idle, failure, of) = (None, false, None, PhantomData);
        Ok(Self {
            driver,
            memory,
            program,
            scalars,
            slots,
            landing,
            partials,
            pending: Pending::default(),
            staging,
            counters,
            idle,
            failure,
            of,
        })
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { compiled: self.program.compiled, bytes: self.memory.taken(), ..self.counters }
    }

    /// Returns the number of a module of kernels. The first call for a module compiles it.
    pub(crate) fn module(&mut self, wanted: &Module) -> Result<usize, Error> {
        self.module_with(wanted, "")
    }

    /// As [`module`](Self::module), with the source of one element of an energy.
    pub(crate) fn module_with(&mut self, wanted: &Module, element: &'static str) -> Result<usize, Error> {
        self.state()?;
        self.program.module(&mut *self.driver, wanted, element)
    }

    /// Sets the work-group size of entry-wise kernels, for this backend and for later backends.
    pub(crate) fn keep_local(&mut self, local: usize) {
        self.program.local = local;
        self.program.keep_local(&mut *self.driver);
    }

    /// Checks that `bytes` more bytes can be allocated.
    pub(crate) fn check_memory(&self, bytes: u64) -> Result<(), Error> {
        self.memory.check_memory(bytes)
    }

    /// Returns the first failure, if there was one.
    pub(crate) fn state(&self) -> Result<(), Error> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Allocates at least 8 bytes of device memory, initialized with `host` if given.
    pub(crate) fn allocate(
        &mut self,
        entry: Type,
        bytes: usize,
        host: Option<&[u8]>,
    ) -> Result<Buffer, Error> {
        self.state()?;
        let buffer = self.memory.allocate(&mut *self.driver, entry, bytes, host)?;
        self.counters.allocations += 1;
        if let Some(host) = host.filter(|host| !host.is_empty()) {
            self.counters.upload(host.len());
        }
        Ok(buffer)
    }

    // ---- slots

    /// Returns a slot for a new scalar.
    pub(crate) fn take(&mut self) -> u32 {
        if self.slots.all_taken() {
            // Slots without users are free once the pending operations are enqueued.
            self.enqueue_scalars();
        }
        if self.slots.all_taken() && self.failure.is_none() {
            let grown = self.grow();
            self.keep(grown);
        }
        // After a failure no kernel is launched, so any slot can be returned.
        self.slots.take()
    }

    fn grow(&mut self) -> Result<(), Error> {
        let old = self.slots.count();
        let scalars = self.allocate(Type::of::<T>(), 2 * old * size_of::<T>(), None)?;
        self.driver.copy(&self.scalars.object, &scalars.object, old * size_of::<T>())?;
        self.scalars = scalars;
        self.idle = false;
        self.slots.double();
        self.landing.resize(2 * old, T::zero());
        Ok(())
    }

    /// Returns the numbers in some slots. Synchronises once: all slots from the first to the last of `slots` are
    /// read in one transfer.
    pub(crate) fn read_slots<const N: usize>(&mut self, slots: [u32; N]) -> [T; N] {
        let (Some(&first), Some(&last)) = (slots.iter().min(), slots.iter().max()) else {
            return [T::nan(); N];
        };
        self.enqueue_scalars();
        let mut landing = std::mem::take(&mut self.landing);
        let stretch = &mut landing[first as usize..=last as usize];
        let start = first as usize * size_of::<T>();
        let done = self.state().and_then(|()| self.read_at(None, start, bytes_mut(stretch)));
        let numbers = slots.map(|slot| landing[slot as usize]);
        self.landing = landing;
        self.keep(done);
        if self.failure.is_none() { numbers } else { [T::nan(); N] }
    }

    // ---- synchronisation

    /// Waits for everything enqueued so far, unless a blocking transfer has done so.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if self.failure.is_none() && !self.idle {
            self.counters.synchronisations += 1;
            let done = self.driver.finish();
            self.idle = done.is_ok();
            self.keep(done);
        }
        self.state()
    }

    /// Runs a command unless there was a failure, and keeps its failure.
    fn run(&mut self, command: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.state()?;
        let done = command(self);
        self.keep(done.clone());
        done
    }

    /// Keeps the first failure.
    fn keep(&mut self, done: Result<(), Error>) {
        if let (None, Err(e)) = (&self.failure, done) {
            self.failure = Some(e);
        }
    }
}
