//! A = L Lᵀ of a full positive definite matrix, or −A = L Lᵀ, column by column.
//!
//! *Reference* Golub and Van Loan 2013, "Matrix Computations", section 4.2.

use coarsen_core::simd::{self, Kernel, Set};
use coarsen_sparse::Bsr;

use super::full_lu::dot;
use super::memory::{fill, zeros};
use super::rows::row;
use crate::DirectError;
use crate::factorization::{FactorStats, Factorization, Inertia, Pivots};

/// The lower triangle of ±A by columns of length n, which L overwrites.
pub(super) struct FullCholesky {
    n: usize,
    l: Vec<f64>,
    /// The sign of the factored ±A.
    sign: f64,
    /// |a_ii|
    sizes: Vec<f64>,
}

impl FullCholesky {
    /// Allocates the vector; the n² values are allocated by the first factorisation.
    pub(super) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let n = a.shape().0;
        Ok(Self { n, l: Vec::new(), sign: 1.0, sizes: zeros(n)? })
    }
}

/// The elimination; ends at the first pivot that is not positive, whose row it returns.
struct Eliminate<'a>(&'a mut [f64], usize);

impl Kernel<f64> for Eliminate<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<S: Set<f64>>(self, _: S) -> Option<usize> {
        let Self(values, n) = self;
        for j in 0..n {
            let (left, right) = values.split_at_mut(j * n);
            let column = &mut right[j..n];
            for l in left.chunks_exact(n) {
                let x = l[j];
                if x != 0.0 {
                    column.iter_mut().zip(&l[j..]).for_each(|(c, l)| *c -= l * x);
                }
            }
            if column[0].is_nan() || column[0] <= 0.0 {
                return Some(j);
            }
            let scale = 1.0 / column[0].sqrt();
            column.iter_mut().for_each(|c| *c *= scale);
        }
        None
    }
}

impl Factorization for FullCholesky {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        let n = self.n;
        self.sizes.iter_mut().enumerate().for_each(|(i, size)| *size = a.get(i, i));
        let negative = n > 0 && self.sizes.iter().all(|d| *d < 0.0);
        self.sign = if negative { -1.0 } else { 1.0 };
        self.sizes.iter_mut().for_each(|d| *d *= self.sign);
        fill(&mut self.l, n * n)?;
        for i in 0..n {
            let lower = row(a, i).filter(|&(j, _)| j <= i);
            lower.for_each(|(j, at)| self.l[j * n + i] = self.sign * a.values()[at]);
        }
        if let Some(row) = self.sizes.iter().position(|d| *d <= 0.0) {
            return Err(DirectError::NotPositiveDefinite { row });
        }
        if let Some(row) = simd::run(Eliminate(&mut self.l, n)) {
            return Err(DirectError::NotPositiveDefinite { row });
        }
        let ratios = self.sizes.iter().enumerate().map(|(i, size)| (i, self.l[i * n + i].powi(2) / size));
        let least = |least: (usize, f64), next: (usize, f64)| if next.1 < least.1 { next } else { least };
        let weakest = ratios.fold((0, f64::INFINITY), least);
        Ok(Pivots { inertia: Some(Inertia::definite(n, negative)), weakest: Some(weakest) })
    }

    /// x = L⁻ᵀ L⁻¹ x, up to the sign.
    fn solve(&mut self, x: &mut [f64]) {
        for (k, column) in self.l.chunks_exact(self.n.max(1)).enumerate() {
            x[k] *= self.sign / column[k];
            let x_k = x[k] * self.sign;
            x[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(x, l)| *x -= l * x_k);
        }
        for (k, column) in self.l.chunks_exact(self.n.max(1)).enumerate().rev() {
            x[k] = (x[k] - dot(&column[k + 1..], &x[k + 1..])) / column[k];
        }
    }

    fn stats(&self) -> FactorStats {
        let n = self.n;
        let flops = (1..=n).map(|c| (c * c) as f64).sum();
        FactorStats { nnz: n * (n + 1) / 2, bytes: 8 * (n * n + n), products: 0, flops }
    }
}
