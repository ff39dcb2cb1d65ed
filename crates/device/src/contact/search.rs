//! Candidates: the pairs of a query and a part whose boxes overlap.
//!
//! | step | kernels |
//! |---|---|
//! | boxes of nodes and parts, around a displacement if nodes move | `boxes.cl` |
//! | an entry for each cell that a part covers, sorted by bucket | `cells.cl` |
//! | the overlapping parts of each query are counted, summed up and gathered | `pairs.cl` |
//!
//! Teschner et al. 2003, "Optimized spatial hashing for collision detection of deformable objects"; P-Cloth (Li et al. 2020), §4.1.
//! The order of pairs does not depend on that of items.

use coarsen_core::{Error, Real};

use super::surface::{Step, Surface};
use crate::DeviceVector;
use crate::driver::Type;
use crate::memory::Buffer;
use crate::queue::{Arg, Items, Queue};
use crate::sort::Sorting;

/// The buffers of a search.
pub(super) struct Search {
    /// The largest number of entries of cells, and of pairs.
    pub(super) cells: usize,
    pub(super) pairs: usize,
    /// 32 minus the binary logarithm of the number of buckets.
    shift: u32,
    pub(super) boxes: Buffer,
    inverse: Buffer,
    /// The entries before each part.
    entries: Buffer,
    owners: Buffer,
    pub(super) sorting: Sorting,
    begins: Buffer,
    /// The pairs before each query.
    pub(super) starts: Buffer,
    pub(super) found: Buffer,
    /// The pairs that are near before each pair.
    pub(super) before: Buffer,
}

impl Search {
    pub(super) fn new<V: Real>(surface: &Surface<V>, [cells, pairs]: [usize; 2]) -> Result<Self, Error> {
        let (parts, queries) = (surface.parts(), surface.queries());
        let buckets = (2 * parts).max(2).next_power_of_two();
        let shift = 32 - buckets.ilog2().min(31);
        let keyed = 2 << (32 - shift);
        let bits = (usize::BITS - usize::leading_zeros(keyed)) as usize;
        let sorting = Sorting::new(&surface.backend, cells, bits, parts.max(queries).max(pairs))?;
        let mut queue = surface.backend.queue();
        let boxes = 6 * (surface.nodes + parts) * size_of::<V>();
        let boxes = queue.allocate(Type::of::<V>(), boxes, None)?;
        let inverse = queue.allocate(Type::of::<V>(), size_of::<V>(), None)?;
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        Ok(Self {
            cells,
            pairs,
            shift,
            boxes,
            inverse,
            entries: list(parts + 1)?,
            owners: list(cells)?,
            sorting,
            begins: list(keyed + 1)?,
            starts: list(queries + 1)?,
            found: list(2 * pairs)?,
            before: list(pairs + 1)?,
        })
    }

    /// Searches around x, or along a displacement, with this margin of boxes. Does not synchronise.
    pub(super) fn run<V: Real>(
        &self,
        surface: &Surface<V>,
        x: &DeviceVector<V>,
        along: Option<&DeviceVector<V>>,
        margin: V,
    ) {
        let Self {
            cells, pairs, shift, boxes, inverse, entries, owners, sorting, begins, starts, found, ..
        } = self;
        let (parts, queries) = (surface.parts(), surface.queries());
        let moves = Arg::Index(u32::from(along.is_some()));
        let along = &along.unwrap_or(x).memory;
        let keyed = 2 << (32 - shift);
        let [nodes, free, triangles] = [surface.nodes, surface.free, surface.triangles].map(Arg::Count);
        let [capacity, most, all, keyed_arg] = [*cells, *pairs, parts, keyed].map(Arg::Count);
        let [x, held, along, boxes, inverse] =
            [&x.memory, &surface.held, along, boxes, inverse].map(Arg::Memory);
        let [counts, owners, keys, order] =
            [entries, owners, &sorting.keys, sorting.order()].map(Arg::Memory);
        let [begins_arg, starts_arg, found, missing, status] =
            [begins, starts, found, &surface.missing, &surface.status].map(Arg::Memory);
        let (shift, own) = (Arg::Index(*shift), surface.args());
        let grid = [shift, boxes, inverse, order, owners, begins_arg];
        let mut queue = surface.backend.queue();
        queue.fill_list(&surface.missing, 1, 0);
        let launch = |queue: &mut Queue<V>, step, items, args: &[Arg<'_, V>]| {
            queue.launch(surface.step(step), items, args);
        };
        let args = [nodes, free, x, held, along, moves, Arg::Number(margin), boxes, missing];
        launch(&mut queue, Step::Nodes, Items::Entries(surface.nodes), &args);
        launch(&mut queue, Step::Parts, Items::Entries(parts), &[&own[..], &[boxes]].concat());
        launch(&mut queue, Step::Cell, Items::Shaped(1, 64), &[nodes, all, boxes, inverse]);
        let args = [nodes, all, boxes, inverse, missing, counts];
        launch(&mut queue, Step::CountCells, Items::Entries(parts), &args);
        sorting.scan(&mut queue, entries, parts);
        let args =
            [capacity, nodes, triangles, all, shift, boxes, inverse, counts, owners, keys, missing, status];
        launch(&mut queue, Step::Cells, Items::Entries(*cells), &args);
        sorting.sort(&mut queue);
        let args = [capacity, keyed_arg, order, keys, begins_arg];
        launch(&mut queue, Step::Buckets, Items::Entries(keyed + 1), &args);
        let args = [&own[..], &grid, &[missing, starts_arg]].concat();
        launch(&mut queue, Step::CountPairs, Items::Entries(queries), &args);
        sorting.scan(&mut queue, starts, queries);
        let args = [&[most][..], &own, &grid, &[starts_arg, found, missing, status]].concat();
        launch(&mut queue, Step::Pairs, Items::Entries(queries), &args);
    }
}
