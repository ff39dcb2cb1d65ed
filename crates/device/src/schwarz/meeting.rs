//! Where the blocks of a contact part meet in the domains of all levels (Wu, Wang, Wang 2022, §4.2 and §5.2).
//!
//! A contact part changes in every step, and domains do not. So its blocks are not among the couplings that the
//! structure lists: they are found anew whenever they change, sorted by position. Two nodes of one domain that only
//! a new contact couples may be in different parts of it; their block is then also part of coarser matrices.

use coarsen_core::{Error, Real};

use crate::DeviceBackend;
use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::NONE;
use crate::queue::{Arg, Items, Queue};
use crate::schwarz::kernels::{self, Contact};
use crate::schwarz::lists::Lists;
use crate::sort::Sorting;

/// The lists of `kernels/schwarz/contact.cl`.
pub(crate) struct Meeting {
    module: usize,
    /// The largest number of contact blocks.
    capacity: usize,
    levels: usize,
    /// The number of nodes of all levels, and the number of domains.
    nodes: usize,
    domains: usize,
    home: Buffer,
    position: Buffer,
    sorting: Sorting,
    other: Buffer,
    own: Buffer,
    starts: Buffer,
    pairs: Buffer,
}

/// The numbers of 4 bytes per entry: keys (2), orders (3), other, pairs (2), digits.
const ENTRY: usize = 9;

impl Meeting {
    /// Allocates lists for up to `capacity` contact blocks, at least one, in the domains of `lists`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] from 2³¹ entries on (one per block and level), and the errors of the driver.
    pub(crate) fn new<T: Real>(
        backend: &DeviceBackend<T>,
        lists: &Lists,
        capacity: usize,
    ) -> Result<Self, Error> {
        let (levels, nodes) = (lists.level_domains.len(), lists.fine + lists.coarse());
        let (limit, count) = (i32::MAX as usize, levels.saturating_mul(capacity));
        if count > limit {
            return Err(Error::TooLarge { what: "contact blocks on all levels", count, limit });
        }
        let (entries, domains) = (count, lists.domains.iter().sum());
        let module = backend.queue().module(&kernels::meet())?;
        let bits = (usize::BITS - nodes.leading_zeros()) as usize;
        let sorting = Sorting::new(backend, entries, bits, entries)?;
        let mut queue = backend.queue();
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        Ok(Self {
            module,
            capacity,
            levels,
            nodes,
            domains,
            home: list(nodes)?,
            position: list(nodes)?,
            sorting,
            other: list(entries)?,
            own: list(lists.fine)?,
            starts: list(nodes + 1)?,
            pairs: list(2 * entries)?,
        })
    }

    /// The bytes of the lists for `capacity` blocks in `levels` levels of `nodes` nodes, of which `fine` are on the
    /// finest.
    pub(crate) fn bytes(capacity: usize, levels: usize, [fine, nodes]: [usize; 2]) -> usize {
        4 * (ENTRY * capacity * levels + fine + 3 * nodes + 1)
    }

    /// Finds the domain of every node. Does not synchronise. *Call* after each change of the structure.
    pub(crate) fn locate<T: Real>(&self, queue: &mut Queue<T>, lists: &Lists) {
        let [ranges, order, home, position] =
            [&lists.ranges, &lists.order, &self.home, &self.position].map(Arg::Memory);
        queue.fill_list(&self.position, self.nodes, NONE);
        let args = [Arg::Count(self.domains), ranges, order, home, position];
        self.launch(queue, Contact::Locate, self.domains, &args);
    }

    /// Finds where contact blocks meet, given pointers to the blocks of each row and their columns. Does not synchronise.
    pub(crate) fn meet<T: Real>(&self, queue: &mut Queue<T>, lists: &Lists, contact: [Arg<'_, T>; 2]) {
        let entries = self.capacity * self.levels;
        let [fine, capacity, levels, nodes, count] =
            [lists.fine, self.capacity, self.levels, self.nodes, entries].map(Arg::Count);
        let Self { home, position, sorting, other, own, starts, pairs, .. } = self;
        let [parent, home, position, own] = [&lists.parent, home, position, own].map(Arg::Memory);
        let [keys, other, starts, pairs] = [&sorting.keys, other, starts, pairs].map(Arg::Memory);
        let buffers = [parent, home, position, keys, other, own];
        let args = [&[fine, capacity, levels, nodes][..], &contact, &buffers].concat();
        self.launch(queue, Contact::Meet, lists.fine.max(self.capacity), &args);
        self.sorting.sort(queue);
        let sorted = Arg::Memory(self.sorting.order());
        let args = [count, capacity, nodes, sorted, keys, other, starts, pairs];
        self.launch(queue, Contact::Gather, entries.max(self.nodes + 1), &args);
    }

    /// The arguments of kernels of the numeric phase.
    pub(crate) fn args<T: Real>(&self) -> [Arg<'_, T>; 3] {
        [&self.own, &self.starts, &self.pairs].map(Arg::Memory)
    }

    fn launch<T: Real>(&self, queue: &mut Queue<T>, kernel: Contact, entries: usize, args: &[Arg<'_, T>]) {
        queue.launch(kernel.of(self.module), Items::Entries(entries), args);
    }
}
