//! Launches: arguments are checked and converted to arguments of the driver.

use coarsen_core::{Error, Real};

use super::Queue;
use crate::driver::{Argument, Type};
use crate::memory::Buffer;
use crate::program::{Entry, Kernel, Program};
use crate::slots::ZERO;

/// The largest number of arguments of a kernel.
const ARGUMENTS: usize = 32;

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a, T> {
    /// A buffer.
    Memory(&'a Buffer),
    /// The buffer of all slots.
    Slots,
    /// The buffer of partial sums.
    Partial,
    /// A length, passed as `u64`.
    Length(usize),
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
    /// Enqueues a kernel; if this fails, keeps the error. Does nothing for 0 items or after a failure.
    ///
    /// *Panics* if `args` do not match the declaration of the kernel. This is a bug of this crate, not of its
    /// user.
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
        let built = self.program.kernel(kernel);
        let types = &built.parameters;
        assert!(types.is_empty() || types.len() == args.len(), "{kernel:?}: {types:?}");
        let mut given = [Argument::Index(0); ARGUMENTS];
        for (k, (arg, to)) in args.iter().zip(&mut given[..args.len()]).enumerate() {
            let spelled;
            (*to, spelled) = match arg {
                Arg::Memory(buffer) => (Argument::Memory(&buffer.object), buffer.entry),
                Arg::Partial => (Argument::Memory(&self.partial.object), self.partial.entry),
                Arg::Slots => (Argument::Memory(&self.scalars.object), self.scalars.entry),
                Arg::Length(n) => (Argument::Length(*n as u64), Type::Length),
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

    /// Runs `kernel`, which writes the partial sums of its groups to the last of `args`, and adds them up
    /// into the slots `out`.
    pub(crate) fn reduce(&mut self, kernel: impl Into<Entry>, n: usize, args: &[Arg<'_, T>], out: &[u32]) {
        let groups = self.program.groups(n);
        self.launch(kernel, Items::Groups(groups), args);
        let out_of = |k: usize| Arg::Index(*out.get(k).unwrap_or(&ZERO));
        let (groups, count) = (Arg::Index(groups as u32), Arg::Index(out.len() as u32));
        let [a, b, c, d, e, f] = std::array::from_fn(out_of);
        let total = [groups, count, Arg::Partial, Arg::Slots, a, b, c, d, e, f];
        self.launch(Kernel::Total, Items::Groups(1), &total);
    }
}
