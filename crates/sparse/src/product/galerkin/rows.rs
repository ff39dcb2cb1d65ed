//! Coarse rows, summed from rows of Q = A P.

use std::marker::PhantomData;

use coarsen_core::Real;
use coarsen_core::simd::{self, Kernel, Pack, Set};

use super::blocks::{Eight, Four, Twelve, Width, add, add_in_registers, row, whole, width};
use super::factors::Factors;
use super::loops::Loops;
use super::weights::{ByNumber, ByWeight};
use super::worker::{Done, Make, Refill, Worker};
use crate::product::sums::RowSums;
use crate::prolongation::Form;
use crate::{Bsr, Pattern, SparseError};

/// How many rows ahead rows of Q are prefetched.
const AHEAD: usize = 3;

impl<T: Real> Factors<'_, T> {
    /// Computes the pattern and the values of the worker's rows of A_c, with sorted columns.
    pub(super) fn make(&self, worker: &mut Worker<T>) -> Result<(), SparseError> {
        let (k, width) = self.widths();
        self.run(worker, &mut Make { k, width })
    }

    /// Computes the values of the worker's rows of A_c on the pattern from [`make`](Self::make).
    pub(super) fn refill(
        &self,
        worker: &mut Worker<T>,
        pattern: &Pattern,
        values: &mut [T],
    ) -> Result<(), SparseError> {
        let (k, width) = self.widths();
        self.run(worker, &mut Refill { k, width, pattern, rest: values })
    }

    /// k, and the stored length of a row of a sum.
    fn widths(&self) -> (usize, usize) {
        let k = self.p.block.1;
        (k, if let Form::Blocks(_) = self.p.form { width(self.p.block) } else { k })
    }

    /// Sums each coarse row of the worker into `worker.sum`, with unrolled loops for small blocks.
    fn run(&self, worker: &mut Worker<T>, done: &mut dyn Done<T>) -> Result<(), SparseError> {
        let p = self.p;
        let Form::Blocks(full) = p.form else {
            return match p.block {
                (3, 12) => self.each(ByNumber(p), worker, done),
                (1, _) => self.each(ByWeight::<T, 1>(p), worker, done),
                (3, _) => self.each(ByWeight::<T, 3>(p), worker, done),
                (12, _) => self.each(ByWeight::<T, 12>(p), worker, done), // affine motions
                _ => self.each(ByWeight::<T, 0>(p), worker, done),
            };
        };
        match p.block {
            (1, 1) => self.scalars(full, worker, done),
            // translations
            (3, 3) => self.each(Full::<T, Four, 3, 3>(full, PhantomData), worker, done),
            // from displacements to rigid-body modes
            (3, 6) => self.each(Full::<T, Eight, 3, 6>(full, PhantomData), worker, done),
            // rigid-body modes on all coarser levels
            (6, 6) => self.each(Full::<T, Eight, 6, 6>(full, PhantomData), worker, done),
            // from displacements to affine motions
            (3, 12) => self.each(Full::<T, Twelve, 3, 12>(full, PhantomData), worker, done),
            (12, 12) => self.each(Full::<T, Twelve, 12, 12>(full, PhantomData), worker, done),
            _ => self.each(Full::<T, Four, 0, 0>(full, PhantomData), worker, done),
        }
    }

    /// [`rows`](Self::rows) with the best instruction set of the machine.
    fn each(
        &self,
        loops: impl Loops<T>,
        worker: &mut Worker<T>,
        done: &mut dyn Done<T>,
    ) -> Result<(), SparseError> {
        simd::run(Rows { factors: *self, loops, worker, done })
    }

    /// [`run`](Self::run) with the given loops over numbers.
    #[inline(always)]
    fn rows<S: Set<T>>(
        &self,
        set: S,
        loops: impl Loops<T>,
        worker: &mut Worker<T>,
        done: &mut dyn Done<T>,
    ) -> Result<(), SparseError> {
        let [size, sum_size] = loops.sizes::<S>();
        let (restriction, source) = (self.transpose.pattern(), self.transpose.source());
        worker.clear_q(restriction.rows(), size);
        for coarse in worker.rows.clone() {
            let Worker { rows, sum, q, .. } = worker;
            let range = restriction.range(coarse);
            for at in range.clone() {
                let fine = restriction.indices()[at] as usize;
                if at + AHEAD < range.end {
                    q.prefetch(restriction.indices()[at + AHEAD] as usize, size);
                }
                if !q.has(fine) {
                    q.reserve(self.reach(fine), size)?;
                    loops.row_of_q(set, self.a, fine, &mut q.rows);
                    q.keep(fine, self.p.pattern.row(fine), rows);
                }
                let p = loops.of_p(source[at] as usize);
                let (columns, values) = q.take(fine, size);
                sum.reserve(columns.len(), sum_size)?;
                for (&column, q) in columns.iter().zip(values.chunks_exact(size)) {
                    loops.add_sum(set, p, q, sum.block(column, sum_size));
                }
            }
            let Worker { sum, turned, .. } = worker;
            loops.in_order(&mut sum.values[..sum.len * sum_size], turned);
            done.row(worker, coarse);
            worker.sum.clear(sum_size);
        }
        Ok(())
    }

    /// An upper bound for the number of blocks in row `fine` of Q. Also prefetches the rows of P for this row.
    #[inline(always)]
    fn reach(&self, fine: usize) -> usize {
        let (p, size) = (self.p.pattern, self.p.block.0 * self.p.block.1);
        let row = |&j: &u32| {
            let range = p.range(j as usize);
            if let (Form::Blocks(full), false) = (self.p.form, range.is_empty()) {
                simd::prefetch(&p.indices()[range.start]);
                simd::prefetch(&full.values()[range.start * size]);
            }
            range.len()
        };
        self.a.pattern().row(fine).iter().map(row).sum()
    }
}

/// [`Factors::rows`] as a kernel, compiled for several instruction sets.
struct Rows<'a, T, L> {
    factors: Factors<'a, T>,
    loops: L,
    worker: &'a mut Worker<T>,
    done: &'a mut dyn Done<T>,
}

impl<T: Real, L: Loops<T>> Kernel<T> for Rows<'_, T, L> {
    type Output = Result<(), SparseError>;

    #[inline(always)]
    fn run<S: Set<T>>(self, set: S) -> Self::Output {
        self.factors.rows(set, self.loops, self.worker, self.done)
    }
}

/// Full B x K blocks of P, with rows as long as a pack; 0 x 0 stands for any size.
struct Full<'a, T, W, const B: usize, const K: usize>(&'a Bsr<T>, PhantomData<W>);

impl<T: Real, W: Width, const B: usize, const K: usize> Full<'_, T, W, B, K> {
    /// b, k, and the stored length of a row.
    #[inline(always)]
    fn lengths<S: Set<T>>(&self) -> (usize, usize, usize) {
        let (b, k) = if B == 0 { self.0.block() } else { (B, K) };
        (b, k, if B == 0 { k } else { W::Pack::<T, S>::LANES })
    }
}

impl<T: Real, W: Width, const B: usize, const K: usize> Loops<T> for Full<'_, T, W, B, K> {
    #[inline(always)]
    fn sizes<S: Set<T>>(&self) -> [usize; 2] {
        let (b, k, w) = self.lengths::<S>();
        [b * w, k * w]
    }

    #[inline(always)]
    fn of_p(&self, at: usize) -> &[T] {
        self.0.value(at)
    }

    #[inline(always)]
    fn row_of_q<S: Set<T>>(&self, set: S, a: &Bsr<T>, fine: usize, q: &mut RowSums<T>) {
        let (b, k, w) = self.lengths::<S>();
        let (values, a, p) = (a.values(), a.pattern(), self.0.pattern());
        let blocks = values[a.range(fine).start * b * b..].chunks_exact(b * b);
        for (&j, a) in a.row(fine).iter().zip(blocks) {
            let range = p.range(j as usize);
            let blocks = self.0.values()[range.start * b * k..].chunks_exact(b * k);
            for (&column, p) in p.indices()[range].iter().zip(blocks) {
                let q = q.block(column, b * w);
                if B == 0 {
                    add((b, b, w), |y, x| a[y * b + x], |x| &p[x * w..(x + 1) * w], q);
                } else {
                    let right = |x| row::<T, W::Pack<T, S>, K>(set, p, x);
                    add_in_registers::<T, W::Pack<T, S>, B, B>(set, |y, x| a[y * B + x], right, q);
                }
            }
        }
    }

    #[inline(always)]
    fn add_sum<S: Set<T>>(&self, set: S, p: &[T], q: &[T], c: &mut [T]) {
        let (b, k, w) = self.lengths::<S>();
        let p = &p[..b * k];
        if B == 0 {
            add((k, b, w), |y, x| p[x * k + y], |x| &q[x * w..(x + 1) * w], c);
        } else {
            let right = |x| whole::<T, W::Pack<T, S>>(set, q, x);
            add_in_registers::<T, W::Pack<T, S>, K, B>(set, |y, x| p[x * K + y], right, c);
        }
    }
}
