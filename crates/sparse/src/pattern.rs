//! Sparsity patterns of block matrices.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel::{self, each, tree};

use crate::SparseError;
use crate::rows::{self, BlockRows};

/// The sparsity pattern of a block matrix: for each block row, its block columns in increasing order.
///
/// Matrices share a pattern (`Arc<Pattern>`). Setup phases keep it to detect whether a new matrix has the
/// same structure ([`same`](Self::same)). The private fields are checked once, at construction. Unchecked
/// indexing in kernels relies on this check.
///
/// *Memory* 8 bytes per row and 4 per block.
///
/// ```
/// use coarsen_sparse::Pattern;
/// let p = Pattern::new(2, vec![0, 1, 3], vec![0, 0, 1])?;
/// assert_eq!((p.rows(), p.columns(), p.len()), (2, 2, 3));
/// assert_eq!(p.row(1), [0, 1]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
}

/// The number of rows checked per task.
const LEAF: usize = 4096;

/// The largest number of blocks in a row for which a linear search is faster than a binary search.
const SHORT: usize = 16;

/// Checks that the offsets of row `row` lie in the list and that the columns of the row are increasing.
fn check(row: usize, columns: usize, offsets: &[usize], indices: &[u32]) -> Result<(), SparseError> {
    let (start, end) = (offsets[row], offsets[row + 1]);
    if end < start || end > indices.len() {
        return Err(SparseError::Offsets { row });
    }
    let mut next = 0;
    for &j in &indices[start..end] {
        let column = j as usize;
        if column >= columns {
            return Err(SparseError::Column { row, column, columns });
        }
        if column < next {
            return Err(SparseError::Unsorted { row, column });
        }
        next = column + 1;
    }
    Ok(())
}

/// The first fault of the lists of a pattern.
fn fault(columns: usize, offsets: &[usize], indices: &[u32]) -> Option<SparseError> {
    if offsets.first() != Some(&0) {
        return Some(SparseError::Offsets { row: 0 });
    }
    let (rows, limit) = (offsets.len() - 1, u32::MAX as usize);
    for (what, count) in [("block columns", columns), ("block rows", rows)] {
        if count > limit {
            return Some(SparseError::TooLarge { what, count, limit });
        }
    }
    let first =
        |rows: Range<usize>| rows.into_iter().find_map(|row| check(row, columns, offsets, indices).err());
    let work = parallel::worth(indices.len());
    tree(0..rows, LEAF, work, &first, &|left, right| left.or(right))
        .or_else(|| (offsets[rows] != indices.len()).then_some(SparseError::Offsets { row: rows }))
}

impl Pattern {
    /// A pattern from compressed rows. Row i has the columns `indices[offsets[i]..offsets[i + 1]]`, strictly
    /// increasing.
    ///
    /// # Errors
    /// [`SparseError`] for the first row with wrong offsets, order or columns.
    pub fn new(columns: usize, offsets: Vec<usize>, indices: Vec<u32>) -> Result<Self, SparseError> {
        match fault(columns, &offsets, &indices) {
            Some(error) => Err(error),
            None => Ok(Self { columns, offsets, indices }),
        }
    }

    /// As [`new`](Self::new), without a check.
    ///
    /// # Safety
    /// The conditions of [`new`](Self::new) hold.
    pub(crate) unsafe fn new_unchecked(columns: usize, offsets: Vec<usize>, indices: Vec<u32>) -> Self {
        debug_assert_eq!(fault(columns, &offsets, &indices), None, "rows of a pattern");
        Self { columns, offsets, indices }
    }

    /// The pattern whose row i has the columns `row(i)`, strictly increasing. `row` is called twice for each i, in
    /// parallel if `work`, the total number of scalar operations of one pass, is large enough.
    ///
    /// *Memory* only that of the pattern. *Panics* if the second call gives fewer columns than the first one.
    ///
    /// ```
    /// use coarsen_sparse::Pattern;
    /// let lower = Pattern::from_rows(3, 3, 6, |i| 0..i as u32)?;
    /// assert_eq!((lower.row(0), lower.row(2)), (&[][..], &[0, 1][..]));
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_rows<I: Iterator<Item = u32>>(
        rows: usize,
        columns: usize,
        work: usize,
        row: impl Fn(usize) -> I + Sync,
    ) -> Result<Self, SparseError> {
        let mut offsets = vec![0; rows + 1];
        let count = |(rows, counts): (Range<usize>, &mut [usize])| {
            rows.zip(counts).for_each(|(i, count)| *count = row(i).count());
        };
        each((0..rows, &mut offsets[1..]), rows::LEAF, parallel::worth(work), &count);
        (0..rows).for_each(|i| offsets[i + 1] += offsets[i]);
        let mut indices = vec![0; offsets[rows]];
        BlockRows::new(&offsets, 1, &mut indices).for_each(work, |i, to| {
            let mut columns = row(i);
            to.fill_with(|| columns.next().expect("row(i) gives the same columns again"));
        });
        Self::new(columns, offsets, indices)
    }

    /// The pattern of an n x n block diagonal matrix.
    ///
    /// # Errors
    /// [`SparseError::TooLarge`] if n does not fit `u32`.
    pub fn diagonal(n: usize) -> Result<Self, SparseError> {
        let limit = u32::MAX as usize;
        if n > limit {
            return Err(SparseError::TooLarge { what: "block rows", count: n, limit });
        }
        Self::new(n, (0..=n).collect(), (0..n as u32).collect())
    }

    /// The number of block rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of block columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of stored blocks.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether no block is stored.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The row offsets: `rows() + 1` numbers, from 0 to `len()`.
    #[inline]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The block columns of all rows, concatenated.
    #[inline]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The indices of the blocks of row i.
    #[inline]
    pub fn range(&self, i: usize) -> Range<usize> {
        self.offsets[i]..self.offsets[i + 1]
    }

    /// The block columns of row i.
    #[inline]
    pub fn row(&self, i: usize) -> &[u32] {
        &self.indices[self.range(i)]
    }

    /// The index of block (i, j); long rows use binary search.
    #[inline]
    pub fn find(&self, i: usize, j: usize) -> Option<usize> {
        let row = self.range(i);
        let (columns, j) = (&self.indices[row.clone()], u32::try_from(j).ok()?);
        let at = match columns.len() {
            0..=SHORT => columns.iter().position(|&c| c >= j)?,
            _ => columns.partition_point(|&c| c < j),
        };
        (columns.get(at) == Some(&j)).then_some(row.start + at)
    }

    /// Whether two patterns are equal: the same object, or equal contents.
    ///
    /// *Cost* nothing if both are the same object, otherwise a comparison of entries up to the first that differs.
    pub fn same(a: &Arc<Self>, b: &Arc<Self>) -> bool {
        Arc::ptr_eq(a, b) || **a == **b
    }

    /// Whether (j, i) is stored for every stored (i, j). *Cost* one access to another row per entry.
    pub fn is_symmetric(&self) -> bool {
        if self.rows() != self.columns {
            return false;
        }
        // Rows are sorted, so the entries of row j are needed in increasing order as i increases.
        let mut next: Vec<usize> = self.offsets[..self.rows()].to_vec();
        (0..self.rows()).all(|i| {
            self.row(i).iter().all(|&j| {
                let (at, end) = (next[j as usize], self.offsets[j as usize + 1]);
                next[j as usize] += 1;
                at < end && self.indices[at] as usize == i
            })
        })
    }

    /// Returns the offsets and indices.
    pub fn into_parts(self) -> (Vec<usize>, Vec<u32>) {
        (self.offsets, self.indices)
    }
}
