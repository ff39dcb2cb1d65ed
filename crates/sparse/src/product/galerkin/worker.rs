//! One task of a Galerkin product: some coarse rows, from the rows of Q = A P that they need.

use std::ops::Range;

use coarsen_core::{Real, simd};

use crate::{Bsr, Pattern, TransposePlan};

/// Nowhere: no row is numbered so, since a pattern has at most 2³² − 1 of them.
pub(super) const NONE: u32 = u32::MAX;

/// A block of zeros, up to 6 rows of 8.
const ZEROS: [f64; 48] = [0.0; 48];

/// A task's share of the coarse rows, its scratch, and the rows it made last.
#[derive(Clone, Debug)]
pub(super) struct Worker<T> {
    /// The coarse rows.
    pub(super) rows: Range<usize>,
    /// What [`Factors::make`] made: where each coarse row ends, columns, values.
    pub(super) ends: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<T>,
    /// The place of a coarse column in the coarse row that is being summed, and in the row of Q.
    pub(super) place: Vec<u32>,
    pub(super) place_q: Vec<u32>,
    /// Where the row of Q of a fine row is kept.
    pub(super) kept: Vec<u32>,
    pub(super) q: Vec<Row<T>>,
    free: Vec<u32>,
    pub(super) row: Row<T>,
    order: Vec<u32>,
}

/// A block row in the order in which its columns appear, each row of a block padded with zeros to whole registers.
#[derive(Clone, Debug)]
pub(super) struct Row<T> {
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<T>,
}

impl<T: Real> Row<T> {
    fn new() -> Self {
        Self { columns: Vec::new(), values: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.columns.clear();
        self.values.clear();
    }

    /// The block of a column, new ones zero; `place` holds the places of all columns of this row.
    #[inline(always)]
    fn block(&mut self, place: &mut [u32], column: u32, size: usize) -> &mut [T] {
        let at = &mut place[column as usize];
        if *at == NONE {
            *at = self.columns.len() as u32;
            self.columns.push(column);
            match ZEROS.get(..size) {
                Some(zeros) => self.values.extend(zeros.iter().map(|&z| T::of(z))),
                None => self.values.resize(self.values.len() + size, T::zero()),
            }
        }
        let start = *at as usize * size;
        &mut self.values[start..start + size]
    }

    /// Forgets the places of its columns.
    pub(super) fn release(&self, place: &mut [u32]) {
        self.columns.iter().for_each(|&j| place[j as usize] = NONE);
    }
}

impl<T: Real> Worker<T> {
    /// For `(fine, coarse)` rows in all.
    pub(super) fn new(rows: Range<usize>, (fine, coarse): (usize, usize)) -> Self {
        Self {
            rows,
            ends: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
            place: vec![NONE; coarse],
            place_q: vec![NONE; coarse],
            kept: vec![NONE; fine],
            q: Vec::new(),
            free: Vec::new(),
            row: Row::new(),
            order: Vec::new(),
        }
    }
}

impl<T: Real> Worker<T> {
    /// An empty row of Q for row `fine`: its place in `q`.
    pub(super) fn keep(&mut self, fine: usize) -> usize {
        let kept = self.free.pop().unwrap_or_else(|| {
            self.q.push(Row::new());
            self.q.len() as u32 - 1
        });
        self.kept[fine] = kept;
        self.q[kept as usize].clear();
        kept as usize
    }

    /// Bytes of the scratch.
    pub(super) fn bytes(&self) -> usize {
        let row = |row: &Row<T>| row.columns.capacity() * 4 + row.values.capacity() * size_of::<T>();
        4 * (self.place.len() + self.place_q.len() + self.kept.len()) + self.q.iter().map(row).sum::<usize>()
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
    /// Takes `worker.row`, the coarse row `coarse`, and leaves it empty.
    fn row(&mut self, worker: &mut Worker<T>, coarse: usize);
}

/// Keeps rows with their columns sorted.
struct Make {
    k: usize,
    width: usize,
}

impl<T: Real> Done<T> for Make {
    fn row(&mut self, worker: &mut Worker<T>, _: usize) {
        let (row, k, width) = (&worker.row, self.k, self.width);
        worker.order.clear();
        worker.order.extend(0..row.columns.len() as u32);
        worker.order.sort_unstable_by_key(|&at| row.columns[at as usize]);
        for &at in &worker.order {
            worker.columns.push(row.columns[at as usize]);
            let block = row.values[at as usize * k * width..].chunks_exact(width).take(k);
            block.for_each(|row| worker.values.extend_from_slice(&row[..k]));
        }
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
            let at = worker.place[column as usize] as usize;
            let padded = worker.row.values[at * k * width..].chunks_exact(width);
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

    /// Sums every coarse row of the worker into its `row`, by the best instructions of this machine.
    fn run<D: Done<T>>(&self, worker: &mut Worker<T>, done: &mut D) {
        // The order in which they were made, so that every run gives each row of Q the room that it had in the last.
        worker.free.clear();
        worker.free.extend((0..worker.q.len() as u32).rev());
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
        let end = worker.rows.end;
        for coarse in worker.rows.clone() {
            for at in restriction.range(coarse) {
                let fine = restriction.indices()[at] as usize;
                if worker.kept[fine] == NONE {
                    self.make_q::<B, K, W>(worker, fine);
                }
                let kept = worker.kept[fine];
                let q = &worker.q[kept as usize];
                let p = &self.p.value(source[at])[..b * k];
                for (&column, q) in q.columns.iter().zip(q.values.chunks_exact(b * w)) {
                    let c = worker.row.block(&mut worker.place, column, k * w);
                    if B == 0 {
                        add((k, b, w), |y, x| p[x * k + y], |x| &q[x * w..(x + 1) * w], c);
                    } else {
                        let q = rows_of::<T, B, W, W>(q);
                        add_in_registers::<T, K, B, W>(|y, x| p[x * K + y], &q, c);
                    }
                }
                self.drop_after(worker, fine, coarse, end);
            }
            done.row(worker, coarse);
            worker.row.release(&mut worker.place);
            worker.row.clear();
        }
    }

    /// Drops row `fine` of Q if `coarse` is the last row before `end` that asks for it.
    #[inline(always)]
    pub(super) fn drop_after(&self, worker: &mut Worker<T>, fine: usize, coarse: usize, end: usize) {
        let last = self.p.pattern().row(fine).iter().rfind(|&&j| (j as usize) < end);
        if last == Some(&(coarse as u32)) {
            worker.free.push(worker.kept[fine]);
            worker.kept[fine] = NONE;
        }
    }

    /// Row `fine` of Q = A P.
    #[inline(always)]
    fn make_q<const B: usize, const K: usize, const W: usize>(&self, worker: &mut Worker<T>, fine: usize) {
        let (b, k) = if B == 0 { self.p.block() } else { (B, K) };
        let w = if B == 0 { k } else { W };
        let kept = worker.keep(fine);
        let q = &mut worker.q[kept];
        for (j, a) in self.a.row(fine) {
            let a = &a[..b * b];
            for (column, p) in self.p.row(j) {
                let q = q.block(&mut worker.place_q, column as u32, b * w);
                if B == 0 {
                    add((b, b, w), |y, x| a[y * b + x], |x| &p[x * w..(x + 1) * w], q);
                } else {
                    let p = rows_of::<T, B, K, W>(p);
                    add_in_registers::<T, B, B, W>(|y, x| a[y * B + x], &p, q);
                }
            }
        }
        q.release(&mut worker.place_q);
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
