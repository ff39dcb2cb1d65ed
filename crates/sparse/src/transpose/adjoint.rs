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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    const BLOCKS: [(usize, usize); 7] = [(1, 1), (3, 3), (6, 6), (3, 6), (6, 3), (2, 2), (4, 5)];

    #[test]
    fn x_dot_ay_equals_atx_dot_y() {
        for (seed, block) in (1..).zip(BLOCKS) {
            let a = random::matrix(40, 50, block, 4, seed);
            let (m, n) = a.shape();
            let (x, y) = (random::vector(m, seed + 10), random::vector(n, seed + 20));
            let (mut ay, mut atx) = (vec![0.0; m], vec![0.0; n]);
            a.apply(&y, &mut ay);
            a.adjoint().unwrap().apply(&x, &mut atx);
            let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            assert!((dot(&x, &ay) - dot(&atx, &y)).abs() < 1e-12 * n as f64, "{block:?}");
        }
    }

    #[test]
    fn it_is_the_product_with_the_transpose() {
        for (seed, block) in (1..).zip(BLOCKS) {
            let a = random::matrix(30, 20, block, 4, seed);
            let (m, n) = a.shape();
            let x = random::vector(m, seed);
            let (mut y, mut z) = (vec![f64::NAN; n], vec![0.0; n]);
            a.adjoint().unwrap().apply(&x, &mut y);
            a.transpose().unwrap().apply(&x, &mut z);
            assert!(y.iter().zip(&z).all(|(y, z)| (y - z).abs() < 1e-13), "{block:?}");
        }
    }

    #[test]
    fn threads_do_not_change_bits() {
        let a = random::matrix(9000, 8000, (3, 3), 6, 3);
        let plan = Arc::new(TransposePlan::new(a.pattern()).unwrap());
        let x = random::vector(27_000, 1);
        let run = || {
            let mut y = vec![0.0; 24_000];
            Adjoint::new(&a, plan.clone()).unwrap().apply(&x, &mut y);
            y
        };
        let one = parallel::threads(1, run).unwrap();
        for n in [2, 7] {
            assert_eq!(one, parallel::threads(n, run).unwrap());
        }
    }

    #[test]
    fn another_pattern_is_refused() {
        let (a, b) = (random::matrix(5, 5, (2, 2), 2, 1), random::matrix(5, 5, (2, 2), 2, 2));
        let plan = Arc::new(TransposePlan::new(a.pattern()).unwrap());
        assert!(matches!(Adjoint::new(&b, plan), Err(SparseError::Pattern { .. })));
    }
}
