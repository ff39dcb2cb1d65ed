//! y = Aᵀ x without storing Aᵀ.
//!
//! Scattering row by row into y would require atomic additions, whose order and result depend on the threads,
//! or one copy of y per task and an extra reduction. Gathering by columns through a [`TransposePlan`]
//! requires neither: each entry of y is one sum in the order of the rows of A. As a disadvantage, the blocks
//! of A are read out of order, and each cache line is read for several columns. On a 27-point grid y = Aᵀ x
//! took 4 times as long as y = A x with 3x3 blocks, and 10 times as long with scalars. If Aᵀ is applied
//! often, as for a restriction, store it with [`Bsr::transpose`], or with a [`TransposePlan`] if the values
//! change.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{LinearOperator, Real};

use crate::{Bsr, Pattern, SparseError, TransposePlan};

/// The number of scalar entries of y per leaf, as in the product with A.
const ROWS: usize = 1024;

/// Aᵀ as an operator on `Vec<V>` that reads the values of A.
///
/// *Use* for occasional products (least squares, tests of symmetry). For many products, [`Bsr::transpose`] is
/// several times faster. Products are accumulated in `V`; the bits do not depend on the number of threads.
/// *Memory* only the shared plan. *Traffic* several times that of y = A x, plus 12 bytes per block.
///
/// ```
/// use coarsen_core::LinearOperator;
/// let a = coarsen_sparse::assembly::from_triplets(1, 2, &[(0, 1, 5.0)])?;
/// let mut y = vec![0.0; 2];
/// a.adjoint()?.apply(&vec![2.0], &mut y);
/// assert_eq!(y, [0.0, 10.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Adjoint<'a, T> {
    a: &'a Bsr<T>,
    plan: Arc<TransposePlan>,
}

impl<T: Real> Bsr<T> {
    /// Aᵀ as an operator. Each call plans the transpose. For several products, keep the result, or keep the
    /// plan and use [`Adjoint::new`].
    ///
    /// # Errors
    /// As [`TransposePlan::new`].
    pub fn adjoint(&self) -> Result<Adjoint<'_, T>, SparseError> {
        Ok(Adjoint { a: self, plan: Arc::new(TransposePlan::new(self.pattern())?) })
    }
}

impl<'a, T: Real> Adjoint<'a, T> {
    /// Aᵀ from an existing plan, for matrices whose values change.
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if A does not have the pattern of the plan.
    pub fn new(a: &'a Bsr<T>, plan: Arc<TransposePlan>) -> Result<Self, SparseError> {
        if !Pattern::same(plan.of(), a.pattern()) {
            return Err(SparseError::Pattern { what: "the matrix given to an Adjoint" });
        }
        Ok(Self { a, plan })
    }

    /// (Aᵀ x) for the block columns `columns` of A, with block sizes known at compile time; `y` contains only
    /// these entries.
    #[inline(always)]
    fn leaf<V: Real, const R: usize, const C: usize>(&self, columns: Range<usize>, x: &[V], y: &mut [V]) {
        let (pattern, source) = (self.plan.pattern(), self.plan.source());
        for (j, y) in columns.zip(y.chunks_exact_mut(C)) {
            let mut sums = [V::zero(); C];
            for (&i, &k) in pattern.row(j).iter().zip(&source[pattern.range(j)]) {
                let (block, i) = (&self.a.value(k)[..R * C], i as usize);
                for (&x, row) in x[i * R..(i + 1) * R].iter().zip(block.chunks_exact(C)) {
                    sums.iter_mut().zip(row).for_each(|(y, a)| *y += a.to::<V>() * x);
                }
            }
            y.copy_from_slice(&sums);
        }
    }

    /// `leaf` for any block size.
    fn leaf_any<V: Real>(&self, columns: Range<usize>, x: &[V], y: &mut [V]) {
        let (r, c) = self.a.block();
        let (pattern, source) = (self.plan.pattern(), self.plan.source());
        for (j, y) in columns.zip(y.chunks_exact_mut(c)) {
            y.fill(V::zero());
            for (&i, &k) in pattern.row(j).iter().zip(&source[pattern.range(j)]) {
                let i = i as usize;
                for (&x, row) in x[i * r..(i + 1) * r].iter().zip(self.a.value(k).chunks_exact(c)) {
                    y.iter_mut().zip(row).for_each(|(y, a)| *y += a.to::<V>() * x);
                }
            }
        }
    }
}

impl<T: Real, V: Real> LinearOperator<Vec<V>> for Adjoint<'_, T> {
    fn shape(&self) -> (usize, usize) {
        let (m, n) = self.a.shape();
        (n, m)
    }

    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        let (m, n) = self.a.shape();
        assert!(
            x.len() == m && y.len() == n,
            "apply: the adjoint of a {m} x {n} matrix, but x has {} entries and y has {}",
            x.len(),
            y.len()
        );
        let c = self.a.block().1;
        let columns = (0..self.plan.pattern().rows(), Groups(&mut y[..], c));
        let body = |(columns, y): (Range<usize>, Groups<&mut [V]>)| match self.a.block() {
            (1, 1) => self.leaf::<V, 1, 1>(columns, x, y.0),
            (3, 3) => self.leaf::<V, 3, 3>(columns, x, y.0),
            (6, 6) => self.leaf::<V, 6, 6>(columns, x, y.0),
            (3, 6) => self.leaf::<V, 3, 6>(columns, x, y.0),
            (6, 3) => self.leaf::<V, 6, 3>(columns, x, y.0),
            _ => self.leaf_any(columns, x, y.0),
        };
        each(columns, (ROWS / c).max(1), parallel::worth_product(self.a.nnz()), &body);
    }
}
