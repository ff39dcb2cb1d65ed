//! The block rows of one rank with global columns, from which a distributed matrix is built.

use std::ops::Range;

use coarsen_sparse::Bsr;

use crate::{DistError, Number};

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

impl<T: Number> GlobalRows<T> {
    /// The rows `first`, `first + 1`, .. of a matrix of r x c blocks.
    ///
    /// # Errors
    /// [`DistError::Length`] if the offsets do not rise from 0 to the number of columns, or unless there are
    /// r c values per column; [`DistError::Column`] if the columns of a row do not increase.
    pub fn new(
        first: u64,
        block: (usize, usize),
        offsets: Vec<usize>,
        columns: Vec<u64>,
        values: Vec<T>,
    ) -> Result<Self, DistError> {
        let length = |what, expected, found| DistError::Length { what, expected, found };
        let last = offsets.last().copied().unwrap_or(usize::MAX);
        if offsets.first() != Some(&0) || !offsets.is_sorted() || last != columns.len() {
            return Err(length("the offsets of block rows", columns.len(), last));
        }
        if values.len() != columns.len() * block.0 * block.1 {
            return Err(length("block values", columns.len() * block.0 * block.1, values.len()));
        }
        for (k, row) in offsets.windows(2).enumerate() {
            if let Some(pair) = columns[row[0]..row[1]].windows(2).find(|pair| pair[0] >= pair[1]) {
                return Err(DistError::Column { row: first + k as u64, column: pair[1], columns: pair[0] });
            }
        }
        Ok(Self { first, block, offsets, columns, values })
    }

    /// The rows `range` of a matrix that this rank holds completely. *Use* in tests and small programs.
    ///
    /// # Errors
    /// [`DistError::Row`] if the matrix has fewer rows.
    pub fn of(a: &Bsr<T>, range: Range<u64>) -> Result<Self, DistError> {
        let rows = a.pattern().rows() as u64;
        if range.end > rows || range.start > range.end {
            return Err(DistError::Row { row: range.end, rank: 0, first: 0, end: rows });
        }
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in range.start as usize..range.end as usize {
            for (j, block) in a.row(i) {
                columns.push(j as u64);
                values.extend_from_slice(block);
            }
            offsets.push(columns.len());
        }
        Self::new(range.start, a.block(), offsets, columns, values)
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

    /// The columns of all rows, concatenated.
    pub fn columns(&self) -> &[u64] {
        &self.columns
    }

    /// The columns and blocks of the row `first + k`.
    pub fn row(&self, k: usize) -> impl Iterator<Item = (u64, &[T])> {
        let (range, size) = (self.offsets[k]..self.offsets[k + 1], self.block.0 * self.block.1);
        let values = self.values[range.start * size..range.end * size].chunks_exact(size.max(1));
        self.columns[range].iter().copied().zip(values)
    }
}
