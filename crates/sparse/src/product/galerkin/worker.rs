//! One task of a Galerkin product: some coarse rows, from the rows of Q = A P that they need.

use std::ops::Range;

use coarsen_core::{Real, simd};

use super::rows::{Kept, Rows};
use crate::{Bsr, Pattern, TransposePlan};

/// How many rows of Q ahead of their use their fetch begins.
pub(super) const AHEAD: usize = 3;

/// A task's share of the coarse rows, its scratch, and the rows it made last.
#[derive(Clone, Debug)]
pub(super) struct Worker<T> {
    /// The coarse rows.
    pub(super) rows: Range<usize>,
    /// What [`Factors::make`] made: where each coarse row ends, columns, values.
    pub(super) ends: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<T>,
    /// The coarse row that is being summed.
    pub(super) sum: Rows<T>,
    /// The rows of Q that are kept.
    pub(super) q: Kept<T>,
    order: Vec<u32>,
}

impl<T: Real> Worker<T> {
    /// For some coarse rows of `restriction`, Pᵀ.
    pub(super) fn new(rows: Range<usize>, restriction: &Pattern) -> Self {
        let coarse = restriction.rows();
        let ends = |row: &[u32]| Some((*row.first()? as usize, *row.last()? as usize + 1));
        let asked = rows.clone().filter_map(|row| ends(restriction.row(row)));
        let fine = asked.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).map_or(0..0, |(first, end)| first..end);
        Self {
            rows,
            ends: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
            sum: Rows::new(coarse),
            q: Kept::new(fine, coarse),
            order: Vec::new(),
        }
    }

    /// Bytes of the scratch.
    pub(super) fn bytes(&self) -> usize {
        self.sum.bytes() + self.q.bytes() + 4 * self.order.capacity()
    }
}

/// A, P and the way from coarse to fine rows.
pub(super) struct Factors<'a, T> {
    pub(super) a: &'a Bsr<T>,
    pub(super) p: &'a Bsr<T>,
    pub(super) transpose: &'a TransposePlan,
}

/// What becomes of a coarse row.
pub(super) trait Done<T> {
    /// Takes `worker.sum`, the coarse row `coarse`.
    fn row(&mut self, worker: &mut Worker<T>, coarse: usize);
}

/// Keeps rows with their columns sorted.
struct Make {
    k: usize,
    width: usize,
}

impl<T: Real> Done<T> for Make {
    fn row(&mut self, worker: &mut Worker<T>, _: usize) {
        let (k, width) = (self.k, self.width);
        worker.order.clear();
        worker.order.extend_from_slice(worker.sum.columns());
        worker.order.sort_unstable();
        for &column in &worker.order {
            let block = worker.sum.of(column, k * width);
            block.chunks_exact(width).for_each(|row| worker.values.extend_from_slice(&row[..k]));
        }
        worker.columns.extend_from_slice(&worker.order);
        worker.ends.push(worker.columns.len());
    }
}

/// Writes values to where the pattern wants them.
struct Refill<'a, T> {
    k: usize,
    width: usize,
    pattern: &'a Pattern,
    rest: &'a mut [T],
}

impl<T: Real> Done<T> for Refill<'_, T> {
    fn row(&mut self, worker: &mut Worker<T>, coarse: usize) {
        let (columns, k, width) = (self.pattern.row(coarse), self.k, self.width);
        let (row, tail) = std::mem::take(&mut self.rest).split_at_mut(columns.len() * k * k);
        for (&column, block) in columns.iter().zip(row.chunks_exact_mut(k * k)) {
            let padded = worker.sum.of(column, k * width).chunks_exact(width);
            block.chunks_exact_mut(k).zip(padded).for_each(|(row, padded)| row.copy_from_slice(&padded[..k]));
        }
        self.rest = tail;
    }
}

impl<T: Real> Factors<'_, T> {
    /// The worker's rows of A_c, pattern and values, columns sorted.
    pub(super) fn make(&self, worker: &mut Worker<T>) {
        let (block, k) = (self.p.block(), self.p.block().1);
        self.run(worker, &mut Make { k, width: width(block) });
    }

    /// The worker's values of A_c on the pattern that [`make`](Self::make) found.
    pub(super) fn refill(&self, worker: &mut Worker<T>, pattern: &Pattern, values: &mut [T]) {
        let (block, k) = (self.p.block(), self.p.block().1);
        self.run(worker, &mut Refill { k, width: width(block), pattern, rest: values });
    }

    /// Sums every coarse row of the worker into its `sum`, by the best instructions of this machine.
    fn run<D: Done<T>>(&self, worker: &mut Worker<T>, done: &mut D) {
        let factors = self;
        match self.p.block() {
            (1, 1) => self.scalars(worker, done),
            (3, 3) => simd::run(Run::<T, D, 3, 3, 4> { factors, worker, done }), // translations
            (3, 6) => simd::run(Run::<T, D, 3, 6, 8> { factors, worker, done }), // displacements to rigid-body modes
            (6, 6) => simd::run(Run::<T, D, 6, 6, 8> { factors, worker, done }), // rigid-body modes on all coarser levels
            _ => simd::run(Run::<T, D, 0, 0, 0> { factors, worker, done }),
        }
    }

    /// [`run`](Self::run) for blocks of P of B x K in rows of W, or of any size for 0 x 0.
    #[inline(always)]
    fn rows<const B: usize, const K: usize, const W: usize>(
        &self,
        worker: &mut Worker<T>,
        done: &mut impl Done<T>,
    ) {
        let (b, k) = if B == 0 { self.p.block() } else { (B, K) };
        let w = if B == 0 { k } else { W };
        let (restriction, source) = (self.transpose.pattern(), self.transpose.source());
        worker.q.clear(b * w);
        for coarse in worker.rows.clone() {
            let Worker { rows, sum, q, .. } = worker;
            let range = restriction.range(coarse);
            for at in range.clone() {
                let fine = restriction.indices()[at] as usize;
                if at + AHEAD < range.end {
                    q.prefetch(restriction.indices()[at + AHEAD] as usize, b * w);
                }
                if !q.has(fine) {
                    self.make_q::<B, K, W>(q, fine, rows);
                }
                let p = &self.p.value(source[at])[..b * k];
                let (columns, values) = q.take(fine, b * w);
                sum.room(columns.len(), k * w);
                for (&column, q) in columns.iter().zip(values.chunks_exact(b * w)) {
                    let c = sum.block(column, k * w);
                    if B == 0 {
                        add((k, b, w), |y, x| p[x * k + y], |x| &q[x * w..(x + 1) * w], c);
                    } else {
                        let q = rows_of::<T, B, W, W>(q);
                        add_in_registers::<T, K, B, W>(|y, x| p[x * K + y], &q, c);
                    }
                }
            }
            done.row(worker, coarse);
            worker.sum.clear(k * w);
        }
    }

    /// The most blocks that row `fine` of Q may have; fetches the rows of P that it is made of.
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

    /// Row `fine` of Q = A P.
    #[inline(always)]
    fn make_q<const B: usize, const K: usize, const W: usize>(
        &self,
        q: &mut Kept<T>,
        fine: usize,
        rows: &Range<usize>,
    ) {
        let (b, k) = if B == 0 { self.p.block() } else { (B, K) };
        let w = if B == 0 { k } else { W };
        q.room(self.reach(fine), b * w);
        for (j, a) in self.a.row(fine) {
            let a = &a[..b * b];
            for (column, p) in self.p.row(j) {
                let q = q.rows.block(column as u32, b * w);
                if B == 0 {
                    add((b, b, w), |y, x| a[y * b + x], |x| &p[x * w..(x + 1) * w], q);
                } else {
                    let p = rows_of::<T, B, K, W>(p);
                    add_in_registers::<T, B, B, W>(|y, x| a[y * B + x], &p, q);
                }
            }
        }
        q.keep(fine, self.p.pattern().row(fine), rows);
    }
}

/// The rows of a B x K block, padded with zeros to W numbers each.
#[inline(always)]
fn rows_of<T: Real, const B: usize, const K: usize, const W: usize>(block: &[T]) -> [[T; W]; B] {
    let block = &block[..B * K];
    std::array::from_fn(|x| std::array::from_fn(|l| if l < K { block[x * K + l] } else { T::zero() }))
}

/// C += L R with L of Y x X and the rows of R and C of W numbers; C is read and written once.
#[inline(always)]
fn add_in_registers<T: Real, const Y: usize, const X: usize, const W: usize>(
    left: impl Fn(usize, usize) -> T,
    right: &[[T; W]; X],
    c: &mut [T],
) {
    let mut sums = rows_of::<T, Y, W, W>(c);
    for (x, right) in right.iter().enumerate() {
        for (y, sum) in sums.iter_mut().enumerate() {
            let l = left(y, x);
            (0..W).for_each(|w| sum[w] += l * right[w]);
        }
    }
    c[..Y * W].as_chunks_mut::<W>().0.iter_mut().zip(&sums).for_each(|(c, sum)| *c = *sum);
}

/// C += L R for any Y, X and W.
#[inline(always)]
fn add<'r, T: Real>(
    (y, x, w): (usize, usize, usize),
    left: impl Fn(usize, usize) -> T,
    right: impl Fn(usize) -> &'r [T],
    c: &mut [T],
) {
    for (y, c) in c.chunks_exact_mut(w).take(y).enumerate() {
        for x in 0..x {
            let l = left(y, x);
            c.iter_mut().zip(right(x)).for_each(|(c, &r)| *c += l * r);
        }
    }
}

/// Numbers in which a row of a block is kept: whole registers for the blocks of P that have kernels.
fn width(block: (usize, usize)) -> usize {
    match block {
        (3, 3) => 4,
        (3 | 6, 6) => 8,
        (_, k) => k,
    }
}

/// [`Factors::rows`] as something that can be compiled for several instruction sets.
struct Run<'a, T, D, const B: usize, const K: usize, const W: usize> {
    factors: &'a Factors<'a, T>,
    worker: &'a mut Worker<T>,
    done: &'a mut D,
}

impl<T: Real, D: Done<T>, const B: usize, const K: usize, const W: usize> simd::Kernel<T>
    for Run<'_, T, D, B, K, W>
{
    type Output = ();

    #[inline(always)]
    fn run<S: simd::Set<T>>(self, _: S) {
        self.factors.rows::<B, K, W>(self.worker, self.done);
    }
}
