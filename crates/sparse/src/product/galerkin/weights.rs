//! The algorithm for blocks of P of the form w ⊗ I_d or I_d. Products cost a factor d less than with full
//! blocks.
//!
//! | symbol | what |
//! |---|---|
//! | Q_iJ | Σⱼ w_jJ ⊗ A_ij, d x (m d) |
//! | (A_c)_IJ | Σᵢ w_iIᵀ ⊗ Q_iJ, (m d) x (m d) |
//!
//! The d rows of a block are summed weight by weight. For each weight, the d x d numbers of a block of A are
//! consecutive, so that the inner loops are long. For 3 x 3 blocks and 4 weights, the 4 weights of a number of
//! A are consecutive instead and fill a pack. A finished coarse row is then brought into row-major order.
//!
//! In skinning, m = 4 and w is a weight times X, the homogeneous rest position (x, y, z, 1). If the weights
//! are 1, fine nodes i and j contribute (X_i X_jᵀ) ⊗ A_ij: Xian, Tong & Liu 2019, §4.2.

use coarsen_core::Real;
use coarsen_core::simd::{self, Pack, Set};

use super::blocks::{Four, Twelve, Width, whole};
use super::worker::{AHEAD, Done, Make, Refill, Worker};
use crate::product::sums::RowSums;
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
        match self.p.block {
            (3, 12) => simd::run(AffineRows { factors, worker, done }),
            (1, _) => simd::run(WeightedRows::<T, 1> { factors, worker, done }),
            (3, _) => simd::run(WeightedRows::<T, 3> { factors, worker, done }),
            (12, _) => simd::run(WeightedRows::<T, 12> { factors, worker, done }), // affine motions
            _ => simd::run(WeightedRows::<T, 0> { factors, worker, done }),
        }
    }

    /// [`run`](Self::run) with the given loops over numbers.
    #[inline(always)]
    fn rows(
        &self,
        loops: impl Loops<T>,
        worker: &mut Worker<T>,
        done: &mut dyn Done<T>,
    ) -> Result<(), SparseError> {
        let (d, k) = (loops.unknowns(), self.p.block.1);
        let (restriction, source) = (self.transpose.pattern(), self.transpose.source());
        worker.clear_q(restriction.rows(), d * k);
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
                    loops.row_of_q(self, fine, &mut q.rows);
                    q.keep(fine, self.p.pattern.row(fine), rows);
                }
                let weights = self.p.row_of_weights(source[at]);
                let (columns, values) = q.take(fine, d * k);
                sum.room(columns.len(), k * k)?;
                for (&column, q) in columns.iter().zip(values.chunks_exact(d * k)) {
                    loops.add_sum(weights, q, sum.block(column, k * k));
                }
            }
            let Worker { sum, turned, .. } = worker;
            if d != 1 && d != k {
                turned.resize(d * k, T::zero());
                for rows in sum.values[..sum.len * k * k].chunks_exact_mut(d * k) {
                    turned.copy_from_slice(rows);
                    loops.in_order(k, turned, rows);
                }
            }
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

/// The loops over the numbers of blocks, and the order of these numbers in Q and in sums.
trait Loops<T: Real> {
    /// d.
    fn unknowns(&self) -> usize;

    /// Computes row i = `fine` of Q: Q_iJ += w_jJ ⊗ A_ij for all j and J.
    fn row_of_q(&self, factors: &Weighted<'_, T>, fine: usize, q: &mut RowSums<T>);

    /// (A_c)_IJ += wᵀ ⊗ Q_iJ; the d rows of each weight are consecutive.
    fn add_sum(&self, weights: &[T], q: &[T], c: &mut [T]) {
        for (&w, c) in weights.iter().zip(c.chunks_exact_mut(q.len())) {
            c.iter_mut().zip(q).for_each(|(c, &q)| *c += w * q);
        }
    }

    /// Brings d rows of k numbers into row-major order.
    fn in_order(&self, k: usize, from: &[T], to: &mut [T]);
}

/// Weight by weight, for `D` unknowns per fine node; `D` = 0 stands for any number.
struct ByWeight<const D: usize>(usize);

impl<T: Real, const D: usize> Loops<T> for ByWeight<D> {
    #[inline(always)]
    fn unknowns(&self) -> usize {
        if D == 0 { self.0 } else { D }
    }

    #[inline(always)]
    fn row_of_q(&self, factors: &Weighted<'_, T>, fine: usize, q: &mut RowSums<T>) {
        let (p, area) = (factors.p, if D == 0 { self.0 * self.0 } else { D * D });
        let size = p.block.0 * p.block.1;
        for (j, a) in factors.a.row(fine) {
            for at in p.pattern.range(j) {
                let q = q.block(p.pattern.indices()[at], size);
                for (&w, q) in p.row_of_weights(at).iter().zip(q.chunks_exact_mut(area)) {
                    q.iter_mut().zip(&a[..area]).for_each(|(q, &a)| *q += w * a);
                }
            }
        }
    }

    #[inline(always)]
    fn in_order(&self, k: usize, from: &[T], to: &mut [T]) {
        let d = Loops::<T>::unknowns(self);
        for (r, row) in to.chunks_exact_mut(k).enumerate() {
            for (to, from) in row.chunks_exact_mut(d).zip(from.chunks_exact(d * d)) {
                to.copy_from_slice(&from[r * d..(r + 1) * d]);
            }
        }
    }
}

/// Number of A by number of A, each with its 4 weights: 3 unknowns per fine node.
struct ByNumber<S>(S);

impl<T: Real, S: Set<T>> Loops<T> for ByNumber<S> {
    #[inline(always)]
    fn unknowns(&self) -> usize {
        3
    }

    /// Q_iJ stays in registers while the next neighbour has the same J.
    #[inline(always)]
    fn row_of_q(&self, factors: &Weighted<'_, T>, fine: usize, q: &mut RowSums<T>) {
        type Row<T, S> = <Four as Width>::Pack<T, S>;
        let (set, p) = (self.0, factors.p);
        let (mut open, mut sums) = (None, [Row::<T, S>::zero(set); 9]);
        for (j, a) in factors.a.row(fine) {
            let a = &a[..9];
            for at in p.pattern.range(j) {
                let column = p.pattern.indices()[at];
                if open != Some(column) {
                    if let Some(open) = open {
                        write(sums, q.block(open, 36));
                    }
                    sums = read(set, q.block(column, 36));
                    open = Some(column);
                }
                let w = whole::<T, Row<T, S>>(set, p.row_of_weights(at), 0);
                for (sum, &a) in sums.iter_mut().zip(a) {
                    *sum = Row::<T, S>::splat(set, a).mul_add(w, *sum);
                }
            }
        }
        if let Some(open) = open {
            write(sums, q.block(open, 36));
        }
    }

    #[inline(always)]
    fn add_sum(&self, weights: &[T], q: &[T], c: &mut [T]) {
        type Third<T, S> = <Twelve as Width>::Pack<T, S>;
        let (weights, c) = (&weights[..4], &mut c[..144]);
        for third in 0..3 {
            let q: Third<T, S> = whole(self.0, q, third);
            for (m, &w) in weights.iter().enumerate() {
                let at = 3 * m + third;
                let sum = Third::<T, S>::splat(self.0, w).mul_add(q, whole(self.0, c, at));
                // SAFETY: the sum has 12 packs of 12 numbers, as cut above.
                unsafe { sum.store(c.as_mut_ptr().add(12 * at)) };
            }
        }
    }

    #[inline(always)]
    fn in_order(&self, _: usize, from: &[T], to: &mut [T]) {
        let (from, to) = (&from[..36], &mut to[..36]);
        for r in 0..3 {
            for c in 0..12 {
                to[12 * r + c] = from[4 * (3 * r + c % 3) + c / 3];
            }
        }
    }
}

/// The 9 packs of a block of Q.
#[inline(always)]
fn read<T: Real, R: Pack<T>>(set: R::Set, q: &[T]) -> [R; 9] {
    std::array::from_fn(|e| whole(set, q, e))
}

/// Writes the 9 packs of a block of Q.
#[inline(always)]
fn write<T: Real, R: Pack<T>>(sums: [R; 9], q: &mut [T]) {
    let q = &mut q[..9 * R::LANES];
    for (e, sum) in sums.into_iter().enumerate() {
        // SAFETY: q has 9 packs, as cut above.
        unsafe { sum.store(q.as_mut_ptr().add(e * R::LANES)) };
    }
}

/// [`Weighted::rows`] weight by weight as a kernel, compiled for several instruction sets.
struct WeightedRows<'a, T, const D: usize> {
    factors: &'a Weighted<'a, T>,
    worker: &'a mut Worker<T>,
    done: &'a mut dyn Done<T>,
}

impl<T: Real, const D: usize> simd::Kernel<T> for WeightedRows<'_, T, D> {
    type Output = Result<(), SparseError>;

    #[inline(always)]
    fn run<S: Set<T>>(self, _: S) -> Self::Output {
        self.factors.rows(ByWeight::<D>(self.factors.p.block.0), self.worker, self.done)
    }
}

/// [`Weighted::rows`] from displacements to affine motions as a kernel.
struct AffineRows<'a, T> {
    factors: &'a Weighted<'a, T>,
    worker: &'a mut Worker<T>,
    done: &'a mut dyn Done<T>,
}

impl<T: Real> simd::Kernel<T> for AffineRows<'_, T> {
    type Output = Result<(), SparseError>;

    #[inline(always)]
    fn run<S: Set<T>>(self, set: S) -> Self::Output {
        self.factors.rows(ByNumber(set), self.worker, self.done)
    }
}
