//! A matrix with rows of bounded length, assembled on the device.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern};

use super::target::Target;
use super::{DeviceStream, module};
use crate::driver::Type;
use crate::matrix::{self, Format, Layout, Operand, RowRange};
use crate::memory::Buffer;
use crate::{DeviceBackend, DeviceVector};

/// A square matrix in block ELL whose pattern and values are assembled in device memory, for meshes that
/// change on the device.
///
/// All rows have the same capacity. Unused capacity takes memory but no time. *Use*
/// [`DeviceMatrix::assemble`](crate::DeviceMatrix::assemble) instead if the pattern is fixed: preconditioners
/// can be updated from that matrix. *Memory* (b² s + 4) bytes per block of capacity, where s is the size of
/// `S` in bytes. *Reference* Li et al. 2020, "P-Cloth", §3.2.2 (block ELL, a value table as wide as the
/// longest row).
pub struct DeviceEll<V: Real, S: Real = V> {
    backend: DeviceBackend<V>,
    nodes: usize,
    block: usize,
    /// The largest number of blocks in a row.
    width: usize,
    /// The number of the module with the kernels of assembly.
    assembly: usize,
    /// The number of the module with the kernels of products.
    product: usize,
    rows: RowRange,
    status: Buffer,
    of: PhantomData<S>,
}

impl<V: Real, S: Real> DeviceEll<V, S> {
    /// Returns the zero matrix of `nodes` x `nodes` blocks of `block` x `block`, with a
    /// capacity of `longest` blocks per row.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a block size or a longest row of 0, [`Error::TooLarge`] from 2³² blocks on,
    /// [`Error::Memory`] if the matrix does not fit (nothing is allocated then), [`Error::Allocation`] if one buffer does
    /// not hold it, [`Error::Build`] and [`Error::Device`] of the driver.
    pub fn new(
        backend: &DeviceBackend<V, S>,
        nodes: usize,
        block: usize,
        longest: usize,
    ) -> Result<Self, Error> {
        for (name, size) in [("DeviceEll::block", block), ("DeviceEll::longest", longest)] {
            if size == 0 {
                return Err(Error::Parameter { name, value: 0.0, range: "1 or more" });
            }
        }
        let slice = Format::Ell.slice();
        let limit = u32::MAX as usize;
        let count = nodes.div_ceil(slice).saturating_mul(slice).saturating_mul(longest);
        if count > limit {
            return Err(Error::TooLarge { what: "blocks of an ELL matrix", count, limit });
        }
        let area = block.saturating_mul(block).saturating_mul(size_of::<S>());
        let bytes = count.saturating_mul(area.saturating_add(4)).saturating_add(nodes.saturating_mul(4));
        backend.check_memory(bytes as u64)?;
        let plain = backend.plain();
        let assembly = module::<V, S>(&plain, block, slice)?;
        let zeros = vec![0; nodes];
        let mut queue = backend.queue();
        let product =
            matrix::module::<V, S>(&mut queue, (block, block), (slice, 1), 1, matrix::Parts::Whole)?;
        let lengths = queue.list(&zeros)?;
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        let (offsets, columns) = (list(1)?, list(count)?);
        let status = queue.list(&[0, 0])?;
        let values = queue.allocate(Type::of::<S>(), count * block * block * size_of::<S>(), None)?;
        drop(queue);
        let layout = Layout::even(nodes, longest);
        let rows = RowRange { layout, offsets, lengths, columns, values };
        let (backend, width, of) = (plain, longest, PhantomData);
        Ok(Self { backend, nodes, block, width, assembly, product, rows, status, of })
    }

    /// Replaces the matrix by the blocks of `stream` with `values`, row-major, block after block. Does not
    /// transfer data or synchronise.
    ///
    /// If the new matrix does not fit, the old one is kept, and [`check`](Self::check) returns an error.
    /// Values are not checked.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of nodes or values, [`Error::Device`] if the backend has failed.
    pub fn assemble(&mut self, stream: &DeviceStream<V>, values: &DeviceVector<V>) -> Result<(), Error> {
        self.backend.assert_same(&stream.backend);
        let target = Target {
            module: self.assembly,
            blocks: u32::MAX as usize,
            width: self.width,
            nodes: self.nodes,
            block: self.block,
            rows: &self.rows.lengths,
            columns: &self.rows.columns,
            values: &self.rows.values,
            status: &self.status,
        };
        stream.assemble_into(&target, values)
    }

    /// Checks that the capacity of every row sufficed in the last [`assemble`](Self::assemble). Synchronises once.
    ///
    /// # Errors
    /// [`Error::Capacity`] with the number of blocks that the longest row needs; [`Error::Device`] if the
    /// backend has failed.
    pub fn check(&self) -> Result<(), Error> {
        let mut found = [0; 2];
        self.backend.queue().read_list(&self.status, &mut found)?;
        let (count, capacity) = (found[1] as usize, self.width);
        if count > capacity {
            return Err(Error::Capacity { what: "blocks of a row", count, capacity });
        }
        Ok(())
    }

    /// Copies the matrix to the host. Synchronises three times.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend has failed.
    pub fn read(&self) -> Result<Bsr<S>, Error> {
        let (area, &Layout { slice, slots, .. }) = (self.block * self.block, &self.rows.layout);
        let (mut lengths, mut columns) = (vec![0; self.nodes], vec![0; slots]);
        let mut stored = vec![S::zero(); slots * area];
        let mut queue = self.backend.queue();
        queue.read_list(&self.rows.lengths, &mut lengths)?;
        queue.read_list(&self.rows.columns, &mut columns)?;
        queue.read(&self.rows.values, &mut stored)?;
        drop(queue);
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (i, &length) in lengths.iter().enumerate() {
            for k in 0..length as usize {
                let first = i / slice * self.width + k;
                indices.push(columns[first * slice + i % slice]);
                values.extend((0..area).map(|e| stored[(first * area + e) * slice + i % slice]));
            }
            offsets.push(indices.len());
        }
        let broken = |_| Error::Pattern { what: "an assembled matrix" };
        let pattern = Pattern::new(self.nodes, offsets, indices).map_err(broken)?;
        Bsr::new(Arc::new(pattern), (self.block, self.block), values).map_err(broken)
    }

    pub(crate) fn operand(&self) -> Operand<'_, V, S> {
        let (rows, size) = (std::slice::from_ref(&self.rows), (self.nodes, self.nodes));
        Operand::new(&self.backend, self.product, rows, size, (self.block, self.block), 1)
    }
}

impl<V: Real, S: Real> fmt::Debug for DeviceEll<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, b, width) = (self.nodes, self.block, self.width);
        write!(f, "{n} rows of {width} blocks of {b} x {b} at most, of {:?}", self.backend)
    }
}
