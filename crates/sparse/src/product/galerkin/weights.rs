//! The algorithm for blocks of P of the form w ⊗ I_d or I_d. Products cost a factor d less than with full
//! blocks.
//!
//! | symbol | what |
//! |---|---|
//! | Q_iJ | Σⱼ w_jJ ⊗ A_ij, d x (m d) |
//! | (A_c)_IJ | Σᵢ w_iIᵀ ⊗ Q_iJ, (m d) x (m d) |
//!
//! The d rows of a block are summed weight by weight. For each weight, the d x d numbers of a block of A are
//! consecutive, so that the inner loops are long. A finished coarse row is then brought into row-major order.
//!
//! In skinning, m = 4 and w is a weight times X, the homogeneous rest position (x, y, z, 1). If the weights
//! are 1, fine nodes i and j contribute (X_i X_jᵀ) ⊗ A_ij: Xian, Tong & Liu 2019, §4.2.

use coarsen_core::{Real, simd};

use super::worker::{AHEAD, Done, Make, Refill, Worker};
use crate::{Bsr, Pattern, ProlongationRef, SparseError, TransposePlan};

/// A, the weights of P, and the transpose plan that maps coarse rows to fine rows.
pub(super) struct Weighted<'a, T> {
    pub(super) a: &'a Bsr<T>,
    pub(super) p: ProlongationRef<'a, T>,
    pub(super) transpose: &'a TransposePlan,
}

impl<T: Real> Weighted<'_, T> {
    /// Computes the pattern and the values of the worker's rows of A_c, with sorted columns.
    pub(super) fn make(&self, worker: &mut Worker<T>) -> Result<(), SparseError> {
        let k = self.p.block.1;
        self.run(worker, &mut Make { k, width: k })
    }

    /// Computes the values of the worker's rows of A_c on the pattern from [`make`](Self::make).
    pub(super) fn refill(
        &self,
        worker: &mut Worker<T>,
        pattern: &Pattern,
        values: &mut [T],
    ) -> Result<(), SparseError> {
        let k = self.p.block.1;
        self.run(worker, &mut Refill { k, width: k, pattern, rest: values })
    }

    /// Sums each coarse row of the worker into `worker.sum`, with unrolled loops for small blocks.
    fn run(&self, worker: &mut Worker<T>, done: &mut dyn Done<T>) -> Result<(), SparseError> {
        let factors = self;
        match self.p.block.0 {
            1 => simd::run(WeightedRows::<T, 1> { factors, worker, done }),
            3 => simd::run(WeightedRows::<T, 3> { factors, worker, done }),
            12 => simd::run(WeightedRows::<T, 12> { factors, worker, done }), // affine motions
            _ => simd::run(WeightedRows::<T, 0> { factors, worker, done }),
        }
    }

    /// [`run`](Self::run) for `D` unknowns per fine node; `D` = 0 stands for any number.
    #[inline(always)]
    fn rows<const D: usize>(
        &self,
        worker: &mut Worker<T>,
        done: &mut dyn Done<T>,
    ) -> Result<(), SparseError> {
        let (d, k) = (if D == 0 { self.p.block.0 } else { D }, self.p.block.1);
        let (restriction, source) = (self.transpose.pattern(), self.transpose.source());
        worker.q.clear(d * k);
        for coarse in worker.rows.clone() {
            let Worker { rows, sum, q, .. } = worker;
            let range = restriction.range(coarse);
            for at in range.clone() {
                let fine = restriction.indices()[at] as usize;
                if at + AHEAD < range.end {
                    q.prefetch(restriction.indices()[at + AHEAD] as usize, d * k);
                }
                if !q.has(fine) {
                    q.room(self.reach(fine), d * k)?;
                    for (j, a) in self.a.row(fine) {
                        let range = self.p.pattern.range(j);
                        for (&column, at) in self.p.pattern.indices()[range.clone()].iter().zip(range) {
                            let block = q.rows.block(column, d * k);
                            add_row::<T, D>(d, self.p.row_of_weights(at), a, block);
                        }
                    }
                    q.keep(fine, self.p.pattern.row(fine), rows);
                }
                let weights = self.p.row_of_weights(source[at]);
                let (columns, values) = q.take(fine, d * k);
                sum.room(columns.len(), k * k)?;
                for (&column, q) in columns.iter().zip(values.chunks_exact(d * k)) {
                    let block = sum.block(column, k * k);
                    for (&w, block) in weights.iter().zip(block.chunks_exact_mut(d * k)) {
                        block.iter_mut().zip(q).for_each(|(c, &q)| *c += w * q);
                    }
                }
            }
            worker.in_order(d, k);
            done.row(worker, coarse);
            worker.sum.clear(k * k);
        }
        Ok(())
    }

    /// An upper bound for the number of blocks in row `fine` of Q.
    fn reach(&self, fine: usize) -> usize {
        self.a.pattern().row(fine).iter().map(|&j| self.p.pattern.range(j as usize).len()).sum()
    }
}

/// Q_iJ += w ⊗ A_ij, stored weight by weight.
#[inline(always)]
fn add_row<T: Real, const D: usize>(d: usize, weights: &[T], a: &[T], q: &mut [T]) {
    let area = if D == 0 { d * d } else { D * D };
    for (&w, q) in weights.iter().zip(q.chunks_exact_mut(area)) {
        q.iter_mut().zip(&a[..area]).for_each(|(q, &a)| *q += w * a);
    }
}

impl<T: Real> Worker<T> {
    /// Brings the blocks of a coarse row from the order by weights into row-major order.
    fn in_order(&mut self, d: usize, k: usize) {
        let Self { sum, turned, .. } = self;
        if d == 1 || d == k {
            return; // both orders are the same
        }
        turned.resize(d * k, T::zero());
        for rows in sum.values[..sum.len * k * k].chunks_exact_mut(d * k) {
            turned.copy_from_slice(rows);
            for (r, row) in rows.chunks_exact_mut(k).enumerate() {
                for (to, from) in row.chunks_exact_mut(d).zip(turned.chunks_exact(d * d)) {
                    to.copy_from_slice(&from[r * d..(r + 1) * d]);
                }
            }
        }
    }
}

/// [`Weighted::rows`] as a kernel, compiled for several instruction sets.
struct WeightedRows<'a, T, const D: usize> {
    factors: &'a Weighted<'a, T>,
    worker: &'a mut Worker<T>,
    done: &'a mut dyn Done<T>,
}

impl<T: Real, const D: usize> simd::Kernel<T> for WeightedRows<'_, T, D> {
    type Output = Result<(), SparseError>;

    #[inline(always)]
    fn run<S: simd::Set<T>>(self, _: S) -> Self::Output {
        self.factors.rows::<D>(self.worker, self.done)
    }
}
