//! Launches: arguments are checked and converted to arguments of the driver.

use coarsen_core::{Error, Real};

use super::Queue;
use crate::driver::{Argument, Type};
use crate::memory::Buffer;
use crate::program::{Entry, Kernel, Program};

/// The largest number of arguments of a kernel.
const ARGUMENTS: usize = 32;

#[derive(Clone, Copy)]
pub(crate) enum Arg<'a, T> {
    /// A buffer.
    Memory(&'a Buffer),
    /// The buffer of all slots.
    Slots,
    /// The buffer of the partial sums of a reduction.
    Partial,
    /// A buffer of partial sums by its number.
    Partials(usize),
    /// A length, passed as `u64`.
    Length(usize),
    /// Bits, passed as `u64`.
    Word(u64),
    /// A slot, or a small count.
    Index(u32),
    /// A count passed as an index: the queue fails with [`Error::TooLarge`] if the count exceeds `u32`.
    Count(usize),
    /// A number from the host.
    Number(T),
}

/// The number of items of a launch.
#[derive(Clone, Copy)]
pub(crate) enum Items {
    /// One item.
    One,
    /// One item per entry; the last group may have additional items.
    Entries(usize),
    /// One item per `lanes` entries.
    Packs(usize),
    /// The given number of groups, each of the size for reductions.
    Groups(usize),
    /// The given number of groups, and the given number of items per group.
    Shaped(usize, usize),
}

impl<T: Real> Queue<T> {
    /// Enqueues a kernel, and before it pending operations on slots, if it uses their results; if this fails, keeps the error. Does
    /// nothing for 0 items or after a failure.
    ///
    /// *Panics* if `args` do not match the declaration of the kernel. This is a bug of this crate, not of its
    /// user.
    pub(crate) fn launch(&mut self, kernel: impl Into<Entry>, items: Items, args: &[Arg<'_, T>]) {
        let kernel = kernel.into();
        if self.pending.is_needed(args) {
            self.enqueue_scalars();
        }
        let nothing =
            matches!(items, Items::Entries(0) | Items::Packs(0) | Items::Groups(0) | Items::Shaped(0, _));
        if self.failure.is_none() && !nothing {
            self.idle = false;
            let done = self.try_launch(kernel, items, args);
            self.keep(done);
        }
    }

    /// Sets the first entries of a list.
    pub(crate) fn fill_list(&mut self, list: &Buffer, count: usize, value: u32) {
        let args = [Arg::Count(count), Arg::Memory(list), Arg::Index(value)];
        self.launch(Kernel::FillList, Items::Entries(count), &args);
    }

    fn try_launch(&mut self, kernel: Entry, items: Items, args: &[Arg<'_, T>]) -> Result<(), Error> {
        let built = self.program.kernel(kernel);
        let types = &built.parameters;
        assert!(types.is_empty() || types.len() == args.len(), "{kernel:?}: {types:?}");
        let mut given = [Argument::Index(0); ARGUMENTS];
        fn memory(buffer: &Buffer) -> (Argument<'_>, Type) {
            (Argument::Memory(&buffer.object), buffer.entry)
        }
        for (k, (arg, to)) in args.iter().zip(&mut given[..args.len()]).enumerate() {
            let spelled;
            (*to, spelled) = match arg {
                Arg::Memory(buffer) => memory(buffer),
                Arg::Partial => memory(&self.partials[self.pending.reductions()]),
                Arg::Partials(k) => memory(&self.partials[*k]),
                Arg::Slots => memory(&self.scalars),
                Arg::Length(n) => (Argument::Length(*n as u64), Type::Length),
                Arg::Word(bits) => (Argument::Length(*bits), Type::Length),
                Arg::Index(i) => (Argument::Index(*i), Type::Index),
                Arg::Count(n) => {
                    let (what, limit) = ("a count that a kernel is given", u32::MAX as usize);
                    let index = u32::try_from(*n).map_err(|_| Error::TooLarge { what, count: *n, limit })?;
                    (Argument::Index(index), Type::Index)
                }
                Arg::Number(v) if Type::of::<T>() == Type::Single => (Argument::Single(v.to()), Type::Single),
                Arg::Number(v) => (Argument::Double(v.as_f64()), Type::Double),
            };
            assert!(
                types.get(k).is_none_or(|told| told.is_none_or(|told| told == spelled)),
                "{kernel:?}, parameter {k}: {types:?} and {spelled}"
            );
        }
        let (Program { width, lanes, .. }, local) = (&self.program, self.program.local_of(kernel));
        let (width, lanes) = (*width, *lanes);
        let (groups, local) = match items {
            Items::One => (1, 1),
            Items::Entries(n) => (n.div_ceil(local), local),
            Items::Packs(n) => (n.div_ceil(lanes).div_ceil(local), local),
            Items::Groups(g) => (g, width),
            Items::Shaped(g, local) => (g, local),
        };
        self.driver.launch(&*built.object, groups, local, &given[..args.len()])?;
        self.counters.launches += 1;
        Ok(())
    }
}
