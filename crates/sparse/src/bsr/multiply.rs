//! y = A x by block rows.
//!
//! Rows are cut into leaves of a fixed number of scalar rows, the leaves of the tree that also sums the fused inner
//! products: the same bits at any thread count. Column indices were checked when the pattern was made, so the kernels
//! index without checks; that is worth 20 % on one core.
//!
//! *Traffic* the matrix once, y once, x once where it fits the cache.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_core::{Dot, LinearOperator, Real, products};

use super::Bsr;

/// Scalar rows per leaf: a few hundred kilobytes of matrix, enough to pay for a fork.
const ROWS: usize = 1024;

impl<T: Real> Bsr<T> {
    /// (A x)_i for the block rows of one leaf; `y` holds only those rows.
    #[inline(always)]
    fn leaf<V: Real, const R: usize, const C: usize>(&self, rows: Range<usize>, x: &[V], y: &mut [V]) {
        let (offsets, indices) = (self.pattern.offsets(), self.pattern.indices());
        assert!(self.block == (R, C) && x.len() == self.pattern.columns() * C);
        for (i, y) in rows.zip(y.chunks_exact_mut(R)) {
            let mut sums = [[V::zero(); C]; R];
            for k in offsets[i]..offsets[i + 1] {
                // SAFETY: k < offsets[rows] = indices.len(), values.len() = indices.len() · R · C (Bsr::new), and every
                // column is below pattern.columns() (Pattern::new), so j·C + C ≤ x.len(), asserted above.
                unsafe {
                    let j = *indices.get_unchecked(k) as usize;
                    let block = self.values.get_unchecked(k * R * C..(k + 1) * R * C);
                    let x = x.get_unchecked(j * C..(j + 1) * C);
                    for r in 0..R {
                        for c in 0..C {
                            sums[r][c] += block.get_unchecked(r * C + c).to::<V>() * *x.get_unchecked(c);
                        }
                    }
                }
            }
            for r in 0..R {
                y[r] = sums[r].iter().copied().fold(V::zero(), |a, b| a + b);
            }
        }
    }

    /// The same for 1x1 blocks: four sums a row, so that short rows do not wait for one addition after the other.
    #[inline(always)]
    fn leaf_scalar<V: Real>(&self, rows: Range<usize>, x: &[V], y: &mut [V]) {
        let (offsets, indices) = (self.pattern.offsets(), self.pattern.indices());
        assert!(self.block == (1, 1) && x.len() == self.pattern.columns());
        // SAFETY: as in `leaf`, with R = C = 1.
        let term = |k: usize| unsafe {
            let j = *indices.get_unchecked(k) as usize;
            self.values.get_unchecked(k).to::<V>() * *x.get_unchecked(j)
        };
        for (i, y) in rows.zip(y) {
            let (mut k, end) = (offsets[i], offsets[i + 1]);
            let mut sums = [V::zero(); 4];
            while k + 4 <= end {
                for (lane, sum) in sums.iter_mut().enumerate() {
                    *sum += term(k + lane);
                }
                k += 4;
            }
            for (sum, k) in sums.iter_mut().zip(k..end) {
                *sum += term(k);
            }
            *y = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
    }

    /// The same for any block size.
    fn leaf_any<V: Real>(&self, rows: Range<usize>, x: &[V], y: &mut [V]) {
        let (r, c) = self.block;
        for (i, y) in rows.zip(y.chunks_exact_mut(r)) {
            y.fill(V::zero());
            for (j, block) in self.row(i) {
                let x = &x[j * c..(j + 1) * c];
                for (y, row) in y.iter_mut().zip(block.chunks_exact(c)) {
                    for (a, &x) in row.iter().zip(x) {
                        *y += a.to::<V>() * x;
                    }
                }
            }
        }
    }

    /// (A x) of block rows `rows` into `y`, by the kernel of this block size.
    #[inline]
    pub(crate) fn multiply_rows<V: Real>(&self, rows: Range<usize>, x: &[V], y: &mut [V]) {
        match self.block {
            (1, 1) => self.leaf_scalar(rows, x, y),
            (2, 2) => self.leaf::<V, 2, 2>(rows, x, y),
            (3, 3) => self.leaf::<V, 3, 3>(rows, x, y),
            (6, 6) => self.leaf::<V, 6, 6>(rows, x, y),
            (3, 6) => self.leaf::<V, 3, 6>(rows, x, y),
            (6, 3) => self.leaf::<V, 6, 3>(rows, x, y),
            _ => self.leaf_any(rows, x, y),
        }
    }

    /// y = a A x + b y in one pass; with b = 0 the old y is not read.
    ///
    /// *Panics* on a wrong length.
    pub fn apply_add<V: Real>(&self, a: V, x: &[V], b: V, y: &mut [V]) {
        self.assert_fits(x, y);
        let rows = (0..self.pattern.rows(), Groups(y, self.block.0));
        let body = |(rows, y): (Range<usize>, Groups<&mut [V]>)| {
            // A leaf has at most ROWS scalar rows, unless a single block is larger.
            let mut stack = [V::zero(); ROWS];
            let mut heap = Vec::new();
            let ax = match stack.get_mut(..y.0.len()) {
                Some(ax) => ax,
                None => {
                    heap.resize(y.0.len(), V::zero());
                    &mut heap[..]
                }
            };
            self.multiply_rows(rows, x, ax);
            for (y, &ax) in y.0.iter_mut().zip(&*ax) {
                *y = if b == V::zero() { a * ax } else { a * ax + b * *y };
            }
        };
        each(rows, self.leaf_rows(), parallel::worth(self.nnz()), &body);
    }

    /// Block rows per leaf.
    fn leaf_rows(&self) -> usize {
        (ROWS / self.block.0).max(1)
    }

    fn assert_fits<V>(&self, x: &[V], y: &[V]) {
        let (m, n) = self.shape();
        assert!(
            x.len() == n && y.len() == m,
            "apply: a {m} x {n} matrix met x of {} and y of {}",
            x.len(),
            y.len()
        );
    }
}

impl<T: Real, V: Real> LinearOperator<Vec<V>> for Bsr<T> {
    fn shape(&self) -> (usize, usize) {
        self.shape()
    }

    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        self.assert_fits(x, y);
        let rows = (0..self.pattern.rows(), Groups(&mut y[..], self.block.0));
        each(rows, self.leaf_rows(), parallel::worth(self.nnz()), &|(rows, y): (
            Range<usize>,
            Groups<&mut [V]>,
        )| {
            self.multiply_rows(rows, x, y.0);
        });
    }

    fn apply_dot(&self, x: &Vec<V>, y: &mut Vec<V>) -> Dot<V> {
        self.assert_fits(x, y);
        assert_eq!(x.len(), y.len(), "apply_dot needs a square matrix");
        let r = self.block.0;
        let rows = (0..self.pattern.rows(), Groups(&mut y[..], r));
        let body = |(rows, y): (Range<usize>, Groups<&mut [V]>)| {
            let x_rows = &x[rows.start * r..rows.end * r];
            self.multiply_rows(rows, x, y.0);
            products(x_rows, y.0)
        };
        let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        let [value, magnitude] = tree(rows, self.leaf_rows(), parallel::worth(self.nnz()), &body, &add);
        Dot { value: V::of(value), magnitude: V::of(magnitude) }
    }

    fn residual(&self, b: &Vec<V>, x: &Vec<V>, r: &mut Vec<V>) {
        self.assert_fits(x, r);
        assert_eq!(b.len(), r.len(), "residual: b and r differ in length");
        let k = self.block.0;
        let rows = (0..self.pattern.rows(), Groups(&b[..], k), Groups(&mut r[..], k));
        let body = |(rows, b, r): (Range<usize>, Groups<&[V]>, Groups<&mut [V]>)| {
            self.multiply_rows(rows, x, r.0);
            r.0.iter_mut().zip(b.0).for_each(|(r, &b)| *r = b - *r);
        };
        each(rows, self.leaf_rows(), parallel::worth(self.nnz()), &body);
    }
}
