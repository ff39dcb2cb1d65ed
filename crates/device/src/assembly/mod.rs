//! Matrices assembled in device memory, in the five steps of P-Cloth (Li et al. 2020, §3.2.2).
//!
//! | step | P-Cloth | here |
//! |---|---|---|
//! | 1 | index table allocating: count | buffers for the largest possible number of entries |
//! | 2 | index filling | a key for each entry: row and column |
//! | 3 | index compacting: sort each row, remove duplicates | a stable sort by digits; the first entry of each key represents a block |
//! | 4 | value table allocating, by the longest row | blocks and the longest row are counted and compared with the capacity of the target |
//! | 5 | value filling | each block gathers its entries, in the order of the stream |
//!
//! Deviation: P-Cloth fills by atomic operations. Their order changes from run to run, and with it the last
//! bits of sums. It also reads counts on the host to allocate memory. Here each block is written by one item,
//! and counts stay on the device. A target with too small a capacity is not changed, and its `check` returns an
//! error.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`DeviceStream`]: steps 1 to 3 |
//! | `target` | steps 4 and 5 into a [contact set](crate::DeviceContacts), an [ELL matrix](DeviceEll), or a [matrix](crate::DeviceMatrix) whose pattern has the blocks |
//! | `ell` | [`DeviceEll`] |

mod ell;
mod target;

use coarsen_core::{Error, Real};
use coarsen_sparse::Stencil;

use crate::DeviceBackend;
use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::{Module, NONE, kernels};
use crate::queue::{Arg, Items};
use crate::sort::Sorting;

pub use ell::DeviceEll;
pub(crate) use target::LastStream;

/// The largest number of nodes and of entries. A list has two numbers per entry, row and column, and kernels
/// index it by `u32`.
const LIMIT: usize = i32::MAX as usize;

/// The number of node pairs of a contact.
const PAIRS: usize = Stencil::MOST * Stencil::MOST;

kernels! {
    Step {
        Keys = "coarsen_assembly_keys",
        Heads = "coarsen_assembly_heads",
        Rows = "coarsen_assembly_rows",
        Found = "coarsen_assembly_found",
        Place = "coarsen_assembly_place",
        Find = "coarsen_assembly_find",
        Sum = "coarsen_assembly_sum",
        Clear = "coarsen_assembly_clear",
    }
}

/// Returns the number of the module with the kernels for targets with blocks of `block` x `block` stored in
/// `S`, in slices of `slice` rows.
pub(crate) fn module<V: Real, S: Real>(
    backend: &DeviceBackend<V>,
    block: usize,
    slice: usize,
) -> Result<usize, Error> {
    let options = format!("-D STORED={} -D BLOCK={block} -D SLICE={slice}", Type::of::<S>());
    backend.queue().module(&Module { sources: &coarsen_kernels::ASSEMBLY, kernels: Step::NAMES, options })
}

/// The positions of the blocks to which a stream of values adds, sorted in device memory. Positions are given
/// directly or by contacts.
///
/// The list is uploaded once and sorted on the device. Values in device memory can then be assembled any
/// number of times, into any number of targets:
/// [`DeviceContacts::assemble`](crate::DeviceContacts::assemble), [`DeviceEll::assemble`],
/// [`DeviceMatrix::assemble`](crate::DeviceMatrix::assemble). No count is read on the host. *Cost* of a new
/// list: five launches (two, and three of a scan) per six bits of the number nodes², each over the full
/// capacity. *Memory* 44 bytes per entry of capacity; a contact has 16 entries. *Reference* Li et al. 2020,
/// "P-Cloth", §3.2.2.
pub struct DeviceStream<V: Real> {
    backend: DeviceBackend<V>,
    module: usize,
    nodes: usize,
    /// The largest number of positions or contacts.
    capacity: usize,
    /// The current number of positions or contacts.
    count: usize,
    /// The number of entries per position (1) or per contact (16).
    per: usize,
    list: Buffer,
    weights: Buffer,
    sorting: Sorting,
    heads: Buffer,
    starts: Buffer,
    found: Buffer,
    slots: Buffer,
    staging: Vec<u32>,
    weighing: Vec<V>,
}

impl<V: Real> DeviceStream<V> {
    /// Returns an empty stream for up to `capacity` blocks at positions (row, column) of `nodes` x
    /// `nodes` blocks.
    ///
    /// # Errors
    /// [`Error::TooLarge`] from 2³¹ nodes or entries on (a contact has 16), [`Error::Memory`] if they do not
    /// fit (nothing is allocated then), [`Error::Build`] and [`Error::Device`] of the driver.
    pub fn of_blocks<S>(backend: &DeviceBackend<V, S>, nodes: usize, capacity: usize) -> Result<Self, Error> {
        Self::new(&backend.plain(), nodes, capacity, 1)
    }

    /// Returns an empty stream for up to `capacity` contacts between `nodes` nodes.
    ///
    /// # Errors
    /// The errors of [`of_blocks`](Self::of_blocks).
    pub fn of_contacts<S>(
        backend: &DeviceBackend<V, S>,
        nodes: usize,
        capacity: usize,
    ) -> Result<Self, Error> {
        Self::new(&backend.plain(), nodes, capacity, PAIRS)
    }

    fn new(backend: &DeviceBackend<V>, nodes: usize, capacity: usize, per: usize) -> Result<Self, Error> {
        for (what, count) in
            [("nodes of a stream", nodes), ("entries of a stream", capacity.saturating_mul(per))]
        {
            if count > LIMIT {
                return Err(Error::TooLarge { what, count, limit: LIMIT });
            }
        }
        let entries = capacity.max(1) * per;
        backend.check_memory((44 * entries + 4 * nodes) as u64)?;
        // Steps 1 to 3 do not use the sizes of blocks and slices, which belong to targets.
        let module = module::<V, V>(backend, 1, 1)?;
        let bits = (u128::BITS - ((nodes as u128).pow(2)).leading_zeros()) as usize;
        let sorting = Sorting::new(backend, entries, bits, entries)?;
        let mut queue = backend.queue();
        let weights = if per == 1 { 0 } else { Stencil::MOST * capacity };
        let weights = queue.allocate(Type::of::<V>(), size_of::<V>() * weights, None)?;
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        let nodes_of_entries = list(if per == 1 { 2 } else { Stencil::MOST } * capacity)?;
        let (heads, starts, found, slots) = (list(entries + 1)?, list(nodes + 1)?, list(2)?, list(entries)?);
        drop(queue);
        let (staging, weighing, backend) = (Vec::new(), Vec::new(), backend.clone());
        let mut stream = Self {
            backend,
            module,
            nodes,
            capacity,
            count: 0,
            per,
            list: nodes_of_entries,
            weights,
            sorting,
            heads,
            starts,
            found,
            slots,
            staging,
            weighing,
        };
        stream.sort()?;
        Ok(stream)
    }

    /// Replaces the positions: block k of the values is added to block (row, column) = `places[k]`. Values
    /// with the same position are summed in the order given.
    ///
    /// # Errors
    /// The old positions are kept after [`Error::Capacity`] for more positions than the capacity,
    /// [`Error::Shape`] for a row or column that does not exist, and [`Error::Parameter`] for a stream of
    /// contacts. [`Error::Device`] if the backend has failed.
    pub fn write_blocks(&mut self, places: &[(u32, u32)]) -> Result<(), Error> {
        self.check("DeviceStream of contacts", 1, places.len(), "blocks of a stream")?;
        self.staging.clear();
        self.staging.extend(places.iter().flat_map(|&(i, j)| [i, j]));
        self.check_nodes(&self.staging)?;
        self.write(places.len())
    }

    /// Replaces the contacts: contact k adds w_a w_c K_k to block (a, c) for every pair of its nodes. K_k is
    /// block k of the values.
    ///
    /// # Errors
    /// The errors of [`write_blocks`](Self::write_blocks), and [`Error::Pattern`] for a contact with the same
    /// node twice.
    pub fn write_contacts(&mut self, contacts: &[Stencil]) -> Result<(), Error> {
        self.check("DeviceStream of blocks", PAIRS, contacts.len(), "contacts of a stream")?;
        self.staging.clear();
        self.weighing.clear();
        for contact in contacts {
            let (nodes, weights) = (contact.nodes(), contact.weights());
            self.check_nodes(nodes)?;
            if (1..nodes.len()).any(|k| nodes[..k].contains(&nodes[k])) {
                return Err(Error::Pattern { what: "a contact that names a node twice" });
            }
            let missing = Stencil::MOST - nodes.len();
            self.staging.extend(nodes.iter().copied().chain(std::iter::repeat_n(NONE, missing)));
            let none = std::iter::repeat_n(V::zero(), missing);
            self.weighing.extend(weights.iter().map(|&w| V::from_f64(w)).chain(none));
        }
        self.backend.queue().write(&self.weights, &self.weighing)?;
        self.write(contacts.len())
    }

    fn check(&self, name: &'static str, per: usize, count: usize, what: &'static str) -> Result<(), Error> {
        if self.per != per {
            let range = "a stream of the other kind for this list";
            return Err(Error::Parameter { name, value: self.per as f64, range });
        }
        match self.capacity {
            capacity if count > capacity => Err(Error::Capacity { what, count, capacity }),
            _ => Ok(()),
        }
    }

    fn check_nodes(&self, nodes: &[u32]) -> Result<(), Error> {
        match nodes.iter().find(|&&node| node as usize >= self.nodes) {
            None => Ok(()),
            Some(&node) => {
                let (what, found) = ("nodes of a stream", node as usize + 1);
                Err(Error::Shape { what, expected: self.nodes, found })
            }
        }
    }

    /// Returns the number of entries for which memory is allocated.
    fn entries(&self) -> usize {
        self.capacity.max(1) * self.per
    }

    /// Uploads the staged list and sorts it.
    fn write(&mut self, count: usize) -> Result<(), Error> {
        self.backend.queue().write_list(&self.list, &self.staging)?;
        self.count = count;
        self.sort()
    }

    /// The row and the column of every position, which kernels may write; `NONE` for no position.
    pub(crate) fn list(&self) -> &Buffer {
        &self.list
    }

    /// Sorts the positions that kernels have written, as many as the capacity. Does not synchronise.
    pub(crate) fn sort_written(&mut self) -> Result<(), Error> {
        self.count = self.capacity;
        self.sort()
    }

    /// Runs steps 1 to 3. Does not synchronise.
    fn sort(&mut self) -> Result<(), Error> {
        let [all, count, per, nodes] = [self.entries(), self.count, self.per, self.nodes].map(Arg::Count);
        let entries = Items::Entries(self.entries());
        let [list, keys, order, heads, starts, found] =
            [&self.list, &self.sorting.keys, self.sorting.order(), &self.heads, &self.starts, &self.found]
                .map(Arg::Memory);
        let mut queue = self.backend.queue();
        queue.launch(Step::Keys.of(self.module), entries, &[all, count, per, nodes, list, keys]);
        self.sorting.sort(&mut queue);
        queue.launch(Step::Heads.of(self.module), entries, &[all, nodes, order, keys, heads]);
        self.sorting.scan(&mut queue, &self.heads, self.entries());
        let rows = [all, nodes, order, keys, heads, starts];
        queue.launch(Step::Rows.of(self.module), Items::Entries(self.nodes + 1), &rows);
        queue.launch(Step::Found.of(self.module), Items::Shaped(1, 64), &[nodes, starts, found]);
        queue.state()
    }

    /// Returns the number of positions or contacts in the list.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of distinct blocks and the largest number in one row: the capacity that a target
    /// needs. Synchronises once.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend has failed.
    pub fn found(&self) -> Result<[usize; 2], Error> {
        let mut found = [0; 2];
        self.backend.queue().read_list(&self.found, &mut found)?;
        Ok(found.map(|n| n as usize))
    }
}
