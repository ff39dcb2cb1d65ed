//! Sparse rows in the making, one after the other in one stretch of memory.

use std::ops::Range;

use coarsen_core::{Real, simd};

use crate::SparseError;

/// Nowhere: [`Rows`] never has so many entries.
const NONE: u32 = u32::MAX;

/// Entries below which nobody closes gaps.
const ROOM: usize = 4096;

/// Rows of blocks, each in the order in which its columns appear, each row of a block as long as a pack, with anything behind its own numbers.
#[derive(Clone, Debug)]
pub(super) struct Rows<T> {
    /// Entries of all rows.
    len: usize,
    /// With room behind them, where values are zero.
    columns: Vec<u32>,
    values: Vec<T>,
    /// Where the block of a column is, for columns of the last row.
    place: Vec<u32>,
}

impl<T: Real> Rows<T> {
    /// With columns below `columns`.
    pub(super) fn new(columns: usize) -> Self {
        Self { len: 0, columns: Vec::new(), values: Vec::new(), place: vec![NONE; columns] }
    }

    /// Makes room for so many more blocks of `size` numbers.
    #[inline(always)]
    pub(super) fn room(&mut self, blocks: usize, size: usize) -> Result<(), SparseError> {
        if self.columns.len() < self.len + blocks {
            self.grow(self.len + blocks, size)?;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, blocks: usize, size: usize) -> Result<(), SparseError> {
        let limit = NONE as usize - 1;
        if blocks > limit {
            let what = "blocks of A P that a Galerkin product has in use at once";
            return Err(SparseError::TooLarge { what, count: blocks, limit });
        }
        let blocks = blocks.max(self.columns.len() + self.columns.len() / 4).min(limit);
        self.columns.reserve_exact(blocks - self.columns.len());
        self.values.reserve_exact(blocks * size - self.values.len());
        self.columns.resize(blocks, 0);
        self.values.resize(blocks * size, T::zero());
        Ok(())
    }

    /// The block of a column in the last row, new ones zero, where there is [`room`](Self::room) for one more.
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

    /// Adds f v to the entries of a sparse row in the last row, for blocks of one number, where there is room for all of them.
    ///
    /// Nothing branches on whether a column is new, which is as good as random.
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

    /// Ends the row that began at entry `start`.
    #[inline(always)]
    fn end(&mut self, start: usize) {
        self.columns[start..self.len].iter().for_each(|&j| self.place[j as usize] = NONE);
    }

    /// The columns of the only row, in the order in which they appeared.
    #[inline(always)]
    pub(super) fn columns(&self) -> &[u32] {
        &self.columns[..self.len]
    }

    /// The block of a column that the last row has.
    #[inline(always)]
    pub(super) fn of(&self, column: u32, size: usize) -> &[T] {
        &self.values[self.place[column as usize] as usize * size..][..size]
    }

    /// Drops the only row.
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

/// Rows of Q, each kept until every coarse row of a task that asks for it has had it.
#[derive(Clone, Debug)]
pub(super) struct Kept<T> {
    pub(super) rows: Rows<T>,
    /// The first fine row that anybody asks for, and where the rows from there on are.
    first: usize,
    at: Vec<Place>,
    /// The fine rows in the order of their rows.
    order: Vec<u32>,
    /// Entries of rows that are still asked for.
    live: usize,
}

/// A kept row: its entries, and how many more times it is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    start: u32,
    len: u32,
    times: u32,
}

impl Place {
    fn entries(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

impl<T: Real> Kept<T> {
    /// For rows of `fine` with columns below `columns`.
    pub(super) fn new(fine: Range<usize>, columns: usize) -> Self {
        let at = vec![Place::default(); fine.len()];
        Self { rows: Rows::new(columns), first: fine.start, at, order: Vec::new(), live: 0 }
    }

    /// Whether row `fine` is there.
    #[inline(always)]
    pub(super) fn has(&self, fine: usize) -> bool {
        self.at[fine - self.first].times > 0
    }

    /// Ends the row that was being made: it is row `fine`, asked for once for each of the `columns` of P in `asking`.
    #[inline(always)]
    pub(super) fn keep(&mut self, fine: usize, columns: &[u32], asking: &Range<usize>) {
        let start = self.order.last().map_or(0, |&last| self.at[last as usize - self.first].entries().end);
        self.rows.end(start);
        let len = self.rows.len - start;
        let times = columns.iter().filter(|&&c| asking.contains(&(c as usize))).count();
        self.at[fine - self.first] = Place { start: start as u32, len: len as u32, times: times as u32 };
        self.order.push(fine as u32);
        self.live += len;
    }

    /// Fetches the head of row `fine` into the caches, where there is one.
    #[inline(always)]
    pub(super) fn prefetch(&self, fine: usize, size: usize) {
        let Place { start, len, times } = self.at[fine - self.first];
        if times > 0 && len > 0 {
            simd::prefetch(&self.rows.columns[start as usize]);
            simd::prefetch(&self.rows.values[start as usize * size]);
        }
    }

    /// Columns and values of row `fine`, asked for once more.
    #[inline(always)]
    pub(super) fn take(&mut self, fine: usize, size: usize) -> (&[u32], &[T]) {
        let place = &mut self.at[fine - self.first];
        place.times -= 1;
        self.live -= if place.times == 0 { place.len as usize } else { 0 };
        let Range { start, end } = place.entries();
        (&self.rows.columns[start..end], &self.rows.values[start * size..end * size])
    }

    /// Before a row of up to `blocks` is made: room for it. Closes the gaps of dropped rows where they take more than a third of what there is.
    #[inline(always)]
    pub(super) fn room(&mut self, blocks: usize, size: usize) -> Result<(), SparseError> {
        if self.rows.len > ROOM + self.live + self.live / 2 {
            self.close(size);
        }
        self.rows.room(blocks, size)
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

    /// Drops all rows, once nobody asks for any.
    pub(super) fn clear(&mut self, size: usize) {
        self.order.clear();
        self.close(size);
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + self.at.len() * size_of::<Place>() + 4 * self.order.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_blocks_than_can_be_numbered_are_refused() {
        let mut rows = Rows::<f64>::new(1);
        rows.room(3, 1).unwrap();
        let refused = rows.room(NONE as usize, 1);
        assert!(matches!(refused, Err(SparseError::TooLarge { count, .. }) if count == NONE as usize));
        let mut kept = Kept::<f64>::new(0..1, 1);
        assert!(kept.room(usize::MAX / 2, 1).is_err());
        kept.room(1, 1).unwrap();
    }

    #[test]
    fn room_that_is_there_is_not_made_again() {
        let mut rows = Rows::<f64>::new(8);
        rows.room(5, 2).unwrap();
        let bytes = rows.bytes();
        assert_eq!(bytes, 4 * (8 + 5) + 8 * 5 * 2);
        (0..=5).for_each(|blocks| rows.room(blocks, 2).unwrap());
        assert_eq!(rows.bytes(), bytes);
    }

    /// One row is asked for to the end, all others once: what they leave is used again.
    #[test]
    fn gaps_are_closed() {
        let (fine, columns) = (1000, 64);
        let mut kept = Kept::<f64>::new(0..fine, columns as usize);
        for i in 0..fine {
            kept.room(columns as usize, 1).unwrap();
            (0..columns).for_each(|c| kept.rows.block(c, 1)[0] += (i + 1) as f64);
            kept.keep(i, &[0], &(0..1));
            assert!(kept.rows.len <= ROOM + 3 * columns as usize, "row {i}");
            if i > 0 {
                assert!(kept.take(i, 1).1.iter().all(|&v| v == (i + 1) as f64));
            }
        }
        let places = fine * size_of::<Place>();
        assert_eq!(kept.bytes(), kept.rows.bytes() + places + 4 * kept.order.capacity());
        assert!(kept.take(0, 1).1.iter().all(|&v| v == 1.0));
    }
}
