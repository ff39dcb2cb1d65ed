//! Sparse rows in the making, one after the other in one stretch of memory.

use std::ops::Range;

use coarsen_core::Real;

/// Nowhere: no entry is numbered so, since a pattern has at most 2³² − 1 of them.
const NONE: u32 = u32::MAX;

/// A block of zeros, up to 6 rows of 8.
const ZEROS: [f64; 48] = [0.0; 48];

/// Entries below which nobody closes gaps.
const ROOM: usize = 4096;

/// Rows of blocks, each in the order in which its columns appear, each row of a block padded with zeros to whole registers.
#[derive(Clone, Debug)]
pub(super) struct Rows<T> {
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<T>,
    /// Where the block of a column is, for columns of the last row.
    pub(super) place: Vec<u32>,
}

impl<T: Real> Rows<T> {
    /// With columns below `columns`.
    pub(super) fn new(columns: usize) -> Self {
        Self { columns: Vec::new(), values: Vec::new(), place: vec![NONE; columns] }
    }

    /// The block of a column in the last row, new ones zero.
    #[inline(always)]
    pub(super) fn block(&mut self, column: u32, size: usize) -> &mut [T] {
        let at = &mut self.place[column as usize];
        if *at == NONE {
            *at = self.columns.len() as u32;
            self.columns.push(column);
            match ZEROS.get(..size) {
                Some(zeros) => self.values.extend(zeros.iter().map(|&z| T::of(z))),
                None => self.values.resize(self.values.len() + size, T::zero()),
            }
        }
        let start = *at as usize * size;
        &mut self.values[start..start + size]
    }

    /// Adds to the entry of a column in the last row, for blocks of one number.
    #[inline(always)]
    pub(super) fn add(&mut self, column: u32, value: T) {
        let at = &mut self.place[column as usize];
        if *at == NONE {
            *at = self.columns.len() as u32;
            self.columns.push(column);
            self.values.push(value);
        } else {
            self.values[*at as usize] += value;
        }
    }

    /// Ends the row that began at entry `start`.
    #[inline(always)]
    fn end(&mut self, start: usize) {
        self.columns[start..].iter().for_each(|&j| self.place[j as usize] = NONE);
    }

    /// Drops all rows.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.end(0);
        self.columns.clear();
        self.values.clear();
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
        let (len, times) = (
            self.rows.columns.len() - start,
            columns.iter().filter(|&&c| asking.contains(&(c as usize))).count(),
        );
        self.at[fine - self.first] = Place { start: start as u32, len: len as u32, times: times as u32 };
        self.order.push(fine as u32);
        self.live += len;
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

    /// Before a row is made: closes the gaps of dropped rows where they take more than half of the room.
    #[inline(always)]
    pub(super) fn compact(&mut self, size: usize) {
        if self.rows.columns.len() > ROOM + 2 * self.live {
            self.close(size);
        }
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
        rows.columns.truncate(end);
        rows.values.truncate(end * size);
    }

    /// Drops all rows, once nobody asks for any.
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.rows.columns.clear();
        self.rows.values.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + self.at.len() * size_of::<Place>() + 4 * self.order.capacity()
    }
}
