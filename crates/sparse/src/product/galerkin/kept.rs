//! Storage for the rows of Q = A P that later coarse rows still need.

use std::ops::Range;

use coarsen_core::{Real, simd};

use crate::SparseError;
use crate::product::sums::RowSums;

/// Gaps are closed only if they take more than this number of entries.
const CLOSED_GAPS: usize = 4096;

/// Rows of Q. A row is kept until all coarse rows of the task that need it have used it.
#[derive(Clone, Debug)]
pub(super) struct Kept<T> {
    pub(super) rows: RowSums<T>,
    /// The first fine row that the task needs. `at` contains the places of this row and of the following
    /// rows.
    first: usize,
    at: Vec<KeptRow>,
    /// The fine rows in the order in which they are stored.
    order: Vec<u32>,
    /// The number of entries of rows that are still needed.
    live: usize,
}

/// A kept row: its entries, and the number of remaining uses.
#[derive(Clone, Copy, Debug, Default)]
struct KeptRow {
    start: u32,
    len: u32,
    times: u32,
}

impl KeptRow {
    fn entries(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

impl<T: Real> Kept<T> {
    /// Storage for the rows `fine`, with columns below `columns`.
    pub(super) fn new(fine: Range<usize>, columns: usize) -> Self {
        let at = vec![KeptRow::default(); fine.len()];
        Self { rows: RowSums::new(columns), first: fine.start, at, order: Vec::new(), live: 0 }
    }

    /// Whether this is storage for these rows.
    pub(super) fn is_for(&self, fine: &Range<usize>) -> bool {
        self.at.len() == fine.len()
    }

    /// Whether row `fine` is stored.
    #[inline(always)]
    pub(super) fn has(&self, fine: usize) -> bool {
        self.at[fine - self.first].times > 0
    }

    /// Completes the last row as row `fine`. `columns` are the columns of row `fine` of P. The number of uses
    /// is the number of these columns in `asking`, the coarse rows of the task.
    #[inline(always)]
    pub(super) fn keep(&mut self, fine: usize, columns: &[u32], asking: &Range<usize>) {
        let start = self.order.last().map_or(0, |&last| self.at[last as usize - self.first].entries().end);
        self.rows.end(start);
        let len = self.rows.len - start;
        let times = columns.iter().filter(|&&c| asking.contains(&(c as usize))).count();
        self.at[fine - self.first] = KeptRow { start: start as u32, len: len as u32, times: times as u32 };
        self.order.push(fine as u32);
        self.live += len;
    }

    /// Prefetches the start of row `fine`, if it is stored.
    #[inline(always)]
    pub(super) fn prefetch(&self, fine: usize, size: usize) {
        let KeptRow { start, len, times } = self.at[fine - self.first];
        if times > 0 && len > 0 {
            simd::prefetch(&self.rows.columns[start as usize]);
            simd::prefetch(&self.rows.values[start as usize * size]);
        }
    }

    /// Columns and values of row `fine`; counts as one use.
    #[inline(always)]
    pub(super) fn take(&mut self, fine: usize, size: usize) -> (&[u32], &[T]) {
        let place = &mut self.at[fine - self.first];
        place.times -= 1;
        self.live -= if place.times == 0 { place.len as usize } else { 0 };
        let Range { start, end } = place.entries();
        (&self.rows.columns[start..end], &self.rows.values[start * size..end * size])
    }

    /// Reserves memory for a row of up to `blocks` blocks. Closes the gaps of dropped rows if they take more than
    /// a third of the storage.
    #[inline(always)]
    pub(super) fn reserve(&mut self, blocks: usize, size: usize) -> Result<(), SparseError> {
        if self.rows.len > CLOSED_GAPS + self.live + self.live / 2 {
            self.close(size);
        }
        self.rows.reserve(blocks, size)
    }

    #[cold]
    fn close(&mut self, size: usize) {
        let (mut end, first, at, rows) = (0, self.first, &mut self.at, &mut self.rows);
        self.order.retain(|&fine| {
            let place = &mut at[fine as usize - first];
            let (live, old) = (place.times > 0, place.entries());
            if live {
                rows.columns.copy_within(old.clone(), end);
                rows.values.copy_within(old.start * size..old.end * size, end * size);
                place.start = end as u32;
                end += old.len();
            }
            live
        });
        rows.values[end * size..rows.len * size].fill(T::zero());
        rows.len = end;
    }

    /// Drops all rows; no row may still be in use.
    pub(super) fn clear(&mut self, size: usize) {
        self.order.clear();
        self.close(size);
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + self.at.len() * size_of::<KeptRow>() + 4 * self.order.capacity()
    }
}
