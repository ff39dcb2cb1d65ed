//! The accumulator of sparse rows for both matrix products (Gustavson 1978). Rows are stored one after the
//! other.

use coarsen_core::Real;

use crate::SparseError;

/// Marks a column without a block. [`RowSums`] never has so many entries.
const NONE: u32 = u32::MAX;

/// Sparse rows of blocks. The columns of a row are in order of first appearance. Within a block, each row is
/// padded to the length of a pack, and the padding has arbitrary values.
#[derive(Clone, Debug)]
pub(super) struct RowSums<T> {
    /// The number of entries of all rows.
    pub(super) len: usize,
    /// The columns of all entries. The list can be longer than `len`; the values of unused entries are zero.
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<T>,
    /// The index of the block of each column in the last row, or [`NONE`].
    place: Vec<u32>,
}

impl<T: Real> RowSums<T> {
    /// An empty accumulator for columns below `columns`.
    pub(super) fn new(columns: usize) -> Self {
        Self { len: 0, columns: Vec::new(), values: Vec::new(), place: vec![NONE; columns] }
    }

    /// Reserves memory for `blocks` more blocks of `size` numbers.
    #[inline(always)]
    pub(super) fn reserve(&mut self, blocks: usize, size: usize) -> Result<(), SparseError> {
        if self.columns.len() < self.len + blocks {
            self.grow(self.len + blocks, size)?;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, blocks: usize, size: usize) -> Result<(), SparseError> {
        let limit = NONE as usize - 1;
        if blocks > limit {
            let what = "blocks of rows that a product stores at once";
            return Err(SparseError::TooLarge { what, count: blocks, limit });
        }
        let blocks = blocks.max(self.columns.len() + self.columns.len() / 4).min(limit);
        self.columns.reserve_exact(blocks - self.columns.len());
        self.values.reserve_exact(blocks * size - self.values.len());
        self.columns.resize(blocks, 0);
        self.values.resize(blocks * size, T::zero());
        Ok(())
    }

    /// The block of a column in the last row; a new block is zero. Requires [`reserve`](Self::reserve) for one more
    /// block.
    #[inline(always)]
    pub(super) fn block(&mut self, column: u32, size: usize) -> &mut [T] {
        let at = &mut self.place[column as usize];
        if *at == NONE {
            *at = self.len as u32;
            self.columns[self.len] = column;
            self.len += 1;
        }
        &mut self.values[*at as usize * size..][..size]
    }

    /// Adds f v to the last row, for 1x1 blocks. Requires reserved memory for all entries of v.
    ///
    /// There is no branch on whether a column is new, because it could not be predicted.
    #[inline(always)]
    pub(super) fn add(&mut self, f: T, columns: &[u32], v: &[T]) {
        let (mut len, place) = (self.len, &mut self.place[..]);
        let (kept, values) = (&mut self.columns[..], &mut self.values[..]);
        for (&column, &v) in columns.iter().zip(v) {
            let place = &mut place[column as usize];
            let new = *place == NONE;
            let at = if new { len } else { *place as usize };
            (*place, kept[at]) = (at as u32, column);
            values[at] += f * v;
            len += usize::from(new);
        }
        self.len = len;
    }

    /// Ends the row that started at entry `start`.
    #[inline(always)]
    pub(super) fn end(&mut self, start: usize) {
        self.columns[start..self.len].iter().for_each(|&j| self.place[j as usize] = NONE);
    }

    /// The columns of the only row, in order of first appearance. There must be exactly one row.
    #[inline(always)]
    pub(super) fn columns(&self) -> &[u32] {
        &self.columns[..self.len]
    }

    /// The block of a column in the last row, which contains this column.
    #[inline(always)]
    pub(super) fn of(&self, column: u32, size: usize) -> &[T] {
        &self.values[self.place[column as usize] as usize * size..][..size]
    }

    /// Drops the only row. There must be exactly one row.
    #[inline(always)]
    pub(super) fn clear(&mut self, size: usize) {
        self.end(0);
        self.values[..self.len * size].fill(T::zero());
        self.len = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.place.len() + self.columns.capacity()) + self.values.capacity() * size_of::<T>()
    }
}
