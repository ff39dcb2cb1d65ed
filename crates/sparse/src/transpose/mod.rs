//! Transposes stored as matrices.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::{Real, parallel};

use crate::rows::BlockRows;
use crate::{Bsr, Pattern, SparseError, fits};

/// The symbolic phase of a transpose for one pattern of A. For each block of Aᵀ it stores the index of its
/// block in A.
///
/// Block k of Aᵀ is the transpose of block `source()[k]` of A. The rows of Aᵀ are sorted because the rows of
/// A are visited in order.
///
/// *Use* if the values of A change but its pattern does not, or to traverse A by columns
/// ([`GalerkinPlan`](crate::GalerkinPlan)). For a single transpose use [`Bsr::transpose`].
/// *Memory* 12 bytes per block and 8 per block column. *Cost* of [`new`](Self::new): two passes over the
/// pattern; every thread makes the second pass. *Cost* of [`update`](Self::update): one read and one write of
/// the values, parallel, no allocation.
///
/// ```
/// use coarsen_sparse::{TransposePlan, assembly};
/// let a = assembly::from_triplets(1, 2, &[(0, 1, 5.0)])?;
/// let plan = TransposePlan::new(a.pattern())?;
/// assert_eq!(plan.build(&a)?.get(1, 0), 5.0);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TransposePlan {
    of: Arc<Pattern>,
    pattern: Arc<Pattern>,
    source: Vec<usize>,
}

impl TransposePlan {
    /// The plan for matrices with the pattern `of`.
    ///
    /// # Errors
    /// [`SparseError::TooLarge`] if A has more block rows than a column index can represent.
    pub fn new(of: &Arc<Pattern>) -> Result<Self, SparseError> {
        let columns = of.columns();
        let mut offsets = vec![0; columns + 1];
        of.indices().iter().for_each(|&j| offsets[j as usize + 1] += 1);
        (0..columns).for_each(|j| offsets[j + 1] += offsets[j]);
        let (mut indices, mut source) = (vec![0; of.len()], vec![0; of.len()]);
        let tasks = if parallel::worth(4 * of.len()) { rayon::current_num_threads().min(8) } else { 1 };
        Columns {
            offsets: &offsets,
            columns: 0..columns,
            next: &mut offsets[..columns].to_vec(),
            indices: &mut indices,
            source: &mut source,
        }
        .fill(of, tasks);
        Ok(Self { of: of.clone(), pattern: Arc::new(Pattern::new(of.rows(), offsets, indices)?), source })
    }

    /// The pattern of A.
    pub fn of(&self) -> &Arc<Pattern> {
        &self.of
    }

    /// The pattern of Aᵀ.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// For each block of Aᵀ, the index of its block in A.
    pub fn source(&self) -> &[usize] {
        &self.source
    }

    /// The number of bytes of the plan, with the pattern of Aᵀ and without that of A.
    pub fn bytes(&self) -> usize {
        let lists = [self.pattern.offsets(), &self.source];
        lists.map(size_of_val).iter().sum::<usize>() + size_of_val(self.pattern.indices())
    }

    /// Aᵀ as a new matrix.
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if A does not have the pattern of the plan.
    pub fn build<T: Real>(&self, a: &Bsr<T>) -> Result<Bsr<T>, SparseError> {
        self.build_as(a)
    }

    /// Aᵀ as a new matrix in another precision; each value is rounded once.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_as<T: Real, U: Real>(&self, a: &Bsr<T>) -> Result<Bsr<U>, SparseError> {
        let (r, c) = a.block();
        let mut at = Bsr::zeros(self.pattern.clone(), (c, r))?;
        self.write(a, &mut at)?;
        Ok(at)
    }

    /// Writes the values of Aᵀ into `at`, which was created by [`build`](Self::build).
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if A or `at` does not have the pattern of the plan, [`SparseError::Shape`] if
    /// their block sizes are not transposes of each other. On error, nothing is written.
    pub fn update<T: Real>(&self, a: &Bsr<T>, at: &mut Bsr<T>) -> Result<(), SparseError> {
        self.write(a, at)
    }

    /// [`update`](Self::update); each value is rounded once.
    fn write<T: Real, U: Real>(&self, a: &Bsr<T>, at: &mut Bsr<U>) -> Result<(), SparseError> {
        let (r, c) = a.block();
        fits::patterns([
            ("the matrix given to a TransposePlan", &self.of, a.pattern()),
            ("the target of a TransposePlan", &self.pattern, at.pattern()),
        ])?;
        fits::sizes([
            ("transpose, rows of a target block", c, at.block().0),
            ("transpose, columns of a target block", r, at.block().1),
        ])?;
        let size = r * c;
        if size == 1 {
            parallel::map(&self.source, at.values_mut(), |&k| a.values()[k].to());
            return Ok(());
        }
        BlockRows::new(self.pattern.offsets(), size, at.values_mut()).for_each(a.nnz(), |j, row| {
            for (&k, target) in self.source[self.pattern.range(j)].iter().zip(row.chunks_exact_mut(size)) {
                let block = a.value(k);
                for (x, column) in target.chunks_exact_mut(r).enumerate() {
                    for (y, v) in column.iter_mut().enumerate() {
                        *v = block[y * c + x].to();
                    }
                }
            }
        });
        Ok(())
    }
}

/// A range of columns of A and the corresponding rows of Aᵀ, filled by one task. Every task reads the whole
/// pattern but writes only its own columns.
struct Columns<'a> {
    offsets: &'a [usize],
    columns: Range<usize>,
    /// The next place of each column, among all blocks.
    next: &'a mut [usize],
    indices: &'a mut [u32],
    source: &'a mut [usize],
}

impl Columns<'_> {
    fn fill(self, of: &Pattern, tasks: usize) {
        let Self { offsets, columns, next, indices, source } = self;
        let start = offsets[columns.start];
        if tasks > 1 {
            let half = start + indices.len() / 2;
            let at = offsets[columns.clone()].partition_point(|&o| o < half) + columns.start;
            let (i0, i1) = indices.split_at_mut(offsets[at] - start);
            let (s0, s1) = source.split_at_mut(offsets[at] - start);
            let (n0, n1) = next.split_at_mut(at - columns.start);
            let left = Columns { offsets, columns: columns.start..at, next: n0, indices: i0, source: s0 };
            let right = Columns { offsets, columns: at..columns.end, next: n1, indices: i1, source: s1 };
            parallel::join(|| left.fill(of, tasks / 2), || right.fill(of, tasks - tasks / 2));
            return;
        }
        for i in 0..of.rows() {
            for k in of.range(i) {
                let j = of.indices()[k] as usize;
                if columns.contains(&j) {
                    let at = &mut next[j - columns.start];
                    (indices[*at - start], source[*at - start]) = (i as u32, k);
                    *at += 1;
                }
            }
        }
    }
}

impl<T: Real> Bsr<T> {
    /// Aᵀ as a new matrix, with transposed blocks.
    ///
    /// *Cost* as [`TransposePlan`], which can be reused while only values change.
    ///
    /// ```
    /// let a = coarsen_sparse::assembly::from_triplets(1, 2, &[(0, 1, 5.0)])?;
    /// assert_eq!(a.transpose()?.shape(), (2, 1));
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    ///
    /// # Errors
    /// As [`TransposePlan::new`].
    pub fn transpose(&self) -> Result<Self, SparseError> {
        TransposePlan::new(self.pattern())?.build(self)
    }
}
