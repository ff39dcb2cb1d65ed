//! Parallel loops that write block rows, divided along the fixed tree.

use std::ops::Range;

use coarsen_core::parallel::{self, Pieces, each};

use crate::{Pattern, SparseError};

/// The number of block rows per leaf. A leaf has a few kilobytes for scalars, tens of kilobytes for 6x6
/// blocks.
pub(crate) const LEAF: usize = 128;

/// Some block rows of a matrix with `size` numbers per block, written by one task.
///
/// Rows differ in length, so `offsets` (of the whole matrix, non-decreasing) gives their boundaries. The
/// division into tasks depends only on the number of rows, so results have the same bits for any number of
/// threads.
///
/// ```
/// use coarsen_sparse::BlockRows;
/// let mut values = [0; 6];
/// BlockRows::new(&[0, 1, 3], 2, &mut values).for_each(6, |i, row| row.fill(i + 1)); // a row of one block, a row of two blocks
/// assert_eq!(values, [1, 1, 2, 2, 2, 2]);
/// ```
#[derive(Debug)]
pub struct BlockRows<'a, T> {
    /// The block rows.
    pub(crate) rows: Range<usize>,
    /// Exactly the values of these rows.
    pub(crate) values: &'a mut [T],
    offsets: &'a [usize],
    size: usize,
}

impl<'a, T> BlockRows<'a, T> {
    /// All block rows.
    ///
    /// *Panics* unless `offsets` starts at 0 and `values` has `size` numbers for each block.
    pub fn new(offsets: &'a [usize], size: usize, values: &'a mut [T]) -> Self {
        assert_eq!(offsets.first(), Some(&0), "offsets of block rows do not start at 0");
        assert_eq!(
            offsets.last().map(|n| n * size),
            Some(values.len()),
            "values do not fit the offsets of the block rows"
        );
        Self { rows: 0..offsets.len() - 1, values, offsets, size }
    }

    /// Calls `body(i, values of block row i)`. Uses several threads if `work`, the total number of scalar
    /// operations, is large enough.
    ///
    /// *Cost* only the calls of `body`; no allocation. *Panics* if `offsets` decrease.
    pub fn for_each(self, work: usize, body: impl Fn(usize, &mut [T]) + Sync)
    where
        T: Send,
    {
        each(self, LEAF, parallel::worth(work), &|leaf: Self| leaf.in_order(&body));
    }

    /// Calls `body(i, values of block row i)` row by row. *Panics* if `offsets` decrease.
    pub fn in_order(self, mut body: impl FnMut(usize, &mut [T])) {
        let mut rest = self.values;
        for i in self.rows {
            let (row, tail) = rest.split_at_mut((self.offsets[i + 1] - self.offsets[i]) * self.size);
            body(i, row);
            rest = tail;
        }
    }
}

/// The pattern whose row i has the columns `lists[i]`.
pub(crate) fn join(columns: usize, lists: &[Vec<u32>]) -> Result<Pattern, SparseError> {
    let mut offsets = Vec::with_capacity(lists.len() + 1);
    offsets.push(0);
    lists.iter().for_each(|list| offsets.push(offsets[offsets.len() - 1] + list.len()));
    Pattern::new(columns, offsets, lists.concat())
}

impl<T: Send> Pieces for BlockRows<'_, T> {
    fn extent(&self) -> usize {
        self.rows.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let Self { rows, values, offsets, size } = self;
        let at = rows.start + mid;
        let (head, tail) = values.split_at_mut((offsets[at] - offsets[rows.start]) * size);
        (
            Self { rows: rows.start..at, values: head, offsets, size },
            Self { rows: at..rows.end, values: tail, offsets, size },
        )
    }
}
