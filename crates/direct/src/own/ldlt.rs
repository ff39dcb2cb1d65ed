//! A = L D Lᵀ of a sparse symmetric matrix, row by row and without row exchanges.
//!
//! Row k of L is the solution l of L₁ D₁ l = c. Here L₁ and D₁ are the previous rows, and c is column k of
//! the ordered matrix above its diagonal. Then d_k = c_kk − lᵀ D₁ l. With D > 0 this is Cholesky without
//! square roots, which needs no exchanges; of a negative definite matrix −A is factored. An indefinite matrix may have a small pivot, which is an error.
//!
//! *Reference* Davis 2005, "Algorithm 849: a concise sparse Cholesky factorization package"; Davis 2006,
//! section 4.7.

use coarsen_sparse::Bsr;

use super::memory::{fill, zeros};
use super::rows::sizes;
use super::structure::Structure;
use crate::DirectError;
use crate::factorization::{FactorStats, Factorization, Inertia, Pivots, Signs};

/// The smallest accepted |pivot| relative to the entries of its row, if D may be negative: half of the digits
/// remain, and refinement recovers the other half.
const SMALLEST: f64 = 1e-8;

/// The structure of L, and L and D once they are computed.
pub(super) struct Ldlt {
    definite: bool,
    /// The sign of the factored ±A.
    sign: f64,
    structure: Structure,
    /// L by columns, without its unit diagonal.
    rows: Vec<u32>,
    values: Vec<f64>,
    d: Vec<f64>,
    /// |a_ii|, or max |aᵢⱼ| of each row if A may be indefinite.
    sizes: Vec<f64>,
    work: Work,
}

/// The vectors of a factorisation and of a solve.
struct Work {
    /// The computed part of row k of L D.
    y: Vec<f64>,
    /// The columns with an entry in row k, sorted along the elimination tree.
    pattern: Vec<u32>,
    /// For each column, the last row that visited it.
    visited: Vec<u32>,
    /// The number of entries of each column so far.
    filled: Vec<u32>,
}

impl Ldlt {
    /// Plans the factorisation of a positive or negative definite matrix; other matrices are errors.
    pub(super) fn definite(a: &Bsr<f64>) -> Result<Self, DirectError> {
        Self::plan(a, true)
    }

    /// Plans the factorisation of a matrix that may be indefinite.
    pub(super) fn indefinite(a: &Bsr<f64>) -> Result<Self, DirectError> {
        Self::plan(a, false)
    }

    fn plan(a: &Bsr<f64>, definite: bool) -> Result<Self, DirectError> {
        let (n, structure) = (a.shape().0, Structure::of(a)?);
        let work = Work { y: zeros(n)?, pattern: zeros(n)?, visited: zeros(n)?, filled: zeros(n)? };
        let (rows, values) = (Vec::new(), Vec::new());
        let (d, sizes) = (zeros(n)?, zeros(n)?);
        Ok(Self { definite, sign: 1.0, structure, rows, values, d, sizes, work })
    }

    /// The number of entries of L below its diagonal.
    pub(super) fn below(&self) -> usize {
        self.structure.below()
    }

    /// Finds the columns with entries in row k and stores them at the end of `pattern`, from the returned
    /// index on.
    fn gather(&mut self, a: &Bsr<f64>, k: usize) -> usize {
        let (structure, Work { y, pattern, visited, .. }) = (&self.structure, &mut self.work);
        let mut top = pattern.len();
        visited[k] = k as u32;
        for (i, at) in structure.column(k) {
            y[i] += self.sign * a.values()[at];
            // The path from i to the first visited column, stored in reverse: a column must come after the
            // columns on which it depends.
            let (mut i, mut length) = (i, 0);
            while visited[i] != k as u32 {
                visited[i] = k as u32;
                pattern[length] = i as u32;
                length += 1;
                i = structure.parent[i] as usize;
            }
            pattern.copy_within(..length, top - length);
            top -= length;
        }
        top
    }

    /// Computes row k of L and returns its pivot.
    fn eliminate(&mut self, k: usize, top: usize) -> f64 {
        let Work { y, pattern, filled, .. } = &mut self.work;
        let mut d = std::mem::take(&mut y[k]);
        for &i in &pattern[top..] {
            let i = i as usize;
            let y_i = std::mem::take(&mut y[i]);
            let first = self.structure.columns[i];
            let end = first + filled[i] as usize;
            for (&row, l) in self.rows[first..end].iter().zip(&self.values[first..end]) {
                y[row as usize] -= l * y_i;
            }
            let l = y_i / self.d[i];
            d -= l * y_i;
            (self.rows[end], self.values[end]) = (k as u32, l);
            filled[i] += 1;
        }
        d
    }

    /// Returns an error if a pivot is too small.
    fn check(&self, k: usize, d: f64) -> Result<(), DirectError> {
        let row = self.structure.order[k] as usize;
        if self.definite {
            return if d > 0.0 { Ok(()) } else { Err(DirectError::NotPositiveDefinite { row }) };
        }
        let ratio = d.abs() / self.sizes[row];
        if ratio >= SMALLEST { Ok(()) } else { Err(DirectError::SmallPivot { row, ratio }) }
    }

    /// The signs of D, and its sizes relative to the diagonal or the rows of A.
    fn pivots(&self) -> Pivots {
        let order = self.structure.order.iter().map(|&row| row as usize);
        if self.definite {
            let ratios = order.zip(&self.d).map(|(row, d)| (row, d / self.sizes[row]));
            let weakest =
                ratios.fold((0, f64::INFINITY), |least, next| if next.1 < least.1 { next } else { least });
            let inertia = Inertia::definite(self.d.len(), self.sign < 0.0);
            return Pivots { inertia: Some(inertia), weakest: Some(weakest) };
        }
        let mut signs = Signs::default();
        order.zip(&self.d).for_each(|(row, &d)| signs.one(row, d, &self.sizes));
        signs.pivots()
    }
}

impl Factorization for Ldlt {
    fn factor(&mut self, a: &Bsr<f64>) -> Result<Pivots, DirectError> {
        let n = self.d.len();
        if self.definite {
            self.sizes.iter_mut().enumerate().for_each(|(row, size)| *size = a.get(row, row));
            let negative = n > 0 && self.sizes.iter().all(|d| *d < 0.0);
            self.sign = if negative { -1.0 } else { 1.0 };
            self.sizes.iter_mut().for_each(|d| *d *= self.sign);
            if let Some(row) = self.sizes.iter().position(|d| *d <= 0.0) {
                return Err(DirectError::NotPositiveDefinite { row });
            }
        } else {
            sizes(a, &mut self.sizes);
        }
        if self.values.is_empty() {
            fill(&mut self.rows, self.structure.below())?;
            fill(&mut self.values, self.structure.below())?;
        }
        self.work.filled.fill(0);
        self.work.y.fill(0.0);
        self.work.visited.fill(super::structure::NONE);
        for k in 0..n {
            let top = self.gather(a, k);
            let d = self.eliminate(k, top);
            self.check(k, d)?;
            self.d[k] = d;
        }
        Ok(self.pivots())
    }

    /// x = Pᵀ L⁻ᵀ D⁻¹ L⁻¹ P x.
    fn solve(&mut self, x: &mut [f64]) {
        let (order, y) = (&self.structure.order, &mut self.work.y);
        y.iter_mut().zip(order).for_each(|(y, &i)| *y = x[i as usize]);
        let columns = |k: usize| self.structure.columns[k]..self.structure.columns[k + 1];
        for k in 0..y.len() {
            let y_k = y[k];
            for (&i, l) in self.rows[columns(k)].iter().zip(&self.values[columns(k)]) {
                y[i as usize] -= l * y_k;
            }
        }
        y.iter_mut().zip(&self.d).for_each(|(y, d)| *y /= self.sign * d);
        for k in (0..y.len()).rev() {
            let entries = self.rows[columns(k)].iter().zip(&self.values[columns(k)]);
            y[k] -= entries.map(|(&i, l)| l * y[i as usize]).sum::<f64>();
        }
        order.iter().zip(&*y).for_each(|(&i, y)| x[i as usize] = *y);
    }

    fn stats(&self) -> FactorStats {
        let (n, below) = (self.d.len(), self.structure.below());
        let entries = self.structure.columns.windows(2).map(|ends| (ends[1] - ends[0] + 1) as f64);
        FactorStats {
            nnz: n + below,
            bytes: self.structure.bytes() + 12 * below + 36 * n,
            products: 0,
            flops: entries.map(|c| c * c).sum(),
        }
    }
}
