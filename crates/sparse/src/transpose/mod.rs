//! Transposes stored as matrices.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Shared};

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
/// *Memory* 8 bytes per block and 8 per block column. *Cost* of [`new`](Self::new): two passes over the
/// pattern, parallel, with 4 bytes per block column and thread. *Cost* of [`update`](Self::update): one read and one
/// write of the values, parallel, no allocation.
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
    source: Vec<u32>,
}

impl TransposePlan {
    /// The plan for matrices with the pattern `of`.
    ///
    /// # Errors
    /// [`SparseError::TooLarge`] if A has more blocks than `u32` can count.
    pub fn new(of: &Arc<Pattern>) -> Result<Self, SparseError> {
        let (what, count, limit) = ("blocks of a transpose", of.len(), u32::MAX as usize);
        if count > limit {
            return Err(SparseError::TooLarge { what, count, limit });
        }
        let (columns, parts) = (of.columns(), parts(of));
        // For each part and each column, the number of blocks, then the place of the next one.
        let mut next = vec![0; parts.len() * columns];
        each_part(&parts, columns, &mut next, &|rows, counts| {
            for i in rows {
                of.row(i).iter().for_each(|&j| counts[j as usize] += 1);
            }
        });
        let (mut offsets, mut end) = (vec![0; columns + 1], 0);
        for column in 0..columns {
            for next in next[column..].iter_mut().step_by(columns) {
                (*next, end) = (end, end + *next);
            }
            offsets[column + 1] = end as usize;
        }
        let (mut indices, mut source) = (vec![0; of.len()], vec![0; of.len()]);
        let (indices_at, source_at) = (Shared::new(&mut indices[..]), Shared::new(&mut source[..]));
        each_part(&parts, columns, &mut next, &|rows, next| {
            for i in rows {
                for k in of.range(i) {
                    let next = &mut next[of.indices()[k] as usize];
                    // SAFETY: a part and a column have as many places as they have blocks, counted above, and these are no
                    // places of another part or column. All places are below the number of blocks.
                    unsafe {
                        *indices_at.get().add(*next as usize) = i as u32;
                        *source_at.get().add(*next as usize) = k as u32;
                    }
                    *next += 1;
                }
            }
        });
        // SAFETY: `offsets` are sums of the numbers of blocks in the columns of A. The blocks of a column are in the order of
        // the rows of A, which are fewer than 2³² as in every pattern.
        let pattern = unsafe { Pattern::new_unchecked(of.rows(), offsets, indices) };
        Ok(Self { of: of.clone(), pattern: Arc::new(pattern), source })
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
    pub fn source(&self) -> &[u32] {
        &self.source
    }

    /// The number of bytes of the plan, with the pattern of Aᵀ and without that of A.
    pub fn bytes(&self) -> usize {
        let lists = [self.pattern.indices(), &self.source];
        lists.map(size_of_val).iter().sum::<usize>() + size_of_val(self.pattern.offsets())
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
            parallel::map(&self.source, at.values_mut(), |&k| a.values()[k as usize].to());
            return Ok(());
        }
        BlockRows::new(self.pattern.offsets(), size, at.values_mut()).for_each(a.nnz(), |j, row| {
            for (&k, target) in self.source[self.pattern.range(j)].iter().zip(row.chunks_exact_mut(size)) {
                let block = a.value(k as usize);
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

/// Divides the rows among the threads, with about equal numbers of blocks. The division does not change the result.
fn parts(of: &Pattern) -> Vec<Range<usize>> {
    // A part has a number for each column, so there are no more parts than blocks in the mean column.
    let most = (of.len() / of.columns().max(1)).clamp(1, 8);
    let tasks = if parallel::worth(4 * of.len()) { rayon::current_num_threads().min(most) } else { 1 };
    let start = |part: usize| match part == tasks {
        true => of.rows(),
        false => of.offsets().partition_point(|&o| o < of.len() * part / tasks),
    };
    (0..tasks).map(|part| start(part)..start(part + 1)).collect()
}

/// Calls `body` for every part of the rows with its numbers of all columns, in parallel.
fn each_part(
    parts: &[Range<usize>],
    columns: usize,
    numbers: &mut [u32],
    body: &(impl Fn(Range<usize>, &mut [u32]) + Sync),
) {
    if let [rows] = parts {
        return body(rows.clone(), numbers);
    }
    let (left, right) = parts.split_at(parts.len() / 2);
    let (head, tail) = numbers.split_at_mut(left.len() * columns);
    parallel::join(|| each_part(left, columns, head, body), || each_part(right, columns, tail, body));
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
