//! One task of a Galerkin product: a range of coarse rows, computed from rows of Q = A P.

use std::marker::PhantomData;
use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::simd::{self, Pack, Set};

use super::blocks::{Eight, Four, Twelve, Width, add, add_in_registers, row, whole, width};
use super::kept::Kept;
use super::scalars::Tables;
use crate::product::sums::RowSums;
use crate::{Bsr, Pattern, SparseError, TransposePlan};

/// How many rows ahead rows of Q are prefetched.
pub(super) const AHEAD: usize = 3;

/// The coarse rows of a task, its scratch memory, and its last results.
#[derive(Clone, Debug)]
pub(super) struct Worker<T> {
    /// The coarse rows.
    pub(super) rows: Range<usize>,
    /// The rows of A from the first to the last that the coarse rows need.
    pub(super) fine: Range<usize>,
    /// The result of [`Factors::make`]: the end of each coarse row, then columns and values.
    pub(super) ends: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<T>,
    /// The coarse row being summed.
    pub(super) sum: RowSums<T>,
    /// The stored rows of Q; empty for scalars.
    pub(super) q: Kept<T>,
    /// The coarse rows being summed, for scalars.
    pub(super) tables: Tables<T>,
    order: Vec<u32>,
    /// The rows of a coarse block while they are reordered; empty unless P is stored as weights.
    pub(super) turned: Vec<T>,
}

/// The rows of A from the first to the last that some coarse rows need.
pub(super) fn fine_rows(rows: &Range<usize>, restriction: &Pattern) -> Range<usize> {
    let ends = |row: &[u32]| Some((*row.first()? as usize, *row.last()? as usize + 1));
    let asked = rows.clone().filter_map(|row| ends(restriction.row(row)));
    asked.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).map_or(0..0, |(first, end)| first..end)
}

/// The bytes of a worker without rows of Q.
pub(super) fn least_bytes(fine: usize, coarse: usize) -> usize {
    12 * fine + 8 * coarse
}

impl<T: Real> Worker<T> {
    /// A worker for the coarse rows `rows`; `restriction` is the pattern of Pᵀ, and `scalars` tells that P has 1 x 1 blocks.
    pub(super) fn new(rows: Range<usize>, restriction: &Pattern, scalars: bool) -> Self {
        let (fine, coarse) = (fine_rows(&rows, restriction), restriction.rows());
        Self {
            q: if scalars { Kept::new(0..0, 0) } else { Kept::new(fine.clone(), coarse) },
            tables: Tables::new(if scalars { rows.len() } else { 0 }),
            fine,
            rows,
            ends: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
            sum: RowSums::new(coarse),
            order: Vec::new(),
            turned: Vec::new(),
        }
    }

    /// Drops all stored rows of Q. For 1 x 1 blocks that are not stored, the first call makes the storage.
    pub(super) fn clear_q(&mut self, columns: usize, size: usize) {
        if !self.q.is_for(&self.fine) {
            self.q = Kept::new(self.fine.clone(), columns);
        }
        self.q.clear(size);
    }

    /// The number of bytes of scratch.
    pub(super) fn bytes(&self) -> usize {
        self.sum.bytes()
            + self.q.bytes()
            + self.tables.bytes()
            + 4 * self.order.capacity()
            + size_of::<T>() * self.turned.capacity()
    }
}

/// A, P and the transpose plan that maps coarse rows to fine rows.
pub(super) struct Factors<'a, T> {
    pub(super) a: &'a Bsr<T>,
    pub(super) p: &'a Bsr<T>,
    pub(super) transpose: &'a TransposePlan,
}

/// The output of a coarse row. It is called through `dyn` once per row, so that each kernel is compiled once.
pub(super) trait Done<T> {
    /// Receives coarse row `coarse` in `worker.sum`.
    fn row(&mut self, worker: &mut Worker<T>, coarse: usize);
}

/// Stores rows with sorted columns.
pub(super) struct Make {
    pub(super) k: usize,
    pub(super) width: usize,
}

impl<T: Real> Done<T> for Make {
    fn row(&mut self, worker: &mut Worker<T>, _: usize) {
        let (k, width) = (self.k, self.width);
        worker.order.clear();
        worker.order.extend_from_slice(worker.sum.columns());
        worker.order.sort_unstable();
        if k == 1 {
            let sum = &worker.sum;
            worker.values.extend(worker.order.iter().map(|&column| sum.of(column, 1)[0]));
        } else {
            for &column in &worker.order {
                let block = worker.sum.of(column, k * width);
                block.chunks_exact(width).for_each(|row| worker.values.extend_from_slice(&row[..k]));
            }
        }
        worker.columns.extend_from_slice(&worker.order);
        worker.ends.push(worker.columns.len());
    }
}

/// Writes values in the order of an existing pattern.
pub(super) struct Refill<'a, T> {
    pub(super) k: usize,
    pub(super) width: usize,
    pub(super) pattern: &'a Pattern,
    pub(super) rest: &'a mut [T],
}

impl<T: Real> Done<T> for Refill<'_, T> {
    fn row(&mut self, worker: &mut Worker<T>, coarse: usize) {
        let (columns, k, width) = (self.pattern.row(coarse), self.k, self.width);
        let (row, tail) = std::mem::take(&mut self.rest).split_at_mut(columns.len() * k * k);
        self.rest = tail;
        if k == 1 {
            return row.iter_mut().zip(columns).for_each(|(v, &column)| *v = worker.sum.of(column, 1)[0]);
        }
        for (&column, block) in columns.iter().zip(row.chunks_exact_mut(k * k)) {
            let padded = worker.sum.of(column, k * width).chunks_exact(width);
            block.chunks_exact_mut(k).zip(padded).for_each(|(row, padded)| row.copy_from_slice(&padded[..k]));
        }
    }
}

impl<T: Real> Factors<'_, T> {
    /// Computes the pattern and the values of the worker's rows of A_c, with sorted columns.
    pub(super) fn make(&self, worker: &mut Worker<T>) -> Result<(), SparseError> {
        let (block, k) = (self.p.block(), self.p.block().1);
        self.run(worker, &mut Make { k, width: width(block) })
    }

    /// Computes the values of the worker's rows of A_c on the pattern from [`make`](Self::make).
    pub(super) fn refill(
        &self,
        worker: &mut Worker<T>,
        pattern: &Pattern,
        values: &mut [T],
    ) -> Result<(), SparseError> {
        let (block, k) = (self.p.block(), self.p.block().1);
        self.run(worker, &mut Refill { k, width: width(block), pattern, rest: values })
    }

    /// Sums each coarse row of the worker into `worker.sum`, with the best instruction set of the machine.
    fn run(&self, worker: &mut Worker<T>, done: &mut dyn Done<T>) -> Result<(), SparseError> {
        let factors = self;
        match self.p.block() {
            (1, 1) => self.scalars(worker, done),
            // translations
            (3, 3) => simd::run(FactorRows::<T, Four, 3, 3> { factors, worker, done, width: PhantomData }),
            // from displacements to rigid-body modes
            (3, 6) => simd::run(FactorRows::<T, Eight, 3, 6> { factors, worker, done, width: PhantomData }),
            // rigid-body modes on all coarser levels
            (6, 6) => simd::run(FactorRows::<T, Eight, 6, 6> { factors, worker, done, width: PhantomData }),
            // from displacements to affine motions
            (3, 12) => {
                simd::run(FactorRows::<T, Twelve, 3, 12> { factors, worker, done, width: PhantomData })
            }
            (12, 12) => {
                simd::run(FactorRows::<T, Twelve, 12, 12> { factors, worker, done, width: PhantomData })
            }
            _ => simd::run(FactorRows::<T, Four, 0, 0> { factors, worker, done, width: PhantomData }),
        }
    }

    /// [`run`](Self::run) for B x K blocks of P, with rows as long as a pack; 0 x 0 stands for any size.
    #[inline(always)]
    fn rows<R: Pack<T>, const B: usize, const K: usize>(
        &self,
        set: R::Set,
        worker: &mut Worker<T>,
        done: &mut dyn Done<T>,
    ) -> Result<(), SparseError> {
        let (b, k) = if B == 0 { self.p.block() } else { (B, K) };
        let w = if B == 0 { k } else { R::LANES };
        let (restriction, source) = (self.transpose.pattern(), self.transpose.source());
        worker.clear_q(restriction.rows(), b * w);
        for coarse in worker.rows.clone() {
            let Worker { rows, sum, q, .. } = worker;
            let range = restriction.range(coarse);
            for at in range.clone() {
                let fine = restriction.indices()[at] as usize;
                if at + AHEAD < range.end {
                    q.prefetch(restriction.indices()[at + AHEAD] as usize, b * w);
                }
                if !q.has(fine) {
                    self.make_q::<R, B, K>(set, q, fine, rows)?;
                }
                let p = &self.p.value(source[at])[..b * k];
                let (columns, values) = q.take(fine, b * w);
                sum.room(columns.len(), k * w)?;
                for (&column, q) in columns.iter().zip(values.chunks_exact(b * w)) {
                    let c = sum.block(column, k * w);
                    if B == 0 {
                        add((k, b, w), |y, x| p[x * k + y], |x| &q[x * w..(x + 1) * w], c);
                    } else {
                        let right = |x| whole::<T, R>(set, q, x);
                        add_in_registers::<T, R, K, B>(set, |y, x| p[x * K + y], right, c);
                    }
                }
            }
            done.row(worker, coarse);
            worker.sum.clear(k * w);
        }
        Ok(())
    }

    /// An upper bound for the number of blocks in row `fine` of Q. Also prefetches the rows of P for this
    /// row.
    #[inline(always)]
    pub(super) fn reach(&self, fine: usize) -> usize {
        let (p, size) = (self.p.pattern(), self.p.block().0 * self.p.block().1);
        let row = |&j: &u32| {
            let range = p.range(j as usize);
            if !range.is_empty() {
                simd::prefetch(&p.indices()[range.start]);
                simd::prefetch(&self.p.values()[range.start * size]);
            }
            range.len()
        };
        self.a.pattern().row(fine).iter().map(row).sum()
    }

    /// Computes row `fine` of Q = A P.
    #[inline(always)]
    fn make_q<R: Pack<T>, const B: usize, const K: usize>(
        &self,
        set: R::Set,
        q: &mut Kept<T>,
        fine: usize,
        rows: &Range<usize>,
    ) -> Result<(), SparseError> {
        let (b, k) = if B == 0 { self.p.block() } else { (B, K) };
        let w = if B == 0 { k } else { R::LANES };
        q.room(self.reach(fine), b * w)?;
        let (a, p) = (self.a.pattern(), self.p.pattern());
        let blocks = self.a.values()[a.range(fine).start * b * b..].chunks_exact(b * b);
        for (&j, a) in a.row(fine).iter().zip(blocks) {
            let range = p.range(j as usize);
            let blocks = self.p.values()[range.start * b * k..].chunks_exact(b * k);
            for (&column, p) in p.indices()[range].iter().zip(blocks) {
                let q = q.rows.block(column, b * w);
                if B == 0 {
                    add((b, b, w), |y, x| a[y * b + x], |x| &p[x * w..(x + 1) * w], q);
                } else {
                    let right = |x| row::<T, R, K>(set, p, x);
                    add_in_registers::<T, R, B, B>(set, |y, x| a[y * B + x], right, q);
                }
            }
        }
        q.keep(fine, p.row(fine), rows);
        Ok(())
    }
}

/// [`Factors::rows`] as a kernel, compiled for several instruction sets.
struct FactorRows<'a, T, W, const B: usize, const K: usize> {
    factors: &'a Factors<'a, T>,
    worker: &'a mut Worker<T>,
    done: &'a mut dyn Done<T>,
    width: PhantomData<W>,
}

impl<T: Real, W: Width, const B: usize, const K: usize> simd::Kernel<T> for FactorRows<'_, T, W, B, K> {
    type Output = Result<(), SparseError>;

    #[inline(always)]
    fn run<S: Set<T>>(self, set: S) -> Self::Output {
        self.factors.rows::<W::Pack<T, S>, B, K>(set, self.worker, self.done)
    }
}
