//! Blocks at pairs of nodes, sorted by row, in device memory.

use std::fmt;
use std::marker::PhantomData;

use coarsen_backend::check_range;
use coarsen_core::{Error, Real};
use coarsen_sparse::Contacts;

use crate::DeviceBackend;
use crate::assembly;
use crate::driver::Type;
use crate::error::same_length;
use crate::memory::{Buffer, convert};
use crate::queue::Arg;

/// Blocks at pairs of nodes in device memory, sorted by row and column, stored in `S`: the counterpart of
/// [`Contacts`].
///
/// Each row has a pointer to its blocks, so a product gathers them in order. It needs no atomic operation,
/// and every run gives the same bits. The capacity is fixed; choose the largest number of blocks that can
/// occur. *Use* in a [`DeviceSum`](crate::DeviceSum). *Memory* (b² s + 4) bytes per block of capacity, where
/// s is the size of `S` in bytes; 4 bytes per node.
pub struct DeviceContacts<V: Real, S: Real = V> {
    pub(crate) backend: DeviceBackend<V>,
    pub(crate) nodes: usize,
    pub(crate) block: usize,
    pub(crate) capacity: usize,
    /// The number of the module with the kernels of assembly.
    pub(crate) module: usize,
    pub(crate) starts: Buffer,
    pub(crate) places: Buffer,
    pub(crate) values: Buffer,
    /// The number of blocks that the last [`assemble`](Self::assemble) found.
    pub(crate) status: Buffer,
    /// Whether the set comes from [`assemble`](Self::assemble).
    pub(crate) assembled: bool,
    /// The host buffer for pointers and columns.
    staging: Vec<u32>,
    of: PhantomData<S>,
}

impl<V: Real, S: Real> DeviceContacts<V, S> {
    /// Returns the empty set of `nodes` nodes with `block` unknowns each, for up to `capacity` blocks.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a block size of 0, [`Error::TooLarge`] if there are more nodes or blocks than
    /// `u32` can number, [`Error::Memory`] if the set does not fit (nothing is allocated then),
    /// [`Error::Build`] and [`Error::Device`] of the driver.
    pub fn new(
        backend: &DeviceBackend<V, S>,
        nodes: usize,
        block: usize,
        capacity: usize,
    ) -> Result<Self, Error> {
        if block == 0 {
            return Err(Error::Parameter { name: "DeviceContacts::block", value: 0.0, range: "1 or more" });
        }
        let limit = u32::MAX as usize - 1;
        for (what, count) in [("nodes of a contact set", nodes), ("blocks of a contact set", capacity)] {
            if count > limit {
                return Err(Error::TooLarge { what, count, limit });
            }
        }
        let area = block.saturating_mul(block).saturating_mul(size_of::<S>());
        let bytes = capacity.saturating_mul(area.saturating_add(4)).saturating_add(4 * (nodes + 1));
        let staging = vec![0; nodes + 1];
        backend.check_memory(bytes as u64)?;
        let plain = backend.plain();
        let module = assembly::module::<V, S>(&plain, block, 1)?;
        let mut queue = backend.queue();
        let starts = queue.list(&staging)?;
        let places = queue.allocate(Type::Index, 4 * capacity, None)?;
        let values = queue.allocate(Type::of::<S>(), capacity * area, None)?;
        let status = queue.allocate(Type::Index, 8, None)?;
        drop(queue);
        let (backend, assembled, of) = (plain, false, PhantomData);
        Ok(Self {
            backend,
            nodes,
            block,
            capacity,
            module,
            starts,
            places,
            values,
            status,
            assembled,
            staging,
            of,
        })
    }

    /// Replaces the set: uploads rows, columns and values, and allocates nothing on the device.
    ///
    /// # Errors
    /// The old set is kept after [`Error::Shape`] for another number of nodes or block size,
    /// [`Error::Capacity`] for more blocks than the capacity, and [`Error::Range`] for values that `S` cannot
    /// hold. [`Error::Device`] if the backend has failed.
    pub fn replace<T: Real>(&mut self, host: &Contacts<T>) -> Result<(), Error> {
        same_length("nodes of a contact set", self.nodes, host.nodes())?;
        same_length("unknowns of a contact block", self.block, host.block())?;
        if host.len() > self.capacity {
            let (what, count, capacity) = ("contact blocks", host.len(), self.capacity);
            return Err(Error::Capacity { what, count, capacity });
        }
        check_range::<T, S>("the contact set", host.values())?;
        self.assembled = false;
        let places = host.places();
        let mut queue = self.backend.queue();
        self.staging.clear();
        let mut at = 0;
        self.staging.extend((0..=self.nodes).map(|i| {
            at += places[at..].iter().take_while(|place| (place.0 as usize) < i).count();
            at as u32
        }));
        queue.write_list(&self.starts, &self.staging)?;
        self.staging.clear();
        self.staging.extend(places.iter().map(|place| place.1));
        queue.write_list(&self.places, &self.staging)?;
        queue.put(&self.values, host.values().len(), |to: &mut [S]| convert(host.values(), to))
    }

    /// Checks that the capacity sufficed in the last [`assemble`](Self::assemble). Synchronises once.
    ///
    /// # Errors
    /// [`Error::Capacity`] with the number of blocks found; the previous set is kept. [`Error::Device`] if
    /// the backend has failed.
    pub fn check(&self) -> Result<(), Error> {
        let mut found = [0; 2];
        if self.assembled {
            self.backend.queue().read_list(&self.status, &mut found)?;
        }
        let (what, count, capacity) = ("contact blocks", found[0] as usize, self.capacity);
        if count > capacity { Err(Error::Capacity { what, count, capacity }) } else { Ok(()) }
    }

    /// Returns the number of nodes of the set.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the number of unknowns of a node.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Returns the largest number of blocks of a set.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the (row, column) pairs and the values of all blocks. Synchronises three times.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend has failed.
    #[allow(clippy::type_complexity)] // as in `Contacts`
    pub fn read(&self) -> Result<(Vec<(u32, u32)>, Vec<S>), Error> {
        let mut queue = self.backend.queue();
        let mut starts = vec![0; self.nodes + 1];
        queue.read_list(&self.starts, &mut starts)?;
        let count = starts[self.nodes] as usize;
        let (mut columns, mut values) = (vec![0; count], vec![S::zero(); count * self.block * self.block]);
        queue.read_list(&self.places, &mut columns)?;
        queue.read(&self.values, &mut values)?;
        let row = |i: usize| columns[starts[i] as usize..starts[i + 1] as usize].iter();
        let places = (0..self.nodes).flat_map(|i| row(i).map(move |&j| (i as u32, j)));
        Ok((places.collect(), values))
    }

    /// Returns the arguments for kernels of matrices with a contact part.
    pub(crate) fn args(&self) -> [Arg<'_, V>; 3] {
        [&self.starts, &self.places, &self.values].map(Arg::Memory)
    }
}

impl<V: Real, S: Real> fmt::Debug for DeviceContacts<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (b, nodes, capacity) = (self.block, self.nodes, self.capacity);
        write!(f, "blocks of {b} x {b} between {nodes} nodes, at most {capacity}, of {:?}", self.backend)
    }
}
