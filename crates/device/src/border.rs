//! The entries of a vector at the border of a rank.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x, y | | vectors of this backend, such as those of a product y = A x |
//! | s | `sent` | the nodes of x that other ranks need, rank by rank |
//! | i | `rows` | the nodes of y with couplings to nodes of other ranks |

use std::fmt;
use std::ops::Range;

use coarsen_core::{Error, Real, Vector};

use crate::driver::Object;
use crate::error::same_length;
use crate::memory::Buffer;
use crate::program::{Module, kernels};
use crate::queue::{Arg, Items};
use crate::{DeviceBackend, DeviceVector};

kernels! {
    Step { Gather = "coarsen_gather", ScatterAdd = "coarsen_scatter_add", Shift = "coarsen_shift" }
}

/// The entries that a rank exchanges with others, between the host and a device, beside the kernels of the device.
///
/// *Use* in a product over ranks: [`begin`](Self::begin), the product with the own entries, [`end`](Self::end), messages,
/// [`receive`](Self::receive), the product with the entries of other ranks, [`add`](Self::add). The transfers of
/// both directions run on a second queue, at the same time as the first product. A border has memory and event of its read,
/// so several borders of a backend, also of several threads, have reads under way at once. *Cost* two launches; one synchronisation of
/// the host, and one for each `receive`.
///
/// ```
/// # use coarsen_device::{Device, DeviceBackend, DeviceBorder};
/// # fn example(device: &Device) -> Result<(), Box<dyn std::error::Error>> {
/// use coarsen_backend::Backend;
/// let backend = DeviceBackend::<f64>::new(device)?;
/// let mut border = DeviceBorder::new(&backend, [1; 2], [3; 2], [&[2, 0], &[1]])?; // entries 2 and 0 are sent; row 1 is at the border
/// let (x, mut ghosts) = (backend.vector(&[1.0, 2.0, 3.0])?, backend.zeros(1)?);
/// border.begin(&x)?;
/// let mut y = backend.vector(&[0.0; 3])?; // any kernel on other vectors
/// let mut sent = [0.0; 2];
/// border.end(&mut sent)?;
/// assert_eq!(sent, [3.0, 1.0]);
/// border.receive(&mut ghosts, 0, &[5.0])?; // of another rank
/// border.add(&ghosts, &mut y);
/// # Ok(()) }
/// ```
pub struct DeviceBorder<V: Real> {
    backend: DeviceBackend<V>,
    module: usize,
    /// The entries of a node, and the numbers of nodes, of x and of y.
    sizes: [usize; 2],
    nodes: [usize; 2],
    sent: List,
    outgoing: DeviceVector<V>,
    /// Memory and event of the read of `outgoing`, after the first `begin`.
    read: Option<Object>,
    rows: List,
}

/// A list of nodes in device memory.
struct List {
    memory: Buffer,
    count: usize,
}

impl<V: Real> fmt::Debug for DeviceBorder<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBorder: {} nodes are sent, {} rows", self.sent.count, self.rows.count)
    }
}

impl<V: Real> DeviceBorder<V> {
    /// The border of vectors x and y of `nodes` nodes with `sizes` entries each. `sent` are nodes of x and may repeat, `rows`
    /// are nodes of y and may not.
    ///
    /// # Errors
    /// [`Error::Shape`] for nodes outside the vector and rows that do not increase; [`Error::Build`],
    /// [`Error::Memory`] and [`Error::Device`] of the backend.
    pub fn new(
        backend: &DeviceBackend<V>,
        sizes: [usize; 2],
        nodes: [usize; 2],
        [sent, rows]: [&[u32]; 2],
    ) -> Result<Self, Error> {
        for (list, expected) in [sent, rows].into_iter().zip(nodes) {
            if let Some(&found) = list.iter().find(|k| **k as usize >= expected) {
                return Err(Error::Shape { what: "nodes at a border", expected, found: found as usize });
            }
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (expected, found) = (pair[0] as usize + 1, pair[1] as usize);
            return Err(Error::Shape { what: "the next row at a border, at least", expected, found });
        }
        let options = format!("-D SIZE={} -D ROWS={}", sizes[0], sizes[1]);
        let module = Module { sources: &coarsen_kernels::BORDER, kernels: Step::NAMES, options };
        let module = backend.queue().module(&module)?;
        let outgoing = backend.zeros(sent.len() * sizes[0])?;
        let list = |nodes: &[u32]| -> Result<List, Error> {
            Ok(List { memory: backend.queue().list(nodes)?, count: nodes.len() })
        };
        let (sent, rows) = (list(sent)?, list(rows)?);
        Ok(Self { backend: backend.clone(), module, sizes, nodes, sent, outgoing, read: None, rows })
    }

    fn launch(&self, step: Step, nodes: &List, [from, to]: [&DeviceVector<V>; 2]) {
        let memory = [&nodes.memory, &from.memory, &to.memory].map(Arg::Memory);
        let args = [Arg::Length(nodes.count), memory[0], memory[1], memory[2]];
        self.backend.queue().launch(step.of(self.module), Items::Entries(nodes.count), &args);
    }

    fn assert_fits(&self, x: &DeviceVector<V>, entries: usize) {
        assert_eq!(x.size(), entries, "border: a vector of another length");
        self.backend.assert_same(&x.backend);
    }

    /// The number of entries that are sent.
    pub fn sent(&self) -> usize {
        self.outgoing.n
    }

    /// Begins to read the entries of x that are sent. Does not synchronise, except for a read of this border that was not ended.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend fails. *Panics* if x has another length or backend.
    pub fn begin(&mut self, x: &DeviceVector<V>) -> Result<(), Error> {
        self.assert_fits(x, self.nodes[0] * self.sizes[0]);
        self.launch(Step::Gather, &self.sent, [x, &self.outgoing]);
        self.backend.queue().begin_read(&self.outgoing.memory, self.outgoing.n, &mut self.read)
    }

    /// Waits for the entries that [`begin`](Self::begin) reads, node after node.
    ///
    /// # Errors
    /// [`Error::Shape`] for another length, [`Error::Device`] if the backend fails. *Panics* before any `begin`.
    pub fn end(&mut self, host: &mut [V]) -> Result<(), Error> {
        same_length("entries that are sent", self.outgoing.n, host.len())?;
        let mut queue = self.backend.queue();
        queue.state()?; // if the backend has failed, there may be no read
        queue.end_read(self.read.as_mut().expect("a read that has begun"), host)
    }

    /// Overwrites entries of `ghosts` from `first` on, while kernels run that were enqueued after the last
    /// [`begin`](Self::begin); none of them may use `ghosts`. Waits for the transfer.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are fewer entries, [`Error::Device`] if the backend fails. *Panics* for another backend.
    pub fn receive(&self, ghosts: &mut DeviceVector<V>, first: usize, host: &[V]) -> Result<(), Error> {
        self.backend.assert_same(&ghosts.backend);
        self.backend.queue().write_beside(&ghosts.memory, first, host)
    }

    /// Adds node k of t to row `rows[k]` of y.
    ///
    /// *Panics* if a vector has another length or backend.
    pub fn add(&self, t: &DeviceVector<V>, y: &mut DeviceVector<V>) {
        self.assert_fits(t, self.rows.count * self.sizes[1]);
        self.assert_fits(y, self.nodes[1] * self.sizes[1]);
        self.launch(Step::ScatterAdd, &self.rows, [t, y]);
    }

    /// Copies the nodes `range` of x to y, from its node `at` on. *Use* for rows that stay on a rank when others move.
    ///
    /// *Panics* for nodes outside a vector, nodes of different sizes, and vectors of another length or backend.
    pub fn shift(&self, x: &DeviceVector<V>, range: Range<usize>, y: &mut DeviceVector<V>, at: usize) {
        let [size, of_y] = self.sizes;
        self.assert_fits(x, self.nodes[0] * size);
        self.assert_fits(y, self.nodes[1] * of_y);
        let inside = range.end <= self.nodes[0] && at + range.len() <= self.nodes[1] && size == of_y;
        assert!(inside, "border: nodes {range:?} to node {at} of {:?} nodes", self.nodes);
        let [n, first, at] = [range.len() * size, range.start * size, at * size].map(Arg::Length);
        let args = [n, first, at, Arg::Memory(&x.memory), Arg::Memory(&y.memory)];
        self.backend.queue().launch(Step::Shift.of(self.module), Items::Entries(range.len() * size), &args);
    }
}
