//! Steps 4 and 5: adding the blocks of a stream to a target.

use coarsen_core::{Error, Real, Vector};

use super::{DeviceStream, Step, module};
use crate::error::same_length;
use crate::memory::Buffer;
use crate::queue::{Arg, Items, Queue};
use crate::{DeviceContacts, DeviceMatrix, DeviceVector};

/// The buffers and the capacity of a target.
pub(super) struct Target<'a> {
    /// The number of the module with the kernels for its block size.
    pub(super) module: usize,
    /// The capacity in blocks; the largest index if there is no limit.
    pub(super) blocks: usize,
    /// The capacity in blocks per row; the largest index if there is no limit.
    pub(super) width: usize,
    pub(super) nodes: usize,
    pub(super) block: usize,
    /// The row pointers or the row lengths.
    pub(super) rows: &'a Buffer,
    pub(super) columns: &'a Buffer,
    pub(super) values: &'a Buffer,
    /// The number of blocks and the length of the longest row that the last assembly found.
    pub(super) status: &'a Buffer,
}

impl<V: Real> DeviceStream<V> {
    /// Writes pattern and values of a target if its capacity suffices, otherwise only the counts. Does not synchronise.
    pub(super) fn assemble_into(&self, to: &Target<'_>, values: &DeviceVector<V>) -> Result<(), Error> {
        self.check_fits(to.nodes, to.block, values)?;
        let [order, keys, heads, starts, found, slots] =
            [self.sorting.order(), &self.sorting.keys, &self.heads, &self.starts, &self.found, &self.slots]
                .map(Arg::Memory);
        let [rows, columns, status] = [to.rows, to.columns, to.status].map(Arg::Memory);
        let mut queue = self.backend.queue();
        let [all, nodes, blocks, width] = [self.entries(), self.nodes, to.blocks, to.width].map(Arg::Count);
        let args =
            [all, nodes, blocks, width, order, keys, heads, starts, found, slots, rows, columns, status];
        let items = Items::Entries(self.entries().max(self.nodes + 1).max(2));
        queue.launch(Step::Place.of(to.module), items, &args);
        self.sum(&mut queue, to.module, to.block, to.values, values);
        queue.state()
    }

    /// Adds up the values of each block in its slot.
    fn sum(&self, queue: &mut Queue<V>, module: usize, block: usize, to: &Buffer, values: &DeviceVector<V>) {
        let [order, keys, heads, slots, weights, stream, to] = [
            self.sorting.order(),
            &self.sorting.keys,
            &self.heads,
            &self.slots,
            &self.weights,
            &values.memory,
            to,
        ]
        .map(Arg::Memory);
        let [all, per, nodes] = [self.entries(), self.per, self.nodes].map(Arg::Count);
        let args = [all, per, nodes, order, keys, heads, slots, weights, stream, to];
        queue.launch(Step::Sum.of(module), Items::Entries(self.entries() * block * block), &args);
    }

    fn check_fits(&self, nodes: usize, block: usize, values: &DeviceVector<V>) -> Result<(), Error> {
        self.backend.assert_same(values.backend());
        same_length("nodes of a stream", nodes, self.nodes)?;
        same_length("values of a stream", self.count * block * block, values.size())
    }
}

impl<V: Real, S: Real> DeviceContacts<V, S> {
    /// Replaces the set by the blocks of `stream`. `values` contains the values of its blocks, or the
    /// stiffnesses of its contacts: row-major, block after block. Does not transfer data or synchronise.
    ///
    /// If the new set does not fit, the old one is kept, and [`check`](Self::check) returns an error. Values
    /// are not checked.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of nodes or values, [`Error::Device`] if the backend has failed.
    pub fn assemble(&mut self, stream: &DeviceStream<V>, values: &DeviceVector<V>) -> Result<(), Error> {
        let target = Target {
            module: self.module,
            blocks: self.capacity,
            width: u32::MAX as usize,
            nodes: self.nodes,
            block: self.block,
            rows: &self.starts,
            columns: &self.places,
            values: &self.values,
            status: &self.status,
        };
        self.backend.assert_same(&stream.backend);
        stream.assemble_into(&target, values)?;
        self.assembled = true;
        Ok(())
    }
}

/// The data of assembly that a matrix stores in addition to its values.
pub(crate) struct LastStream {
    module: usize,
    /// Whether the pattern lacks a block of the last stream.
    lacking: Buffer,
    /// Whether the values come from the last stream.
    pub(crate) in_use: bool,
}

impl<V: Real, S: Real> DeviceMatrix<V, S> {
    /// Replaces the values of every block by the sum of its entries in a stream in device memory. Blocks
    /// without an entry become zero. Does not transfer data or synchronise.
    ///
    /// Preconditioners can then be updated on the device too:
    /// [`Hierarchy::update_on_device`](../coarsen_multigrid/struct.Hierarchy.html#method.update_on_device),
    /// [`DeviceSubdomains::update_on_device`](crate::DeviceSubdomains::update_on_device). Blocks outside the
    /// pattern are skipped, and [`check`](Self::check) then returns an error. *Cost* the first call for a
    /// matrix allocates one number, and compiles the kernels for its block size unless the backend has compiled
    /// them before.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the matrix is square with square blocks, the stream has its number of nodes,
    /// and `values` has a block for each position or contact. [`Error::Allocation`] if the matrix takes several buffers.
    /// [`Error::Build`] and [`Error::Memory`] in the first call. [`Error::Device`] if the backend has failed.
    pub fn assemble(&mut self, stream: &DeviceStream<V>, values: &DeviceVector<V>) -> Result<(), Error> {
        let (pattern, (rows, columns)) = (self.pattern(), self.block());
        same_length("block columns of a square matrix", pattern.rows(), pattern.columns())?;
        same_length("columns of a square block", rows, columns)?;
        self.backend().assert_same(&stream.backend);
        stream.check_fits(pattern.rows(), rows, values)?;
        self.whole()?;
        let last = match self.last_stream.take() {
            Some(known) => LastStream { in_use: true, ..known },
            None => {
                let module = module::<V, S>(self.backend(), rows, self.slice())?;
                LastStream { module, lacking: self.backend().queue().list(&[0])?, in_use: true }
            }
        };
        let whole = self.whole()?;
        let [_, _, width, offsets, lengths, columns, values_here] = whole.args();
        let [order, keys, heads, slots, lacking] =
            [stream.sorting.order(), &stream.sorting.keys, &stream.heads, &stream.slots, &last.lacking]
                .map(Arg::Memory);
        let mut queue = self.backend().queue();
        let [entries, nodes] = [stream.entries(), stream.nodes].map(Arg::Count);
        let all = self.stored();
        let args = [Arg::Length(all), values_here, lacking];
        queue.launch(Step::Clear.of(last.module), Items::Entries(all.max(1)), &args);
        let args = [entries, nodes, width, offsets, lengths, columns, order, keys, heads, slots, lacking];
        queue.launch(Step::Find.of(last.module), Items::Entries(stream.entries()), &args);
        stream.sum(&mut queue, last.module, rows, &whole.values, values);
        let state = queue.state();
        drop(queue);
        self.last_stream = Some(last);
        state
    }

    /// Checks that the pattern contains every block of the last stream. If the values do not come from
    /// [`assemble`](Self::assemble), there is nothing to check. Synchronises once.
    ///
    /// # Errors
    /// [`Error::Pattern`] if blocks are missing; they were skipped. [`Error::Device`] if the backend has
    /// failed.
    pub fn check(&self) -> Result<(), Error> {
        let Some(last) = self.last_stream.as_ref().filter(|last| last.in_use) else { return Ok(()) };
        let mut lacking = [0];
        self.backend().queue().read_list(&last.lacking, &mut lacking)?;
        match lacking {
            [0] => Ok(()),
            _ => Err(Error::Pattern { what: "a stream with blocks that the matrix does not have" }),
        }
    }
}
