//! A symmetric matrix of which only the blocks on and above the diagonal are stored.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use coarsen_backend::{SetupError, check_range};
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern};

use super::format::{Format, Layout};
use super::operand::{self, Operand, Parts, RowRange};
use crate::DeviceBackend;
use crate::error::same_length;

/// A = Aᵀ in device memory, stored in `S` and applied to vectors of `V`. Block (j, i) with j > i is read as
/// the transpose of block (i, j).
///
/// Every row lists all of its blocks and their slots, so an item computes one block row without atomic
/// operations. The applied matrix is symmetric to the last bit, even if the host matrix is symmetric only up
/// to round-off. If the host matrix is exactly symmetric, products have the same bits as with
/// [`DeviceMatrix`](crate::DeviceMatrix). *Use* if memory is short and the preconditioner needs no fine
/// matrix on the device, such as [`DeviceSchwarz`](crate::DeviceSchwarz). *Not* for speed: a block is read
/// from memory twice unless it is still in a cache, and transposed blocks are read out of order. *Memory* b²
/// s (m + n) / 2 + 8 m bytes for m blocks in n block rows, plus padding, where s is the size of `S` in bytes.
/// With many blocks per row, 3x3 blocks take 26 bytes each instead of 40 in `f32`, and 44 instead of 76 in
/// `f64`. 1x1 blocks save nothing in `f64` and take more memory in `f32`. *Cost* of a setup and of new
/// values: for each block above the diagonal, a search for its transpose. *Reference* Wu et al. 2022, §7,
/// Fig. 12, for dense blocks, which stay in fast memory between their two uses.
pub struct DeviceSymmetric<V: Real, S: Real = V> {
    backend: DeviceBackend<V>,
    block: usize,
    pattern: Arc<Pattern>,
    /// All rows. For each block of a row, `columns` lists the column, and twice the slot of the values. The latter is
    /// increased by 1 for a block whose transpose is stored.
    rows: RowRange,
    /// The layout of the values, which contain the blocks of a row from the diagonal on.
    upper: Layout,
    /// The number of items that compute a row.
    items_per_row: usize,
    /// The number of the module with its kernels.
    module: usize,
    of: PhantomData<S>,
}

impl<V: Real, S: Real> DeviceSymmetric<V, S> {
    /// Copies a host matrix to the device, in the layout that suits its rows and the device.
    ///
    /// # Errors
    /// [`SetupError::Unsymmetric`] with a pair of entries that differ by more than round-off, or with a block
    /// whose transpose is missing. [`Error::Range`] for values that `S` cannot hold, [`Error::TooLarge`] from
    /// 2³¹ slots on, [`Error::Memory`] if the matrix does not fit (nothing is allocated then), [`Error::Allocation`] if one
    /// buffer does not hold its values or lists (a [`DeviceMatrix`](crate::DeviceMatrix) takes several), [`Error::Build`]
    /// and [`Error::Device`] of the driver.
    pub fn new<T: Real>(backend: &DeviceBackend<V, S>, host: &Bsr<T>) -> Result<Self, SetupError> {
        check_symmetric(host)?;
        check_range::<T, S>("the matrix", host.values())?;
        let (pattern, block) = (host.pattern(), host.block().0);
        let first = from_diagonal(pattern, block)?;
        let format = Format::suiting(pattern, backend.device());
        let half = upper(pattern, &first)?;
        let limit = (u32::MAX / 2) as usize;
        let (count, area) = (Layout::slots(pattern, format).max(pattern.rows()), block * block);
        if count > limit {
            return Err(Error::TooLarge { what: "slots of a device matrix", count, limit }.into());
        }
        // Only the host computes slots of values, so a common width of all rows would save nothing.
        let stored = if format == Format::Rows { Format::Rows } else { Format::Sliced };
        let (rows, upper) = (Layout::new(pattern, format), Layout::new(&half, stored));
        let mut queue = backend.queue();
        queue
            .check_memory((upper.slots * area * size_of::<S>() + 8 * (rows.slots + pattern.rows())) as u64)?;
        let items_per_row = format.items_per_row(pattern, backend.device());
        let module = operand::module::<V, S>(
            &mut queue,
            (block, block),
            (format.slice(), items_per_row),
            1,
            Parts::Half,
        )?;
        let mut values = vec![S::zero(); upper.slots * area];
        arrange(&upper, host, &mut values);
        let columns = columns(pattern, &first, &rows, &upper);
        let rows = RowRange::new(&mut queue, pattern, rows, &columns, &values)?;
        let (backend, pattern, of) = (backend.plain(), pattern.clone(), PhantomData);
        Ok(Self { backend, block, pattern, rows, upper, items_per_row, module, of })
    }

    /// Returns the number of rows of a block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Returns the pattern of its blocks in both triangles.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Replaces the values; the pattern stays the same. Synchronises once.
    ///
    /// # Errors
    /// As in [`new`](Self::new), and [`Error::Pattern`], [`Error::Shape`] for another pattern or block size;
    /// the old values are kept then.
    pub fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), SetupError> {
        if !Pattern::same(&self.pattern, host.pattern()) {
            return Err(Error::Pattern { what: "the matrix given to set_values" }.into());
        }
        same_length("rows of a block", self.block, host.block().0)?;
        check_symmetric(host)?;
        check_range::<T, S>("the matrix", host.values())?;
        let count = self.upper.slots * self.block * self.block;
        Ok(self
            .backend
            .queue()
            .put(&self.rows.values, count, |to: &mut [S]| arrange(&self.upper, host, to))?)
    }

    pub(super) fn operand(&self) -> Operand<'_, V, S> {
        let (rows, size) = (std::slice::from_ref(&self.rows), (self.pattern.rows(), self.pattern.rows()));
        Operand::new(&self.backend, self.module, rows, size, (self.block, self.block), self.items_per_row)
    }
}

/// Returns an error for the first pair of entries that differ.
fn check_symmetric<T: Real>(host: &Bsr<T>) -> Result<(), SetupError> {
    match host.asymmetric_pair(Bsr::<T>::symmetry_tolerance()) {
        None => Ok(()),
        Some((row, column)) => Err(SetupError::Unsymmetric { method: "DeviceSymmetric", row, column }),
    }
}

/// Returns, for every row, the position of the first block on or right of the diagonal. A block without its
/// transpose is an error.
fn from_diagonal(pattern: &Pattern, block: usize) -> Result<Vec<usize>, SetupError> {
    if !pattern.is_symmetric() {
        let alone = |i: usize| pattern.row(i).iter().find(|&&j| pattern.find(j as usize, i).is_none());
        let found = (0..pattern.rows()).find_map(|i| alone(i).map(|&j| (i, j as usize)));
        let (row, column) = found.map_or((0, 0), |(i, j)| (i * block, j * block));
        return Err(SetupError::Unsymmetric { method: "DeviceSymmetric", row, column });
    }
    let first = |i: usize| pattern.range(i).start + pattern.row(i).partition_point(|&j| (j as usize) < i);
    Ok((0..pattern.rows()).map(first).collect())
}

/// Returns the pattern of the blocks on and above the diagonal.
fn upper(pattern: &Pattern, first: &[usize]) -> Result<Pattern, Error> {
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for (i, &first) in first.iter().enumerate() {
        indices.extend_from_slice(&pattern.indices()[first..pattern.range(i).end]);
        offsets.push(indices.len());
    }
    Pattern::new(pattern.columns(), offsets, indices)
        .map_err(|_| Error::Pattern { what: "the upper triangle" })
}

/// Returns, for every block in the slots of its row, the column and the slot, and whether it is transposed.
fn columns(pattern: &Pattern, first: &[usize], rows: &Layout, upper: &Layout) -> Vec<u32> {
    let mut columns = vec![0; 2 * rows.slots];
    for i in 0..pattern.rows() {
        for (k, &j) in pattern.row(i).iter().enumerate() {
            let (row, column) = (i.min(j as usize), i.max(j as usize));
            let stored = pattern.find(row, column).map_or(0, |at| at - first[row]);
            let slot = upper.first(row) + stored * upper.slice;
            let at = 2 * (rows.first(i) + k * rows.slice);
            columns[at] = j;
            columns[at + 1] = 2 * slot as u32 + u32::from(row < i);
        }
    }
    columns
}

/// Writes the values from the diagonal on to their slots, entry by entry. The lower half of a diagonal block
/// is replaced by the transpose of its upper half. Padding is not written.
fn arrange<T: Real, S: Real>(upper: &Layout, host: &Bsr<T>, to: &mut [S]) {
    let (b, slice) = (host.block().0, upper.slice);
    for i in 0..host.pattern().rows() {
        let (lane, first) = (i % slice, upper.first(i) - i % slice);
        for (k, (j, block)) in host.row(i).filter(|&(j, _)| j >= i).enumerate() {
            let at = (first + k * slice) * b * b + lane;
            for (r, c) in (0..b).flat_map(|r| (0..b).map(move |c| (r, c))) {
                let (from, across) = if i == j { (r.min(c), r.max(c)) } else { (r, c) };
                to[at + (r * b + c) * slice] = block[from * b + across].to();
            }
        }
    }
}

impl<V: Real, S: Real> fmt::Debug for DeviceSymmetric<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, b) = (self.operand().shape.0, self.block);
        write!(f, "{n} x {n} in blocks of {b} x {b} (upper triangle) of {:?}", self.backend)
    }
}
