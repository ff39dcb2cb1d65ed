//! A = L B Lᵀ of a full symmetric matrix with the pivoting of Bunch and Kaufman: B has blocks of order 1 and
//! 2, and ∞ in place of a pivot that is 0.
//!
//! | symbol | name here |
//! |---|---|
//! | λ, the largest entry below the diagonal of column k, and its row r | `lambda`, `r` |
//! | σ, the largest entry off the diagonal of row r | `sigma` |
//! | α = (1 + √17) / 8 | `ALPHA` |
//!
//! *Reference* Bunch and Kaufman 1977, "Some stable methods for calculating inertia and solving symmetric
//! linear systems"; Golub and Van Loan 2013, section 4.4.4.

use coarsen_sparse::Bsr;

use super::room::{fill, zeros};
use super::rows::{row, sizes};
use crate::DirectError;
use crate::factorization::{FactorStats, Factorization, Pivots, Signs};

/// With this α the growth in one step of order 2 equals the growth in two steps of order 1.
const ALPHA: f64 = 0.640_388_203_202_207_6;

/// The lower triangle of a full matrix by columns, which L and B overwrite.
pub(super) struct BunchKaufman {
    n: usize,
    l: Vec<f64>,
    /// b_{k+1,k} at k for a block of order 2, otherwise 0.
    below: Vec<f64>,
    order: Vec<usize>,
    sizes: Vec<f64>,
    y: Vec<f64>,
}

impl BunchKaufman {
    /// Allocates the vectors; the n² values are allocated by the first factorisation.
    pub(super) fn plan(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let n = a.shape().0;
        let (below, order) = (zeros(n)?, zeros(n)?);
        Ok(Self { n, l: Vec::new(), below, order, sizes: zeros(n)?, y: zeros(n)? })
    }

    /// Entry (i, j) of the symmetric matrix.
    fn at(&self, i: usize, j: usize) -> f64 {
        self.l[i.min(j) * self.n + i.max(j)]
    }

    /// The largest entry of row i from column k on, off the diagonal, and its column.
    fn largest(&self, i: usize, k: usize) -> (usize, f64) {
        let entries = (k..self.n).filter(|&j| j != i).map(|j| (j, self.at(i, j).abs()));
        entries.fold((i, 0.0), |most, next| if next.1 > most.1 { next } else { most })
    }

    /// The row to exchange with the last row of the pivot of step k, and the order of the pivot.
    fn choose(&self, k: usize) -> (usize, usize) {
        let (own, (r, lambda)) = (self.at(k, k).abs(), self.largest(k, k));
        // If the matrix has overflowed, rows keep their order; the trial solve then rejects the factor.
        if r == k || own >= ALPHA * lambda || !(own.is_finite() && lambda.is_finite()) {
            return (k, 1);
        }
        let sigma = self.largest(r, k).1;
        if own * (sigma / lambda) >= ALPHA * lambda {
            (k, 1)
        } else if self.at(r, r).abs() >= ALPHA * sigma {
            (r, 1)
        } else {
            (r, 2)
        }
    }

    /// Exchanges rows and columns p < q, also in the computed part of L.
    fn exchange(&mut self, p: usize, q: usize) {
        let n = self.n;
        self.order.swap(p, q);
        (0..p).for_each(|j| self.l.swap(j * n + p, j * n + q));
        (p + 1..q).for_each(|i| self.l.swap(p * n + i, i * n + q));
        (q + 1..n).for_each(|i| self.l.swap(p * n + i, q * n + i));
        self.l.swap(p * n + p, q * n + q);
    }

    /// Subtracts L B Lᵀ of a pivot of order 1 from the remaining matrix, and stores L in column k.
    fn eliminate_one(&mut self, k: usize) {
        let (done, rest) = self.l.split_at_mut((k + 1) * self.n);
        let column = &mut done[k * self.n..];
        let d = column[k];
        for j in k + 1..self.n {
            let l = column[j] / d;
            let to = &mut rest[(j - k - 1) * self.n..(j - k) * self.n];
            to[j..].iter_mut().zip(&column[j..]).for_each(|(to, c)| *to -= c * l);
            column[j] = l;
        }
    }

    /// Subtracts L B Lᵀ of a pivot of order 2, and stores L in columns k and k + 1.
    fn eliminate_two(&mut self, k: usize) {
        let (done, rest) = self.l.split_at_mut((k + 2) * self.n);
        let (first, second) = done[k * self.n..].split_at_mut(self.n);
        let (q, n) = (first[k + 1], self.n);
        // B⁻¹, scaled by its off-diagonal entry, which is the largest.
        let (p, s) = (first[k] / q, second[k + 1] / q);
        let scale = 1.0 / ((p * s - 1.0) * q);
        for j in k + 2..n {
            let (u, v) = ((s * first[j] - second[j]) * scale, (p * second[j] - first[j]) * scale);
            let to = &mut rest[(j - k - 2) * n..(j - k - 1) * n];
            for i in j..n {
                to[i] -= first[i] * u + second[i] * v;
            }
            (first[j], second[j]) = (u, v);
        }
        (self.below[k], first[k + 1]) = (q, 0.0);
    }

    fn pivots(&self) -> Pivots {
        let (mut signs, mut k) = (Signs::default(), 0);
        while k < self.n {
            let (q, row) = (self.below[k], self.order[k]);
            if q == 0.0 {
                let d = self.at(k, k);
                if d == f64::INFINITY {
                    signs.zero(row)
                } else {
                    signs.one(row, d, &self.sizes)
                }
                k += 1;
            } else {
                let rows = [row, self.order[k + 1]];
                signs.two(rows, [self.at(k, k), q, self.at(k + 1, k + 1)], &self.sizes);
                k += 2;
            }
        }
        signs.pivots()
    }
}

impl Factorization for BunchKaufman {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        let n = self.n;
        fill(&mut self.l, n * n)?;
        for i in 0..n {
            self.order[i] = i;
            row(a, i).filter(|&(j, _)| j <= i).for_each(|(j, at)| self.l[j * n + i] = a.values()[at]);
        }
        sizes(a, &mut self.sizes);
        self.below.fill(0.0);
        let mut k = 0;
        while k < n {
            let (row, step) = self.choose(k);
            if row != k + step - 1 {
                self.exchange(k + step - 1, row);
            }
            if step == 1 && self.at(k, k) == 0.0 {
                // The remaining column is zero: L keeps its zeros, and the unknown is set to 0.
                (self.below[k], self.l[k * n + k]) = (0.0, f64::INFINITY);
            } else if step == 1 {
                self.eliminate_one(k);
            } else {
                self.eliminate_two(k);
            }
            k += step;
        }
        Ok(self.pivots())
    }

    fn solve(&mut self, x: &mut [f64]) {
        let (n, y) = (self.n, &mut self.y);
        y.iter_mut().zip(&self.order).for_each(|(y, &i)| *y = x[i]);
        for (k, column) in self.l.chunks_exact(n.max(1)).enumerate() {
            let y_k = y[k];
            y[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(y, l)| *y -= l * y_k);
        }
        let mut k = 0;
        while k < n {
            let (q, p) = (self.below[k], self.l[k * n + k]);
            if q == 0.0 {
                y[k] /= p;
                k += 1;
            } else {
                let (p, s) = (p / q, self.l[(k + 1) * n + k + 1] / q);
                let scale = 1.0 / ((p * s - 1.0) * q);
                (y[k], y[k + 1]) = ((s * y[k] - y[k + 1]) * scale, (p * y[k + 1] - y[k]) * scale);
                k += 2;
            }
        }
        for (k, column) in self.l.chunks_exact(n.max(1)).enumerate().rev() {
            let (head, tail) = y.split_at_mut(k + 1);
            head[k] -= column[k + 1..].iter().zip(&*tail).map(|(l, y)| l * y).sum::<f64>();
        }
        self.order.iter().zip(&*y).for_each(|(&i, y)| x[i] = *y);
    }

    fn stats(&self) -> FactorStats {
        let n = self.n;
        FactorStats {
            nnz: n * (n + 1) / 2,
            bytes: 8 * (n * n + 4 * n),
            products: 0,
            flops: (1..=n).map(|c| (c * c) as f64).sum(),
        }
    }
}
