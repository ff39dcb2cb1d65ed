//! The structure (§5) chosen on the device, without transfers.
//!
//! Nodes are sorted along a Morton curve, and every M consecutive nodes form a domain. The connected parts of
//! a domain are the nodes of the next level, ordered along the curve too. Each step counts, sums the counts
//! and gathers. So it needs no atomic operation, and every run gives the same bits. Counts stay on the
//! device, so buffers have a fixed capacity: eight parts per domain, on average. A level with more nodes is left
//! out and reported by [`lacking`](Structure::lacking). Only a build, which may synchronise, then allocates larger
//! buffers. A contact part beside the matrix couples nodes too, but its blocks are no couplings inside domains: these
//! are found anew whenever contacts change ([`meeting`](super::meeting)).
//!
//! Deviation: Wu et al. sort by 30 bits per pass and number parts by atomic additions.

use coarsen_core::{Error, Real};

use crate::driver::Type;
use crate::matrix::RowRange;
use crate::memory::Buffer;
use crate::queue::{Arg, Items, Queue};
use crate::schwarz::couplings::Gathered;
use crate::schwarz::kernels::{self, Build};
use crate::schwarz::lists::Lists;
use crate::sort::Sorting;
use crate::{DeviceBackend, DeviceContacts, DeviceMatrix, DeviceVector};

/// The largest number of nodes in a domain, which is the number of bits of the masks that find connected
/// parts.
pub(crate) const MOST: usize = 32;

/// The number of bits of a key.
const KEY: usize = 61;

/// The number of groups that compute the box around all points.
const BOXES: usize = 64;

/// The average number of connected parts per domain for which there is memory.
const PARTS: usize = 8;

/// Returns the capacity for nodes of every level, down to a level that fits in one domain. Coarse levels have
/// a capacity of at least `needed` nodes, finest first.
pub(crate) fn capacities(nodes: usize, domain: usize, levels: usize, needed: &[usize]) -> Vec<usize> {
    let mut capacities = vec![nodes];
    while capacities.len() < levels && capacities[capacities.len() - 1] > domain {
        let last = capacities[capacities.len() - 1];
        let usual = (PARTS * last.div_ceil(domain)).min(last / 2).max(domain);
        capacities.push(needed.get(capacities.len() - 1).map_or(usual, |&needed| needed.max(usual)));
    }
    capacities
}

/// Kernels and temporary buffers.
pub(crate) struct Structure {
    module: usize,
    domain: usize,
    capacities: Vec<usize>,
    /// The number of nodes of each level.
    counts: Buffer,
    totals: Buffer,
    /// A level whose capacity is exceeded, and the number of its nodes.
    lacking: Buffer,
    bounds: Buffer,
    /// The Morton codes, and the order along the curve.
    sorting: Sorting,
    rank: Buffer,
    position: Buffer,
    parts: Buffer,
    tally: Buffer,
    begins: [Buffer; 2],
    ends: [Buffer; 2],
}

impl Structure {
    /// Compiles the kernels and allocates buffers for the structure of a matrix, with a contact part beside it of up to
    /// `contacts` blocks, if any.
    pub(crate) fn new<V: Real, S: Real>(
        backend: &DeviceBackend<V>,
        a: &DeviceMatrix<V, S>,
        capacities: Vec<usize>,
        domain: usize,
        contacts: Option<usize>,
    ) -> Result<Self, Error> {
        a.whole()?;
        let n = capacities[0];
        let (all, chunks) = (capacities.iter().sum::<usize>(), n.div_ceil(domain));
        let couplings = 2 * (a.pattern().len() + contacts.unwrap_or(0));
        let limit = u32::MAX as usize;
        for (what, count) in [
            ("twice the nodes, and domains, of a structure", 2 * n + chunks),
            ("twice the blocks of a matrix whose structure a device chooses", couplings),
        ] {
            if count >= limit {
                return Err(Error::TooLarge { what, count, limit });
            }
        }
        let sizes = [a.block().0, a.slice(), domain];
        let module =
            backend.queue().module(&kernels::structure(Type::of::<S>(), sizes, contacts.is_some()))?;
        let sorting = Sorting::new(backend, n, KEY, 2 * n + chunks)?;
        let mut queue = backend.queue();
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        let levels = capacities.len();
        Ok(Self {
            module,
            domain,
            counts: list(levels + 1)?,
            totals: list(levels + 1)?,
            lacking: list(2)?,
            rank: list(n)?,
            position: list(all)?,
            parts: list(all)?,
            tally: list(2 * n + chunks + 1)?,
            begins: [list(n + 1)?, list(n + 1)?],
            ends: [list(couplings)?, list(couplings)?],
            bounds: queue.allocate(Type::of::<V>(), 6 * BOXES * size_of::<V>(), None)?,
            sorting,
            capacities,
        })
    }

    /// Computes levels, domains and couplings of a matrix along the curve through `positions`, three numbers
    /// per node, or in the numbering of the nodes if there are no positions. Does not synchronise. `contact` is given if, and
    /// only if, `contacts` is not 0.
    pub(crate) fn build<V: Real, S: Real>(
        &self,
        a: &DeviceMatrix<V, S>,
        contact: Option<&DeviceContacts<V, S>>,
        positions: Option<&DeviceVector<V>>,
        lists: &Lists,
        to: &Gathered,
    ) -> Result<(), Error> {
        let rows = a.whole()?;
        let mut queue = a.backend().queue();
        let run = StructureRun { of: self, lists, to, queue: &mut queue };
        run.all(rows, contact, positions);
        queue.state()
    }

    /// Returns the first level of the last build whose capacity is exceeded, the number of its nodes and the
    /// capacity. Synchronises once.
    pub(crate) fn lacking<T: Real>(&self, backend: &DeviceBackend<T>) -> Result<Option<Lacking>, Error> {
        let mut found = [0; 2];
        backend.queue().read_list(&self.lacking, &mut found)?;
        let [level, count] = found.map(|n| n as usize);
        Ok((level > 0).then(|| Lacking { level, count, capacity: self.capacities[level] }))
    }

    /// Returns the number of nodes of every level; 0 for levels that do not exist. Synchronises once.
    pub(crate) fn nodes<T: Real>(&self, backend: &DeviceBackend<T>) -> Result<Vec<usize>, Error> {
        let mut counts = vec![0; self.capacities.len()];
        backend.queue().read_list(&self.counts, &mut counts)?;
        Ok(counts.into_iter().map(|count| count as usize).collect())
    }
}

/// A level whose capacity is exceeded.
pub(crate) struct Lacking {
    pub(crate) level: usize,
    pub(crate) count: usize,
    pub(crate) capacity: usize,
}

/// One run of all steps.
struct StructureRun<'a, V> {
    of: &'a Structure,
    lists: &'a Lists,
    to: &'a Gathered,
    queue: &'a mut Queue<V>,
}

impl<V: Real> StructureRun<'_, V> {
    fn all<S: Real>(
        mut self,
        a: &RowRange,
        contact: Option<&DeviceContacts<V, S>>,
        positions: Option<&DeviceVector<V>>,
    ) {
        let capacities = &self.of.capacities;
        let n = capacities[0];
        self.empty();
        self.couplings(a, contact);
        let sorting = &self.of.sorting;
        let curve = match positions {
            None => sorting.after(0),
            Some(points) => {
                self.codes(n, &points.memory);
                sorting.sort(self.queue);
                sorting.order()
            }
        };
        let (mut first, mut domains) = (0, 0);
        for (level, &capacity) in capacities.iter().enumerate() {
            self.level(level, first, domains, curve);
            first += capacity;
            domains += capacity.div_ceil(self.of.domain);
        }
    }

    fn launch(&mut self, kernel: Build, items: Items, args: &[Arg<'_, V>]) {
        self.queue.launch(kernel.of(self.of.module), items, args);
    }

    /// Resets all lists.
    fn empty(&mut self) {
        let Structure { capacities, counts, totals, lacking, .. } = self.of;
        let nodes: usize = capacities.iter().sum();
        let domains: usize = self.lists.domains.iter().sum();
        let coarse = nodes - capacities[0];
        let Lists { parent, children, ranges, .. } = self.lists;
        let lists = [parent, children, ranges, counts, totals, lacking].map(Arg::Memory);
        let sizes = [capacities[0], nodes, coarse, domains, capacities.len()].map(Arg::Count);
        let items = nodes.max(2 * coarse).max(2 * domains).max(capacities.len() + 1);
        self.launch(Build::Empty, Items::Entries(items), &[&sizes[..], &lists].concat());
    }

    /// Finds diagonal blocks, nodes without couplings, and the couplings of all other nodes.
    fn couplings<S: Real>(&mut self, a: &RowRange, contact: Option<&DeviceContacts<V, S>>) {
        let n = self.of.capacities[0];
        let [_, _, width, offsets, lengths, columns, values] = a.args();
        let [own, alone, begins, ends] =
            [&self.to.own, &self.to.alone, &self.of.begins[0], &self.of.ends[0]].map(Arg::Memory);
        let mut rows = vec![Arg::Count(n), width, offsets, lengths, columns, values];
        rows.extend(contact.into_iter().flat_map(DeviceContacts::args));
        let all = Items::Entries(n);
        self.launch(Build::Alike, all, &[&rows[..], &[own, alone]].concat());
        self.launch(Build::Degrees, all, &[&rows[..], &[alone, begins]].concat());
        self.of.sorting.scan(self.queue, &self.of.begins[0], n);
        self.launch(Build::Couplings, all, &[&rows[..], &[alone, begins, ends]].concat());
    }

    /// Computes Morton codes of points (§5.1).
    fn codes(&mut self, n: usize, points: &Buffer) {
        let [points, bounds, alone, codes] =
            [points, &self.of.bounds, &self.to.alone, &self.of.sorting.keys].map(Arg::Memory);
        self.launch(Build::Box, Items::Shaped(BOXES, 64), &[Arg::Count(n), points, bounds]);
        self.launch(Build::WholeBox, Items::One, &[Arg::Count(BOXES), bounds]);
        self.launch(Build::Codes, Items::Entries(n), &[Arg::Count(n), points, bounds, alone, codes]);
    }

    /// Finds the domains of a level, their connected parts, and the couplings of the next level (§5.2).
    fn level(&mut self, level: usize, first: usize, first_domain: usize, curve: &Buffer) {
        let of = self.of;
        let capacity = of.capacities[level];
        let next_capacity = of.capacities.get(level + 1).copied().unwrap_or(0);
        let chunks = capacity.div_ceil(of.domain);
        let (now, next) = (level % 2, (level + 1) % 2);
        let counts = Arg::Memory(&of.counts);
        let head = [Arg::Count(level), Arg::Count(first), Arg::Count(capacity), counts];
        let [curve, rank, alone, position, parts, tally, totals] =
            [curve, &of.rank, &self.to.alone, &of.position, &of.parts, &of.tally, &of.totals]
                .map(Arg::Memory);
        let [begins, ends, next_begins, next_ends] =
            [&of.begins[now], &of.ends[now], &of.begins[next], &of.ends[next]].map(Arg::Memory);
        let Lists { order, parent, children, ranges, offsets, fine, .. } = self.lists;
        let [order, parent, children, ranges, offsets, starts, inner] =
            [order, parent, children, ranges, offsets, &self.to.starts, &self.to.inner].map(Arg::Memory);
        let all = Items::Entries(capacity);
        self.launch(Build::Ranks, all, &[&head[..], &[curve, rank]].concat());
        let args = [&head[..], &[curve, rank, begins, ends, alone, order, position, parts, tally]].concat();
        self.launch(Build::Split, Items::Shaped(chunks, of.domain), &args);
        self.launch(Build::Tally, all, &[&head[..], &[order, position, begins, ends, tally]].concat());
        of.sorting.scan(self.queue, &of.tally, 2 * capacity + chunks);
        let sizes = [level, capacity, chunks, next_capacity].map(Arg::Count);
        let args = [&sizes[..], &[tally, counts, totals, Arg::Memory(&of.lacking)]].concat();
        self.launch(Build::Decide, Items::One, &args);
        let lists = [totals, tally, order, position, parts, begins, ends, parent, children, ranges, offsets];
        let numbers = [Arg::Count(first_domain), Arg::Count(*fine), Arg::Count(first + capacity)];
        let out = [starts, inner, next_begins, next_ends];
        self.launch(Build::Link, all, &[&head[..], &numbers, &lists, &out].concat());
    }
}
