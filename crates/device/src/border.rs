//! The entries of a vector at the border of a rank.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x | | a vector of this place |
//! | s | `sent` | the nodes of x that other ranks need, rank by rank |
//! | i | `rows` | the nodes with couplings to nodes of other ranks |

use coarsen_core::{Error, Real, Vector};

use crate::error::same_length;
use crate::memory::Buffer;
use crate::program::{Entry, Module};
use crate::queue::{Arg, Items};
use crate::{DeviceVector, OnDevice};

const NAMES: [&str; 2] = ["coarsen_gather", "coarsen_scatter_add"];
const GATHER: usize = 0;
const SCATTER_ADD: usize = 1;

/// The entries that a rank exchanges with others, between the host and a device, beside the kernels of the device.
///
/// *Use* in a product over ranks: [`begin`](Self::begin), the product with the own entries, [`end`](Self::end), messages,
/// [`receive`](Self::receive), the product with the entries of other ranks, [`add`](Self::add). The transfers of
/// both directions run on a second queue, at the same time as the first product. *One at a time*: a place has one read under
/// way, so end that of a border before another border of the place begins, or records begin or end. *Cost* two launches; one
/// wait of the host, and one for each `receive`.
///
/// ```
/// # use coarsen_device::{Device, DeviceBorder, OnDevice};
/// # fn example(device: &Device) -> Result<(), Box<dyn std::error::Error>> {
/// use coarsen_backend::Backend;
/// let on = OnDevice::<f64>::on(device)?;
/// let border = DeviceBorder::new(&on, 1, 3, &[2, 0], &[1])?; // entries 2 and 0 are sent; row 1 is at the border
/// let (x, mut ghosts) = (on.vector(&[1.0, 2.0, 3.0])?, on.zeros(1)?);
/// border.begin(&x)?;
/// let mut y = on.vector(&[0.0; 3])?; // any kernel on other vectors
/// let mut sent = [0.0; 2];
/// border.end(&mut sent)?;
/// assert_eq!(sent, [3.0, 1.0]);
/// border.receive(&mut ghosts, 0, &[5.0])?; // of another rank
/// border.add(&ghosts, &mut y);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct DeviceBorder<V: Real> {
    on: OnDevice<V>,
    module: usize,
    size: usize,
    nodes: usize,
    sent: List,
    outgoing: DeviceVector<V>,
    rows: List,
}

/// A list of nodes in device memory.
struct List {
    memory: Buffer,
    count: usize,
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} nodes", self.count)
    }
}

impl<V: Real> DeviceBorder<V> {
    /// The border of vectors of `nodes` nodes with `size` entries each. `sent` may repeat nodes, `rows` may not.
    ///
    /// # Errors
    /// [`Error::Shape`] for nodes outside the vector and rows that do not increase; [`Error::Build`],
    /// [`Error::Memory`] and [`Error::Device`] of the place.
    pub fn new(
        on: &OnDevice<V>,
        size: usize,
        nodes: usize,
        sent: &[u32],
        rows: &[u32],
    ) -> Result<Self, Error> {
        let outside = |k: &&u32| **k as usize >= nodes;
        if let Some(&found) = sent.iter().chain(rows).find(outside) {
            return Err(Error::Shape { what: "nodes at a border", expected: nodes, found: found as usize });
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (expected, found) = (pair[0] as usize + 1, pair[1] as usize);
            return Err(Error::Shape { what: "the next row at a border, at least", expected, found });
        }
        let options = format!("-D SIZE={size}");
        let module = Module { sources: &coarsen_kernels::BORDER, kernels: &NAMES, options };
        let module = on.queue().module(&module)?;
        let outgoing = on.zeros(sent.len() * size)?;
        let list = |nodes: &[u32]| -> Result<List, Error> {
            Ok(List { memory: on.queue().list(nodes)?, count: nodes.len() })
        };
        let (sent, rows) = (list(sent)?, list(rows)?);
        Ok(Self { on: on.clone(), module, size, nodes, sent, outgoing, rows })
    }

    fn launch(&self, kernel: usize, nodes: &List, [from, to]: [&DeviceVector<V>; 2]) {
        let memory = [&nodes.memory, &from.memory, &to.memory].map(Arg::Memory);
        let args = [Arg::Length(nodes.count), memory[0], memory[1], memory[2]];
        let entry = Entry { module: self.module, kernel };
        self.on.queue().launch(entry, Items::Entries(nodes.count), &args);
    }

    fn assert_fits(&self, x: &DeviceVector<V>, nodes: usize) {
        assert_eq!(x.size(), nodes * self.size, "border: a vector of another length");
        self.on.assert_same(&x.on);
    }

    /// Begins to read the entries of x that are sent. Does not wait.
    ///
    /// # Errors
    /// [`Error::Device`] if the place fails. *Panics* if x has another length or place.
    pub fn begin(&self, x: &DeviceVector<V>) -> Result<(), Error> {
        self.assert_fits(x, self.nodes);
        self.launch(GATHER, &self.sent, [x, &self.outgoing]);
        self.on.queue().begin_aside(&self.outgoing.memory, self.outgoing.n)
    }

    /// Waits for the entries that [`begin`](Self::begin) reads, node after node.
    ///
    /// # Errors
    /// [`Error::Shape`] for another length, [`Error::Device`] if the place fails. *Panics* before any `begin`.
    pub fn end(&self, host: &mut [V]) -> Result<(), Error> {
        same_length("entries that are sent", self.outgoing.n, host.len())?;
        self.on.queue().end_aside(host)
    }

    /// Starts all kernels that are enqueued, without a wait, so that they run during messages.
    ///
    /// # Errors
    /// [`Error::Device`] if the place fails.
    pub fn start(&self) -> Result<(), Error> {
        self.on.queue().flush()
    }

    /// Overwrites entries of `ghosts` from `first` on, while kernels run that were enqueued after the last
    /// [`begin`](Self::begin); none of them may use `ghosts`. Waits for the transfer.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are fewer entries, [`Error::Device`] if the place fails. *Panics* for another place.
    pub fn receive(&self, ghosts: &mut DeviceVector<V>, first: usize, host: &[V]) -> Result<(), Error> {
        self.on.assert_same(&ghosts.on);
        self.on.queue().write_aside(&ghosts.memory, first, host)
    }

    /// Adds node k of t to row `rows[k]` of y.
    ///
    /// *Panics* if a vector has another length or place.
    pub fn add(&self, t: &DeviceVector<V>, y: &mut DeviceVector<V>) {
        self.assert_fits(t, self.rows.count);
        self.assert_fits(y, self.nodes);
        self.launch(SCATTER_ADD, &self.rows, [t, y]);
    }
}
