//! The algorithm for scalar matrices. Looking up a column costs more than multiplying, so this version has no
//! loops over blocks.
//!
//! Fine rows are visited in order, so that A and P stream from memory, and no row of Q is kept: a row is added to all
//! coarse rows of the task that need it. These are hash tables. A coarse row is written as soon as it and the rows before
//! it are complete, and its table is used again, so that the tables stay in the cache. Every entry is still one sum in the
//! order of the fine rows.

use std::mem;
use std::ops::Range;

use coarsen_core::Real;

use super::factors::Factors;
use super::worker::{Done, Worker};
use crate::{Bsr, SparseError};

impl<T: Real> Factors<'_, T> {
    /// Sums each coarse row of the worker in `worker.tables`, for 1 x 1 blocks.
    pub(super) fn scalars(
        &self,
        p: &Bsr<T>,
        worker: &mut Worker<T>,
        done: &mut dyn Done<T>,
    ) -> Result<(), SparseError> {
        let (p, values, a) = (p.pattern(), p.values(), self.a.pattern());
        let restriction = self.transpose.pattern();
        let mut done = |worker: &mut Worker<T>, coarse: usize| {
            done.scalars(worker, coarse);
            worker.tables.free(coarse - worker.rows.start);
        };
        worker.tables.clear();
        worker.sum.clear(1); // the last product may have failed
        let mut unfinished = worker.rows.clone();
        for fine in worker.fine.clone() {
            while !unfinished.is_empty()
                && restriction.row(unfinished.start).last().is_none_or(|&last| (last as usize) < fine)
            {
                unfinished.next().into_iter().for_each(|coarse| done(worker, coarse));
            }
            let Worker { rows, sum, tables, .. } = worker;
            let own = || p.range(fine).filter(|&at| rows.contains(&(p.indices()[at] as usize)));
            if own().next().is_none() {
                continue;
            }
            for (&j, &factor) in a.row(fine).iter().zip(&self.a.values()[a.range(fine)]) {
                let row = p.range(j as usize);
                sum.reserve(row.len(), 1)?;
                sum.add(factor, &p.indices()[row.clone()], &values[row]);
            }
            for at in own() {
                let coarse = p.indices()[at] as usize - rows.start;
                tables.add(coarse, values[at], sum.columns(), &sum.values);
            }
            sum.clear(1);
        }
        unfinished.for_each(|coarse| done(worker, coarse));
        Ok(())
    }
}

/// Marks a free place of a table.
const NONE: u32 = u32::MAX;

/// Rows of sums, each a hash table with open addressing. A table is at most seven eighths full.
#[derive(Clone, Debug)]
pub(super) struct Tables<T> {
    rows: Vec<Table>,
    columns: Vec<u32>,
    values: Vec<T>,
    /// The starts of free tables of 2^bits places, by bits.
    unused: [Vec<usize>; 32],
}

/// The places of a table, of which there is a power of two, and the number of its columns.
#[derive(Clone, Copy, Debug, Default)]
struct Table {
    start: usize,
    bits: u32,
    len: u32,
}

impl Table {
    fn places(self) -> usize {
        if self.bits == 0 { 0 } else { 1 << self.bits }
    }

    fn all(self) -> Range<usize> {
        self.start..self.start + self.places()
    }

    /// The first place of a column.
    #[inline(always)]
    fn home(self, column: u32) -> usize {
        (column.wrapping_mul(0x9E37_79B9) >> (32 - self.bits)) as usize // Fibonacci hashing
    }
}

impl<T: Real> Tables<T> {
    pub(super) fn new(rows: usize) -> Self {
        let (rows, unused) = (vec![Table::default(); rows], Default::default());
        Self { rows, columns: Vec::new(), values: Vec::new(), unused }
    }

    /// Drops all sums.
    fn clear(&mut self) {
        self.rows.fill(Table::default());
        self.columns.clear();
        self.values.clear();
        self.unused.iter_mut().for_each(Vec::clear);
    }

    /// Drops the sums of a row, whose table may then be used by another row.
    fn free(&mut self, row: usize) {
        let table = mem::take(&mut self.rows[row]);
        self.release(table);
    }

    fn release(&mut self, table: Table) {
        if table.bits > 0 {
            self.columns[table.all()].fill(NONE);
            self.values[table.all()].fill(T::zero());
            self.unused[table.bits as usize].push(table.start);
        }
    }

    /// Adds f v to a row, for different columns.
    #[inline(always)]
    fn add(&mut self, row: usize, f: T, columns: &[u32], v: &[T]) {
        let mut table = self.rows[row];
        if columns.is_empty() {
            return;
        }
        if 8 * (table.len as usize + columns.len()) > 7 * table.places() {
            table = self.grow(row, columns.len());
        }
        let all = table.all();
        let (kept, sums) = (&mut self.columns[all.clone()], &mut self.values[all]);
        let last = kept.len() - 1;
        for (&column, &v) in columns.iter().zip(v) {
            let mut at = table.home(column) & last;
            while kept[at] != column {
                if kept[at] == NONE {
                    kept[at] = column;
                    table.len += 1;
                    break;
                }
                at = (at + 1) & last;
            }
            sums[at] += f * v;
        }
        self.rows[row].len = table.len;
    }

    /// Moves a row to a table with slots for `more` columns. A new row gets slots for three times as many.
    #[cold]
    fn grow(&mut self, row: usize, more: usize) -> Table {
        let old = self.rows[row];
        let places = (8 * (old.len as usize + more)).div_ceil(7).max(3 * more).next_power_of_two().max(2);
        let bits = places.trailing_zeros();
        let start = self.unused[bits as usize].pop().unwrap_or_else(|| {
            let start = self.columns.len();
            self.columns.resize(start + places, NONE);
            self.values.resize(start + places, T::zero());
            start
        });
        let table = Table { start, bits, len: old.len };
        for from in old.all() {
            let (column, value) = (self.columns[from], self.values[from]);
            if column != NONE {
                let mut at = table.home(column);
                while self.columns[start + at] != NONE {
                    at = (at + 1) & (places - 1);
                }
                (self.columns[start + at], self.values[start + at]) = (column, value);
            }
        }
        self.release(old);
        self.rows[row] = table;
        table
    }

    /// Writes the columns and sums of a row to `entries`, sorted by column.
    pub(super) fn sorted(&self, row: usize, entries: &mut Vec<(u32, T)>) {
        let table = self.rows[row];
        let all = table.all();
        let stored = self.columns[all.clone()].iter().zip(&self.values[all]);
        entries.clear();
        entries.extend(stored.filter(|(column, _)| **column != NONE).map(|(&column, &sum)| (column, sum)));
        entries.sort_unstable_by_key(|entry| entry.0);
    }

    /// The sum of a row in a column; 0 if the row has no such column.
    pub(super) fn sum(&self, row: usize, column: u32) -> T {
        let table = self.rows[row];
        let kept = &self.columns[table.all()];
        let Some(last) = kept.len().checked_sub(1) else { return T::zero() };
        let mut at = table.home(column) & last;
        while kept[at] != column {
            if kept[at] == NONE {
                return T::zero();
            }
            at = (at + 1) & last;
        }
        self.values[table.start + at]
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Table>()
            + self.columns.capacity() * 4
            + self.values.capacity() * size_of::<T>()
            + self.unused.iter().map(|starts| starts.capacity() * 8).sum::<usize>()
    }
}
