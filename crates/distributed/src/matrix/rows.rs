//! The block rows of one rank with global columns, from which a distributed matrix is built.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, SparseError};

use crate::{Communicator, DistError, Partition};

/// Block rows in compressed form: row k has the columns `columns[offsets[k]..offsets[k + 1]]`, increasing and
/// counted in the whole matrix, and a dense row-major block for each.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalRows<T> {
    first: u64,
    block: (usize, usize),
    offsets: Vec<usize>,
    columns: Vec<u64>,
    values: Vec<T>,
}

impl<T: Real> GlobalRows<T> {
    /// The rows `first`, `first + 1`, .. of a matrix of r x c blocks.
    ///
    /// # Errors
    /// [`DistError::Offset`] if the offsets do not rise from 0 to the number of columns, [`DistError::Length`]
    /// unless there are r c values per column, [`DistError::Order`] if the columns of a row do not increase.
    pub fn new(
        first: u64,
        block: (usize, usize),
        offsets: Vec<usize>,
        columns: Vec<u64>,
        values: Vec<T>,
    ) -> Result<Self, DistError> {
        let length = |what, expected, found| DistError::Length { what, expected, found };
        let Some((&begin, &last)) = offsets.first().zip(offsets.last()) else {
            return Err(length("the offsets of block rows, one more than rows", 1, 0));
        };
        let offset = |row, found, range| DistError::Offset { row, found, range };
        if begin != 0 {
            return Err(offset(0, begin, "0, where the columns begin"));
        }
        if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(offset(row + 1, offsets[row + 1], "at least the offset before it"));
        }
        if last != columns.len() {
            return Err(offset(offsets.len() - 1, last, "the number of columns, after the last row"));
        }
        let expected = columns.len().saturating_mul(block.0).saturating_mul(block.1);
        if values.len() != expected {
            return Err(length("block values", expected, values.len()));
        }
        for (k, row) in offsets.windows(2).enumerate() {
            if let Some(pair) = columns[row[0]..row[1]].windows(2).find(|pair| pair[0] >= pair[1]) {
                let (before, column) = (pair[0], pair[1]);
                return Err(DistError::Order { row: first + k as u64, before, column });
            }
        }
        Ok(Self { first, block, offsets, columns, values })
    }

    /// The rows `range` of a matrix that this rank holds completely. *Use* in tests and small programs.
    ///
    /// # Errors
    /// [`DistError::Range`] if the matrix does not have these rows, or the range ends before it begins.
    pub fn of(a: &Bsr<T>, range: Range<u64>) -> Result<Self, DistError> {
        let (rows, Range { start, end }) = (a.pattern().rows() as u64, range);
        if end > rows || start > end {
            return Err(DistError::Range { start, end, rows });
        }
        let (block, (start, end)) = (a.block(), (start as usize, end as usize));
        let before = &a.pattern().offsets()[start..=end];
        let entries = before[0]..before[end - start];
        let offsets = before.iter().map(|offset| offset - entries.start).collect();
        let columns = a.pattern().indices()[entries.clone()].iter().map(|&j| u64::from(j)).collect();
        let size = block.0 * block.1;
        let values = a.values()[entries.start * size..entries.end * size].to_vec();
        let start = start as u64;
        Self::new(start, a.block(), offsets, columns, values)
    }

    /// Whether these are the rows of this rank in a matrix between two partitions. Sends no message.
    ///
    /// # Errors
    /// [`DistError::Communicators`], [`DistError::Row`] for other rows than those of this rank,
    /// [`DistError::Length`] for another block size, [`DistError::Column`] for a column outside the matrix.
    pub fn check<C: Communicator>(
        &self,
        rows: &Partition<C>,
        columns: &Partition<C>,
    ) -> Result<(), DistError> {
        if !rows.comm().is_same(columns.comm()) {
            return Err(DistError::Communicators);
        }
        let (rank, range) = (rows.rank(), rows.layout().range(rows.rank()));
        let end = self.first + self.count() as u64;
        if self.first != range.start || end != range.end {
            let row = if self.first == range.start { end } else { self.first };
            return Err(DistError::Row { row, rank, first: range.start, end: range.end });
        }
        for (what, expected, found) in [
            ("the rows of a block", rows.layout().block(), self.block.0),
            ("the columns of a block", columns.layout().block(), self.block.1),
        ] {
            if expected != found {
                return Err(DistError::Length { what, expected, found });
            }
        }
        let width = columns.layout().rows();
        match self.columns.iter().position(|&column| column >= width) {
            Some(at) => {
                let k = self.offsets.partition_point(|&offset| offset <= at) - 1;
                Err(DistError::Column {
                    row: self.first + k as u64,
                    column: self.columns[at],
                    columns: width,
                })
            }
            None => Ok(()),
        }
    }

    /// Refuses NaN and infinity, with the row and column of the whole matrix. Sends no message.
    ///
    /// # Errors
    /// [`SparseError::NotFinite`] for the first such entry.
    pub fn check_finite(&self) -> Result<(), SparseError> {
        let (r, c) = self.block;
        for k in 0..self.count() {
            for (j, block) in self.row(k) {
                if let Some(at) = block.iter().position(|v| !v.is_finite()) {
                    let row = (self.first as usize + k) * r + at / c;
                    return Err(SparseError::NotFinite { row, column: j as usize * c + at % c });
                }
            }
        }
        Ok(())
    }

    /// The sum of the same rows of two matrices.
    ///
    /// ```
    /// use coarsen_distributed::GlobalRows;
    /// let a = GlobalRows::new(4, (1, 1), vec![0, 2], vec![1, 4], vec![1.0, 2.0])?;
    /// let b = GlobalRows::new(4, (1, 1), vec![0, 2], vec![0, 4], vec![5.0, 3.0])?;
    /// let sum: Vec<_> = a.plus(&b)?.row(0).map(|(j, v)| (j, v[0])).collect();
    /// assert_eq!(sum, [(0, 5.0), (1, 1.0), (4, 5.0)]);
    /// # Ok::<(), coarsen_distributed::DistError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn plus(&self, other: &Self) -> Result<Self, DistError> {
        Self::sum(self, &[other])
    }

    /// The sum of the same rows of several matrices, in one pass; blocks are added in their order, from `first` on.
    ///
    /// *Cost* one pass over all entries, and a copy of them.
    ///
    /// # Errors
    /// [`DistError::Length`] for other numbers of rows or of unknowns per block than those of `first`, [`DistError::Value`] for
    /// another first row.
    pub fn sum(first: &Self, others: &[&Self]) -> Result<Self, DistError> {
        for other in others {
            for (what, expected, found) in [
                ("the rows of a matrix that is added", first.count(), other.count()),
                ("the rows of a block", first.block.0, other.block.0),
                ("the columns of a block", first.block.1, other.block.1),
            ] {
                if expected != found {
                    return Err(DistError::Length { what, expected, found });
                }
            }
            if first.first != other.first {
                let (what, range) = ("the first row of a matrix that is added", "that of the other matrix");
                return Err(DistError::Value { what, found: other.first, range });
            }
        }
        let all: Vec<&Self> = [first].into_iter().chain(others.iter().copied()).collect();
        let size = first.block.0 * first.block.1;
        let most: usize = all.iter().map(|rows| rows.columns.len()).sum();
        let (mut offsets, mut columns) = (Vec::with_capacity(first.offsets.len()), Vec::with_capacity(most));
        let mut values = Vec::with_capacity(most * size);
        offsets.push(0);
        // Where the rest of the present row begins in each matrix.
        let mut next = vec![0; all.len()];
        for k in 0..first.count() {
            let end = |rows: &Self| rows.offsets[k + 1];
            // Columns at which one matrix alone is left are copied at once.
            while let Some(column) = rest(&all, &next, end).map(|(_, column)| column).min() {
                let only = {
                    let mut left = rest(&all, &next, end);
                    left.next().filter(|_| left.next().is_none())
                };
                if let Some((only, _)) = only {
                    let (from, to) = (next[only], end(all[only]));
                    columns.extend_from_slice(&all[only].columns[from..to]);
                    values.extend_from_slice(&all[only].values[from * size..to * size]);
                    next[only] = to;
                    continue;
                }
                let at = values.len();
                columns.push(column);
                values.resize(at + size, T::zero());
                for (rows, next) in all.iter().zip(&mut next) {
                    if *next < end(rows) && rows.columns[*next] == column {
                        let block = &rows.values[*next * size..][..size];
                        values[at..].iter_mut().zip(block).for_each(|(sum, v)| *sum += *v);
                        *next += 1;
                    }
                }
            }
            offsets.push(columns.len());
        }
        Self::new(first.first, first.block, offsets, columns, values)
    }

    /// The first row.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The numbers of rows and columns of a block.
    pub fn block(&self) -> (usize, usize) {
        self.block
    }

    /// Where the columns of each row begin, and the end of the last.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The columns of all rows, concatenated.
    pub fn columns(&self) -> &[u64] {
        &self.columns
    }

    /// The blocks of all rows, concatenated, each row-major.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The block (first + k, first + k), mutable; `None` if it is not stored.
    pub fn diagonal_block_mut(&mut self, k: usize) -> Option<&mut [T]> {
        let (range, size) = (self.offsets[k]..self.offsets[k + 1], self.block.0 * self.block.1);
        let at = range.start + self.columns[range].binary_search(&(self.first + k as u64)).ok()?;
        Some(&mut self.values[at * size..(at + 1) * size])
    }

    /// The columns and blocks of the row `first + k`.
    pub fn row(&self, k: usize) -> impl Iterator<Item = (u64, &[T])> {
        let (range, size) = (self.offsets[k]..self.offsets[k + 1], self.block.0 * self.block.1);
        let values = self.values[range.start * size..range.end * size].chunks_exact(size.max(1));
        self.columns[range].iter().copied().zip(values)
    }
}

/// The matrices whose row has not ended, with the next column of each; `end` is where the row of a matrix ends.
fn rest<'a, T>(
    all: &'a [&GlobalRows<T>],
    next: &'a [usize],
    end: impl Fn(&GlobalRows<T>) -> usize + 'a,
) -> impl Iterator<Item = (usize, u64)> + 'a {
    let open = move |(k, (rows, next)): (usize, (&&GlobalRows<T>, &usize))| {
        (*next < end(rows)).then(|| (k, rows.columns[*next]))
    };
    all.iter().zip(next).enumerate().filter_map(open)
}
