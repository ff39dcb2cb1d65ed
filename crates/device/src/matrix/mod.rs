//! Block sparse rows on a device.

mod format;
mod operand;
mod operators;
mod relax;
mod symmetric;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use coarsen_backend::check_range;
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern};

use crate::DeviceBackend;
use crate::assembly::LastStream;
use crate::error::same_length;

pub use format::Format;
pub(crate) use format::Layout;
pub use operand::Operand;
pub(crate) use operand::{Parts, RowRange, module};
pub use symmetric::DeviceSymmetric;

/// A sparse matrix of dense blocks in device memory, stored in `S`, applied to vectors of `V`.
///
/// Made by [`Backend::matrix`](coarsen_backend::Backend::matrix), or in a given layout by
/// [`DeviceMatrix::new`]. One item computes one block row; long rows on a GPU have several items. The block size is a constant of the kernels, which
/// are compiled for the first matrix of each block size. If the values exceed the largest single allocation of the
/// device ([`Device::most`](crate::Device::most)), they are stored as several ranges of rows: each operation then launches a
/// kernel for each range, [`apply_dot`](coarsen_core::LinearOperator::apply_dot) takes a second pass, and setups on the device refuse the
/// matrix. *Memory* (r c s + 4) bytes per slot for blocks of r x c, where s is the size of `S` in bytes; 4 or 8 bytes per
/// block row.
pub struct DeviceMatrix<V: Real, S: Real = V> {
    backend: DeviceBackend<V>,
    block: (usize, usize),
    pattern: Arc<Pattern>,
    format: Format,
    /// The number of items that compute a row.
    items_per_row: usize,
    /// The number of the module with its kernels.
    module: usize,
    /// The rows: one range, or several if one buffer does not hold the values.
    ranges: Vec<RowRange>,
    /// The data of assembly; set by the first [`assemble`](Self::assemble).
    pub(crate) last_stream: Option<LastStream>,
    of: PhantomData<S>,
}

impl<V: Real, S: Real> DeviceMatrix<V, S> {
    /// Returns the device memory in bytes of a matrix with this pattern and block size in a layout.
    pub(crate) fn bytes(pattern: &Pattern, block: (usize, usize), format: Format) -> usize {
        Layout::slots(pattern, format) * (block.0 * block.1 * size_of::<S>() + 4) + pattern.rows() * 8
    }

    /// Copies a host matrix to the device in a given layout.
    ///
    /// # Errors
    /// [`Error::Range`] for values that `S` cannot hold, [`Error::Memory`] if the matrix does not fit (nothing is
    /// allocated then), [`Error::Allocation`] with a row that alone (in slices: with its slice) exceeds the largest single
    /// allocation of the device, [`Error::Build`] and [`Error::Device`] of the driver.
    pub fn new<T: Real>(backend: &DeviceBackend<V, S>, host: &Bsr<T>, format: Format) -> Result<Self, Error> {
        check_range::<T, S>("the matrix", host.values())?;
        let (pattern, block, limit) = (host.pattern(), host.block(), backend.device().most);
        let mut queue = backend.queue();
        queue.check_memory(Self::bytes(pattern, block, format) as u64)?;
        let area = block.0 * block.1;
        let layouts =
            Layout::ranges(pattern, format, area * size_of::<S>(), limit).map_err(|(row, needed)| {
                Error::Allocation { what: "row", row: Some(row * block.0), needed, limit }
            })?;
        let items_per_row = format.items_per_row(pattern, backend.device());
        let (slices, count) = ((format.slice(), items_per_row), layouts.len());
        let module = operand::module::<V, S>(&mut queue, block, slices, count, Parts::Whole)?;
        let mut ranges = Vec::with_capacity(layouts.len());
        for layout in layouts {
            let columns = layout.columns(pattern);
            ranges.push(if layout.keeps::<T, S>() {
                let values = layout.values(host);
                RowRange::new(&mut queue, pattern, layout, &columns, values)?
            } else {
                let mut values = vec![S::zero(); layout.slots * area];
                layout.arrange(host, &mut values);
                RowRange::new(&mut queue, pattern, layout, &columns, &values)?
            });
        }
        let (backend, pattern, last_stream, of) = (backend.plain(), pattern.clone(), None, PhantomData);
        Ok(Self { backend, block, pattern, format, items_per_row, module, ranges, last_stream, of })
    }

    /// Returns the numbers of rows and columns of a block.
    pub fn block(&self) -> (usize, usize) {
        self.block
    }

    /// Returns the layout of its rows.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the pattern of its blocks.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Returns all rows, for a setup on the device.
    ///
    /// # Errors
    /// [`Error::Allocation`] if they are stored as several ranges.
    pub(crate) fn whole(&self) -> Result<&RowRange, Error> {
        if let [whole] = &self.ranges[..] {
            return Ok(whole);
        }
        let needed = (self.stored() * size_of::<S>()) as u64;
        let (what, limit) = ("a matrix for a setup on the device", self.backend.device().most);
        Err(Error::Allocation { what, row: None, needed, limit })
    }

    pub(crate) fn ranges(&self) -> &[RowRange] {
        &self.ranges
    }

    /// Returns the slot of each block of the pattern, row after row, for a setup on the device.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the rows are stored as several ranges.
    pub(crate) fn slots(&self) -> Result<Vec<u32>, Error> {
        let layout = &self.whole()?.layout;
        let row = |i: usize| (0..self.pattern.row(i).len()).map(move |k| layout.slot(i, k) as u32);
        Ok((0..self.pattern.rows()).flat_map(row).collect())
    }

    /// Copies the values to a host matrix with the same pattern and block size. Synchronises once for each range of rows.
    ///
    /// # Errors
    /// [`Error::Pattern`] and [`Error::Shape`] for another matrix, [`Error::Device`] if the backend has failed.
    pub fn read_values<T: Real>(&self, host: &mut Bsr<T>) -> Result<(), Error> {
        self.check_same(host.pattern(), host.block())?;
        let mut values = Vec::new();
        for range in &self.ranges {
            values.resize(range.layout.slots * self.block.0 * self.block.1, S::zero());
            self.backend.queue().read(&range.values, &mut values)?;
            range.layout.collect(&values, host);
        }
        Ok(())
    }

    /// Copies the values of another matrix of the backend with the same pattern, block size and layout. Does
    /// not transfer data or synchronise.
    ///
    /// # Errors
    /// [`Error::Pattern`] and [`Error::Shape`] for another matrix, [`Error::Device`] if the backend has failed.
    pub fn copy_values(&mut self, from: &Self) -> Result<(), Error> {
        self.check_alike(from)?;
        self.not_assembled();
        let mut queue = self.backend.queue();
        for (from, to) in from.ranges.iter().zip(&self.ranges) {
            let bytes = to.layout.slots * self.block.0 * self.block.1 * size_of::<S>();
            queue.copy(&from.values, &to.values, bytes);
        }
        queue.state()
    }

    /// Records that the values no longer come from the last stream.
    pub(crate) fn not_assembled(&mut self) {
        if let Some(last) = &mut self.last_stream {
            last.in_use = false;
        }
    }

    /// Checks that another matrix of the backend has the same pattern, block size and layout.
    pub(crate) fn check_alike(&self, other: &Self) -> Result<(), Error> {
        self.backend.assert_same(&other.backend);
        self.check_same(&other.pattern, other.block)?;
        if self.format == other.format {
            return Ok(());
        }
        Err(Error::Pattern { what: "the layout of a device matrix" })
    }

    fn check_same(&self, pattern: &Arc<Pattern>, block: (usize, usize)) -> Result<(), Error> {
        if !Pattern::same(&self.pattern, pattern) {
            return Err(Error::Pattern { what: "values for a device matrix" });
        }
        same_length("rows of a block", self.block.0, block.0)?;
        same_length("columns of a block", self.block.1, block.1)
    }

    pub(crate) fn backend(&self) -> &DeviceBackend<V> {
        &self.backend
    }

    /// The number of rows in a slice.
    pub(crate) fn slice(&self) -> usize {
        self.format.slice()
    }

    pub(crate) fn items_per_row(&self) -> usize {
        self.items_per_row
    }

    /// Returns the number of stored values, including padding.
    pub(crate) fn stored(&self) -> usize {
        self.ranges.iter().map(|range| range.layout.slots).sum::<usize>() * self.block.0 * self.block.1
    }

    pub(crate) fn operand(&self) -> Operand<'_, V, S> {
        let size = (self.pattern.rows(), self.pattern.columns());
        Operand::new(&self.backend, self.module, &self.ranges, size, self.block, self.items_per_row)
    }
}

impl<V: Real, S: Real> fmt::Debug for DeviceMatrix<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((m, n), (r, c)) = (self.operand().shape, self.block);
        write!(f, "{m} x {n} in blocks of {r} x {c} ({:?}) of {:?}", self.format, self.backend)
    }
}
