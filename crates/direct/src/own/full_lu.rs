//! A = L U of a full matrix with row exchanges, column by column.
//!
//! As for sparse matrices, Aᵀ is factored: P Aᵀ = L U. Column k of Aᵀ is solved with the previous columns of L; its
//! largest entry among the remaining rows becomes the pivot.
//!
//! *Reference* Golub and Van Loan 2013, "Matrix Computations", section 3.4.

use coarsen_core::simd::{self, Kernel, Set};
use coarsen_sparse::Bsr;

use super::memory::{fill, zeros};
use super::rows::row;
use crate::DirectError;
use crate::factorization::{FactorStats, Factorization, Pivots};

/// Aᵀ by columns, which U and L without its unit diagonal overwrite.
pub(super) struct FullLu {
    n: usize,
    lu: Vec<f64>,
    /// The row that was exchanged with row k in step k.
    exchanged: Vec<usize>,
    y: Vec<f64>,
}

impl FullLu {
    /// Allocates the vectors; the n² values are allocated by the first factorisation.
    pub(super) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let n = a.shape().0;
        Ok(Self { n, lu: Vec::new(), exchanged: zeros(n)?, y: zeros(n)? })
    }

    /// The row of A with the largest coefficient in the linear combination that vanishes, after a step k without
    /// a pivot: column k of Aᵀ is the previous columns times U⁻¹ u_k.
    fn dependent_row(&mut self, k: usize) -> usize {
        let (n, y) = (self.n, &mut self.y);
        y[..k].copy_from_slice(&self.lu[k * n..k * n + k]);
        for (j, column) in self.lu.chunks_exact(n).enumerate().take(k).rev() {
            y[j] /= column[j];
            let y_j = y[j];
            y[..j].iter_mut().zip(column).for_each(|(y, u)| *y -= u * y_j);
        }
        y[k] = 1.0;
        (0..k).fold(k, |most, j| if y[j].abs() > y[most].abs() { j } else { most })
    }
}

/// The elimination; ends at the first column without a pivot, which it returns.
struct Eliminate<'a>(&'a mut FullLu);

impl Kernel<f64> for Eliminate<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<S: Set<f64>>(self, _: S) -> Option<usize> {
        let FullLu { n, lu, exchanged, .. } = self.0;
        let n = *n;
        for k in 0..n {
            let (left, right) = lu.split_at_mut(k * n);
            let column = &mut right[..n];
            exchanged[..k].iter().enumerate().for_each(|(j, &i)| column.swap(j, i));
            for (j, l) in left.chunks_exact(n).enumerate() {
                let x = column[j];
                if x != 0.0 {
                    column[j + 1..].iter_mut().zip(&l[j + 1..]).for_each(|(c, l)| *c -= l * x);
                }
            }
            let larger = |most: usize, i: usize| if column[i].abs() > column[most].abs() { i } else { most };
            let pivot = (k..n).fold(k, larger);
            exchanged[k] = pivot;
            if column[pivot] == 0.0 {
                return Some(k);
            }
            column.swap(k, pivot);
            left.chunks_exact_mut(n).for_each(|l| l.swap(k, pivot));
            let scale = 1.0 / column[k];
            column[k + 1..].iter_mut().for_each(|c| *c *= scale);
        }
        None
    }
}

impl Factorization for FullLu {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        let n = self.n;
        fill(&mut self.lu, n * n)?;
        for i in 0..n {
            row(a, i).for_each(|(j, at)| self.lu[i * n + j] = a.values()[at]);
        }
        match simd::run(Eliminate(self)) {
            None => Ok(Pivots { inertia: None, weakest: None }),
            Some(k) => Err(DirectError::Singular { row: self.dependent_row(k), residual: f64::INFINITY }),
        }
    }

    /// x = Pᵀ L⁻ᵀ U⁻ᵀ x.
    fn solve(&mut self, x: &mut [f64]) {
        for (k, column) in self.lu.chunks_exact(self.n.max(1)).enumerate() {
            x[k] = (x[k] - dot(&column[..k], &x[..k])) / column[k];
        }
        for (k, column) in self.lu.chunks_exact(self.n.max(1)).enumerate().rev() {
            x[k] -= dot(&column[k + 1..], &x[k + 1..]);
        }
        self.exchanged.iter().enumerate().rev().for_each(|(k, &i)| x.swap(k, i));
    }

    /// x = U⁻¹ L⁻¹ P x.
    fn solve_transpose(&mut self, x: &mut [f64]) {
        self.exchanged.iter().enumerate().for_each(|(k, &i)| x.swap(k, i));
        for (k, column) in self.lu.chunks_exact(self.n.max(1)).enumerate() {
            let x_k = x[k];
            x[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(x, l)| *x -= l * x_k);
        }
        for (k, column) in self.lu.chunks_exact(self.n.max(1)).enumerate().rev() {
            x[k] /= column[k];
            let x_k = x[k];
            x[..k].iter_mut().zip(column).for_each(|(x, u)| *x -= u * x_k);
        }
    }

    fn stats(&self) -> FactorStats {
        let n = self.n;
        let flops = (1..=n).map(|c| 2.0 * (c * c) as f64).sum();
        FactorStats { nnz: n * n, bytes: 8 * (n * n + 2 * n), products: 0, flops }
    }
}

/// xᵀ y, in eight sums.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    for (x, y) in x.iter().zip(y) {
        (0..8).for_each(|k| sums[k] += x[k] * y[k]);
    }
    sums.iter().sum::<f64>() + x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum::<f64>()
}
