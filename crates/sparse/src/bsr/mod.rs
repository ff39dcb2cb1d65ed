//! Block sparse row matrices.

mod arithmetic;
mod columns;
mod lanes;
mod many;
mod multiply;
mod row;
mod symmetry;
mod values;

pub use lanes::COLUMNS;
pub use row::row_product;
use row::uneven_row;

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Real, largest};

use crate::{Pattern, SparseError};
use values::Values;

/// A sparse matrix of dense r x c blocks: a shared [`Pattern`] and values, row-major inside each block.
///
/// Block k of the pattern has the values `values[k·r·c .. (k + 1)·r·c]`. With 1x1 blocks the matrix is a CSR
/// matrix. Prolongations of smoothed aggregation have rectangular blocks (3x6). The matrix is a
/// [`LinearOperator`](coarsen_core::LinearOperator) on `Vec<V>` for every pair of `T` and `V`. Products are
/// accumulated in `V`.
///
/// *Memory* (r c s + 4) bytes per block and 8 per block row, where s is the size of T in bytes. This gives
/// 8.4 bytes per scalar entry for 3x3 `f64` blocks, 12 for CSR.
///
/// ```
/// use coarsen_core::LinearOperator;
/// use coarsen_sparse::assembly;
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 1, 3.0)])?;
/// let mut y = vec![0.0; 2];
/// a.apply(&vec![1.0, 1.0], &mut y);
/// assert_eq!(y, [3.0, 3.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bsr<T> {
    pattern: Arc<Pattern>,
    block: (usize, usize),
    values: Values<T>,
}

impl<T: Real> Bsr<T> {
    /// A matrix from its pattern, block size and values.
    ///
    /// # Errors
    /// [`SparseError::Length`] unless there are `pattern.len() · r · c` values, [`SparseError::BlockSize`]
    /// for an empty block, [`SparseError::TooLarge`] if scalar indices do not fit `u32`.
    pub fn new(pattern: Arc<Pattern>, block: (usize, usize), values: Vec<T>) -> Result<Self, SparseError> {
        let expected = Self::length(&pattern, block)?;
        if values.len() != expected {
            return Err(SparseError::Length { what: "block values", expected, found: values.len() });
        }
        Ok(Self { pattern, block, values: Values::Own(values) })
    }

    /// The zero matrix with a given pattern.
    ///
    /// # Errors
    /// As [`new`](Self::new), checked before any allocation.
    pub fn zeros(pattern: Arc<Pattern>, block: (usize, usize)) -> Result<Self, SparseError> {
        let values = vec![T::zero(); Self::length(&pattern, block)?];
        Ok(Self { pattern, block, values: Values::Own(values) })
    }

    /// The number of values of a matrix. It fits `usize`: scalar row and column indices fit `u32`, so there
    /// are fewer than 2⁶⁴ scalar entries.
    fn length(pattern: &Pattern, (r, c): (usize, usize)) -> Result<usize, SparseError> {
        let (rows, columns) = (pattern.rows(), pattern.columns());
        if r == 0 || c == 0 {
            return Err(SparseError::BlockSize { rows, columns, block_rows: r, block_columns: c });
        }
        let limit = u32::MAX as usize;
        // Without this check, a matrix without rows or columns would accept any block size, and r · c could
        // overflow.
        for (what, count) in
            [("rows", rows.max(1).saturating_mul(r)), ("columns", columns.max(1).saturating_mul(c))]
        {
            if count > limit {
                return Err(SparseError::TooLarge { what, count, limit });
            }
        }
        Ok(pattern.len() * r * c)
    }

    /// The identity matrix with n block rows of b x b blocks.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn identity(n: usize, b: usize) -> Result<Self, SparseError> {
        let mut a = Self::zeros(Arc::new(Pattern::diagonal(n)?), (b, b))?;
        for block in a.values.chunks_exact_mut(b * b) {
            block.iter_mut().step_by(b + 1).for_each(|v| *v = T::one());
        }
        Ok(a)
    }

    /// The numbers of scalar rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.pattern.rows() * self.block.0, self.pattern.columns() * self.block.1)
    }

    /// The numbers of rows and columns of a block.
    #[inline]
    pub fn block(&self) -> (usize, usize) {
        self.block
    }

    /// The sparsity pattern.
    #[inline]
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// All values, concatenated block by block.
    #[inline]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Mutable access to all values; the pattern does not change. Values that another matrix [shares](Self::shared) are
    /// copied first.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The number of stored scalars, including zeros inside blocks.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// The number of bytes of values, columns and offsets. Values do not count while they [are shared](Self::is_shared), also
    /// not for the clone: who adds matrices counts them once.
    pub fn bytes(&self) -> usize {
        let values = if self.is_shared() { 0 } else { size_of_val(&self.values[..]) };
        values + size_of_val(self.pattern.indices()) + size_of_val(self.pattern.offsets())
    }

    /// The values of block k.
    #[inline]
    pub fn value(&self, k: usize) -> &[T] {
        let size = self.block.0 * self.block.1;
        &self.values[k * size..(k + 1) * size]
    }

    /// The block columns and values of block row i, by increasing column.
    #[inline(always)] // so that it is compiled for the instruction set of the calling kernel
    pub fn row(&self, i: usize) -> impl ExactSizeIterator<Item = (usize, &[T])> {
        let size = self.block.0 * self.block.1;
        let range = self.pattern.range(i);
        let values = self.values[range.start * size..range.end * size].chunks_exact(size);
        self.pattern.row(i).iter().map(|&j| j as usize).zip(values)
    }

    /// The scalar at (i, j), 0 if it is not stored. This call searches the row; use it only in tests and
    /// messages.
    pub fn get(&self, i: usize, j: usize) -> T {
        let (r, c) = self.block;
        match self.pattern.find(i / r, j / c) {
            Some(k) => self.value(k)[i % r * c + j % c],
            None => T::zero(),
        }
    }

    /// The scalar diagonal; 0 for entries that are not stored.
    pub fn diagonal(&self) -> Vec<T> {
        let mut diagonal = vec![T::zero(); self.shape().0.min(self.shape().1)];
        self.copy_diagonal(&mut diagonal);
        diagonal
    }

    /// Copies the scalar diagonal into `to`. *Panics* if `to` has another length than the diagonal.
    pub fn copy_diagonal(&self, to: &mut [T]) {
        let (r, c) = self.block;
        assert_eq!(to.len(), self.shape().0.min(self.shape().1), "copy_diagonal: wrong length");
        if r != c {
            return to.iter_mut().enumerate().for_each(|(i, to)| *to = self.get(i, i));
        }
        let pieces = (0..to.len() / r, Groups(to, r));
        each(pieces, 1024, parallel::worth(self.nnz()), &|(nodes, to): (Range<usize>, Groups<&mut [T]>)| {
            for (i, to) in nodes.zip(to.0.chunks_exact_mut(r)) {
                match self.pattern.find(i, i).map(|at| self.value(at)) {
                    Some(block) => {
                        to.iter_mut().zip(block.iter().step_by(r + 1)).for_each(|(to, &d)| *to = d)
                    }
                    None => to.fill(T::zero()),
                }
            }
        });
    }

    /// Computes A ← A + diag(d) ⊗ I: adds dᵢ to each diagonal entry of the block of node i.
    ///
    /// ```
    /// let mut a = coarsen_sparse::Bsr::identity(2, 3)?; // K, in blocks of 3x3
    /// let (h, masses) = (0.1, [5.0, 7.0]);
    /// a.values_mut().iter_mut().for_each(|k| *k *= h * h);
    /// a.add_diagonal(&masses)?; // M + h² K
    /// assert_eq!(a.get(5, 5), 7.01);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    ///
    /// # Errors
    /// [`SparseError::Length`] unless there is one value per block row; [`SparseError::BlockSize`] for blocks that are not
    /// square; [`SparseError::NoDiagonal`] with the first node whose diagonal block is not stored, although its value is
    /// not 0. A is then unchanged.
    pub fn add_diagonal(&mut self, d: &[T]) -> Result<(), SparseError> {
        let ((rows, columns), (b, width)) = (self.shape(), self.block);
        if b != width {
            return Err(SparseError::BlockSize { rows, columns, block_rows: b, block_columns: width });
        }
        let (expected, found) = (self.pattern.rows(), d.len());
        if expected != found {
            return Err(SparseError::Length { what: "the values added to the diagonal", expected, found });
        }
        let missing = |&node: &usize| !d[node].is_zero() && self.pattern.find(node, node).is_none();
        if let Some(node) = (0..expected).find(missing) {
            return Err(SparseError::NoDiagonal { node });
        }
        let values = &mut self.values[..];
        for (node, &d) in d.iter().enumerate() {
            let block = self.pattern.find(node, node).into_iter().flat_map(|at| at * b * b..(at + 1) * b * b);
            block.step_by(b + 1).for_each(|at| values[at] += d);
        }
        Ok(())
    }

    /// The same matrix, whose clones share its values until one of them is changed.
    ///
    /// *Use* for a matrix of which a preconditioner in the same precision keeps a copy. A change copies all values while a
    /// clone exists, so take two matrices in turn for values that change in every step.
    ///
    /// ```
    /// let mut a = coarsen_sparse::Bsr::<f32>::identity(2, 1)?.shared();
    /// let copy = a.clone();
    /// assert_eq!(a.values().as_ptr(), copy.values().as_ptr());
    /// a.values_mut()[0] = 2.0;
    /// assert_eq!((a.values(), copy.values()), (&[2.0, 1.0][..], &[1.0, 1.0][..]));
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn shared(self) -> Self {
        Self { values: self.values.shared(), ..self }
    }

    /// Whether a clone [shares](Self::shared) the values now.
    pub fn is_shared(&self) -> bool {
        matches!(&self.values, Values::Shared(values) if Arc::strong_count(values) > 1)
    }

    /// A clone in the memory of this matrix, if it is [shared](Self::shared) and its values are of type U.
    pub fn shared_as<U: Real>(&self) -> Option<Bsr<U>> {
        matches!(self.values, Values::Shared(_)).then_some(())?;
        (self as &dyn Any).downcast_ref::<Bsr<U>>().cloned()
    }

    /// The matrix in another precision; each value is rounded once. In the same precision, [shared](Self::shared) values are
    /// not copied.
    pub fn to<U: Real>(&self) -> Bsr<U> {
        if let Some(same) = self.shared_as() {
            return same;
        }
        let mut values = vec![U::zero(); self.values.len()];
        parallel::map(&self.values, &mut values, |v| v.to());
        Bsr { pattern: self.pattern.clone(), block: self.block, values: Values::Own(values) }
    }

    /// Returns the pattern, the block size and the values.
    pub fn into_parts(self) -> (Arc<Pattern>, (usize, usize), Vec<T>) {
        (self.pattern, self.block, self.values.into_vec())
    }

    /// Checks that all values are finite.
    ///
    /// # Errors
    /// [`SparseError::NotFinite`] gives the row and column of the first value that is not finite.
    pub fn check_finite(&self) -> Result<(), SparseError> {
        if !largest(&self.values).is_nan() {
            return Ok(());
        }
        let at = self.values.iter().position(|v| !v.is_finite()).unwrap_or_default();
        let (r, c) = self.block;
        let (k, within) = (at / (r * c), at % (r * c));
        let i = self.pattern.offsets().partition_point(|&o| o <= k) - 1;
        let j = self.pattern.indices()[k] as usize;
        Err(SparseError::NotFinite { row: i * r + within / c, column: j * c + within % c })
    }
}
