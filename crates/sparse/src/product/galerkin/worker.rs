//! One task of a Galerkin product: a range of coarse rows, its scratch memory, and what becomes of its sums.

use std::ops::Range;

use coarsen_core::Real;

use super::kept::Kept;
use super::positions::{Counts, Positions};
use super::scalars::Tables;
use crate::Pattern;
use crate::product::sums::RowSums;

/// The coarse rows of a task, its scratch memory, and its last results.
#[derive(Clone, Debug)]
pub(super) struct Worker<T> {
    /// The coarse rows.
    pub(super) rows: Range<usize>,
    /// The rows of A from the first to the last that the coarse rows need.
    pub(super) fine: Range<usize>,
    /// The result of [`Factors::make`](super::factors::Factors::make): the end of each coarse row, then columns and values.
    pub(super) ends: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<T>,
    /// The coarse row being summed.
    pub(super) sum: RowSums<T>,
    /// The stored rows of Q; empty for scalars.
    pub(super) q: Kept<T>,
    /// The coarse rows being summed, for scalars.
    pub(super) tables: Tables<T>,
    /// A coarse row being sorted, for scalars.
    entries: Vec<(u32, T)>,
    order: Vec<u32>,
    /// The rows of a coarse block while they are reordered; empty unless P is stored as weights.
    pub(super) turned: Vec<T>,
    /// The counts of positions of block products, from the first update with full blocks on.
    pub(super) counts: Option<Counts>,
    /// The positions, which replace scratch memory if they take no more bytes than A.
    pub(super) positions: Option<Positions<T>>,
}

/// The rows of A from the first to the last that some coarse rows need.
pub(super) fn fine_rows(rows: &Range<usize>, restriction: &Pattern) -> Range<usize> {
    let ends = |row: &[u32]| Some((*row.first()? as usize, *row.last()? as usize + 1));
    let asked = rows.clone().filter_map(|row| ends(restriction.row(row)));
    asked.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).map_or(0..0, |(first, end)| first..end)
}

/// The bytes of a worker without rows of Q.
pub(super) fn least_bytes(fine: usize, coarse: usize) -> usize {
    12 * fine + 8 * coarse
}

impl<T: Real> Worker<T> {
    /// A worker for the coarse rows `rows`; `restriction` is the pattern of Pᵀ, and `scalars` tells that P has 1 x 1 blocks.
    pub(super) fn new(rows: Range<usize>, restriction: &Pattern, scalars: bool) -> Self {
        let (fine, coarse) = (fine_rows(&rows, restriction), restriction.rows());
        Self {
            q: if scalars { Kept::new(0..0, 0) } else { Kept::new(fine.clone(), coarse) },
            tables: Tables::new(if scalars { rows.len() } else { 0 }),
            fine,
            rows,
            ends: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
            sum: RowSums::new(coarse),
            entries: Vec::new(),
            order: Vec::new(),
            turned: Vec::new(),
            counts: None,
            positions: None,
        }
    }

    /// Replaces the scratch memory by positions.
    pub(super) fn keep_positions(&mut self, positions: Positions<T>) {
        (self.sum, self.q, self.tables) = (RowSums::new(0), Kept::new(0..0, 0), Tables::new(0));
        (self.entries, self.order, self.turned) = (Vec::new(), Vec::new(), Vec::new());
        self.positions = Some(positions);
    }

    /// Drops all stored rows of Q. For 1 x 1 blocks that are not stored, the first call makes the storage.
    pub(super) fn clear_q(&mut self, columns: usize, size: usize) {
        if !self.q.is_for(&self.fine) {
            self.q = Kept::new(self.fine.clone(), columns);
        }
        self.q.clear(size);
    }

    /// The number of bytes of scratch.
    pub(super) fn bytes(&self) -> usize {
        self.sum.bytes()
            + self.q.bytes()
            + self.tables.bytes()
            + size_of::<(u32, T)>() * self.entries.capacity()
            + 4 * self.order.capacity()
            + size_of::<T>() * self.turned.capacity()
            + self.positions.as_ref().map_or(0, Positions::bytes)
    }
}

/// The output of a coarse row. It is called through `dyn` once per row, so that each kernel is compiled once.
pub(super) trait Done<T> {
    /// Receives coarse row `coarse` in `worker.sum`.
    fn row(&mut self, worker: &mut Worker<T>, coarse: usize);

    /// Receives coarse row `coarse` in `worker.tables`, for scalars.
    fn scalars(&mut self, worker: &mut Worker<T>, coarse: usize);
}

/// Stores rows with sorted columns.
pub(super) struct Make {
    pub(super) k: usize,
    pub(super) width: usize,
}

impl<T: Real> Done<T> for Make {
    fn row(&mut self, worker: &mut Worker<T>, _: usize) {
        let (k, width) = (self.k, self.width);
        worker.order.clear();
        worker.order.extend_from_slice(worker.sum.columns());
        worker.order.sort_unstable();
        if k == 1 {
            let sum = &worker.sum;
            worker.values.extend(worker.order.iter().map(|&column| sum.of(column, 1)[0]));
        } else {
            for &column in &worker.order {
                let block = worker.sum.of(column, k * width);
                block.chunks_exact(width).for_each(|row| worker.values.extend_from_slice(&row[..k]));
            }
        }
        worker.columns.extend_from_slice(&worker.order);
        worker.ends.push(worker.columns.len());
    }

    fn scalars(&mut self, worker: &mut Worker<T>, coarse: usize) {
        let Worker { rows, ends, columns, values, tables, entries, .. } = worker;
        tables.sorted(coarse - rows.start, entries);
        columns.extend(entries.iter().map(|entry| entry.0));
        values.extend(entries.iter().map(|entry| entry.1));
        ends.push(columns.len());
    }
}

/// Writes values in the order of an existing pattern.
pub(super) struct Refill<'a, T> {
    pub(super) k: usize,
    pub(super) width: usize,
    pub(super) pattern: &'a Pattern,
    pub(super) rest: &'a mut [T],
}

impl<T: Real> Done<T> for Refill<'_, T> {
    fn row(&mut self, worker: &mut Worker<T>, coarse: usize) {
        let (columns, k, width) = (self.pattern.row(coarse), self.k, self.width);
        let (row, tail) = std::mem::take(&mut self.rest).split_at_mut(columns.len() * k * k);
        self.rest = tail;
        if k == 1 {
            return row.iter_mut().zip(columns).for_each(|(v, &column)| *v = worker.sum.of(column, 1)[0]);
        }
        for (&column, block) in columns.iter().zip(row.chunks_exact_mut(k * k)) {
            let padded = worker.sum.of(column, k * width).chunks_exact(width);
            block.chunks_exact_mut(k).zip(padded).for_each(|(row, padded)| row.copy_from_slice(&padded[..k]));
        }
    }

    fn scalars(&mut self, worker: &mut Worker<T>, coarse: usize) {
        let columns = self.pattern.row(coarse);
        let (row, tail) = std::mem::take(&mut self.rest).split_at_mut(columns.len());
        self.rest = tail;
        let own = coarse - worker.rows.start;
        row.iter_mut().zip(columns).for_each(|(v, &column)| *v = worker.tables.sum(own, column));
    }
}
