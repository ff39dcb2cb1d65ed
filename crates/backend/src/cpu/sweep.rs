//! Relaxation in place over coloured chunks.

use std::ops::Range;

use coarsen_core::parallel::{self, Shared, items};
use coarsen_core::simd::{self, Kernel, Pack, Set, Twelve};
use coarsen_core::small_dense::Scratch;
use coarsen_core::{Real, compiled};
use coarsen_sparse::{Bsr, row_product};

use crate::{RowSets, SweepDirection};

/// One sweep over whole rows.
pub(super) struct RowSweep<'a, V, S> {
    pub(super) a: &'a Bsr<S>,
    /// The inverses of the diagonal blocks.
    pub(super) d: &'a [S],
    pub(super) omega: V,
    pub(super) b: &'a [V],
    pub(super) sweep: SweepDirection,
}

impl<V: Real, S: Real> RowSweep<'_, V, S> {
    /// Runs the sweep over all sets. The caller has checked that `rows` belong to the pattern of A, that A is
    /// square, and that b, d and x fit A.
    pub(super) fn run(&self, rows: &RowSets, x: &mut [V]) {
        RUN.of::<RowSweepRun<V, S>>()(self, rows, x);
    }

    #[inline(always)]
    fn ordered(&self, rows: Range<usize>, f: impl FnMut(usize)) {
        match self.sweep {
            SweepDirection::Forward => rows.for_each(f),
            SweepDirection::Backward => rows.rev().for_each(f),
        }
    }
}

compiled!(RUN: RowSweepRun<V, S> where S <= V = fn(&RowSweep<'_, V, S>, &RowSets, &mut [V]), run);

fn run<V: Real, S: Real>(of: &RowSweep<'_, V, S>, rows: &RowSets, x: &mut [V]) {
    let (parallel, x) = (parallel::worth_product(of.a.nnz()), Shared::new(x));
    let set = |set: &Vec<Range<usize>>| {
        // Chunks of one set write their own rows of x and read no other row of the set.
        items(set, parallel, &|rows| simd::run(Chunk { of, rows: rows.clone(), x }));
    };
    match of.sweep {
        SweepDirection::Forward => rows.sets().iter().for_each(set),
        SweepDirection::Backward => rows.sets().iter().rev().for_each(set),
    }
}

/// One chunk of a sweep.
struct Chunk<'a, V, S> {
    of: &'a RowSweep<'a, V, S>,
    rows: Range<usize>,
    x: Shared<'a, V>,
}

impl<V: Real, S: Real> Kernel<V> for Chunk<'_, V, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match self.of.a.block().0 {
            1 => self.scalars(set),
            2 => self.rows::<I, I::Four, 2>(set),
            3 => self.rows::<I, I::Four, 3>(set),
            6 => self.rows::<I, I::Eight, 6>(set),
            12 => self.rows::<I, Twelve<V, I::Eight, I::Four>, 12>(set),
            _ => self.of.rows_any(self.rows, self.x),
        }
    }
}

impl<V: Real, S: Real> Chunk<'_, V, S> {
    /// Computes x_i += ω D_i (b − A x)_i for the rows of a chunk, in the order of the sweep.
    #[inline(always)]
    fn rows<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        for k in 0..self.rows.len() {
            // Not an iterator: its closure would be compiled as a separate function, without the instructions
            // of the set.
            let i = match self.of.sweep {
                SweepDirection::Forward => self.rows.start + k,
                SweepDirection::Backward => self.rows.end - 1 - k,
            };
            self.row::<I, P, B>(set, i);
        }
    }

    /// As [`rows`](Self::rows), for 1x1 blocks. In a plain loop each row would wait for the new x of the
    /// previous row k, usually its neighbour. This wait would take longer than the sum of the row.
    ///
    /// So the sum uses the old xₖ, and the change δₖ is added later: δᵢ = ω dᵢ (bᵢ − Σⱼ aᵢⱼ xⱼ) − ω dᵢ aᵢₖ
    /// δₖ. Only one multiplication and one addition then wait for row k. Column k is searched where the
    /// previous row was found last, and next to it. If it is not found, x is updated before the sum.
    #[inline(always)]
    fn scalars<I: Set<V>>(&self, set: I) {
        let RowSweep { a, d, omega, b, sweep } = *self.of;
        let x = self.x.get();
        let (mut guess, mut delta, mut pending) = (0, V::zero(), V::zero());
        for k in 0..self.rows.len() {
            let (i, before) = match sweep {
                SweepDirection::Forward => (self.rows.start + k, (self.rows.start + k).wrapping_sub(1)),
                SweepDirection::Backward => (self.rows.end - 1 - k, self.rows.end - k),
            };
            let entries = a.pattern().range(i);
            let columns = &a.pattern().indices()[entries.clone()];
            let is = |at: usize| columns.get(at).is_some_and(|&j| j as usize == before);
            let found = if is(guess) {
                true
            } else if is(guess + 1) {
                guess += 1;
                true
            } else if is(guess.wrapping_sub(1)) {
                guess -= 1;
                true
            } else {
                // The usual position of the previous row in a symmetric pattern.
                guess = match sweep {
                    SweepDirection::Forward => (columns.len() / 2).saturating_sub(1),
                    SweepDirection::Backward => columns.len() / 2 + 1,
                };
                false
            };
            let near = found && k > 0;
            // SAFETY: as in `row`; `before` is a row of this chunk if k > 0.
            unsafe {
                if k > 0 && !near {
                    *x.add(before) = pending;
                }
                let values = a.values().as_ptr().add(entries.start);
                let [sum] = row_product::<V, S, I, I::Four, 1, 1, false>(set, values, columns, x);
                let (old, w) = (*x.add(i), omega * d[i].to());
                let step = w * (b[i] - sum);
                delta = if near {
                    *x.add(before) = pending;
                    set.mul_add(-(w * a.values()[entries.start + guess].to()), delta, step)
                } else {
                    step
                };
                pending = old + delta;
            }
        }
        let last = match sweep {
            SweepDirection::Forward => self.rows.end.wrapping_sub(1),
            SweepDirection::Backward => self.rows.start,
        };
        if !self.rows.is_empty() {
            // SAFETY: `last` is a row of this chunk.
            unsafe { *x.add(last) = pending };
        }
    }

    #[inline(always)]
    fn row<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I, i: usize) {
        let RowSweep { a, d, omega, b, .. } = *self.of;
        let blocks = a.pattern().range(i);
        let columns = &a.pattern().indices()[blocks.clone()];
        // SAFETY: every column is below the number of block rows (Pattern::new; A is square) and x has as
        // many blocks of B; values has B² numbers per block (Bsr::new). The rows of x that are read belong to
        // this chunk, which only this call writes, or to another set, which is not written now: chunks of one
        // set are not coupled (RowSets::chunked, for this very pattern). Nothing is read beyond a block of x.
        let sums = unsafe {
            let values = a.values().as_ptr().add(blocks.start * B * B);
            row_product::<V, S, I, P, B, B, false>(set, values, columns, self.x.get())
        };
        let (d, b) = (&d[i * B * B..(i + 1) * B * B], &b[i * B..(i + 1) * B]);
        for k in 0..B {
            let mut step = V::zero();
            for c in 0..B {
                step = set.mul_add(d[k * B + c].to(), b[c] - sums[c], step);
            }
            // SAFETY: i is a row of this chunk, see above.
            unsafe {
                *self.x.get().add(i * B + k) += omega * step;
            }
        }
    }
}

impl<V: Real, S: Real> RowSweep<'_, V, S> {
    /// As [`Chunk::rows`], for any block size; the residual of a row is on the stack for blocks up to
    /// 12.
    fn rows_any(&self, rows: Range<usize>, x: Shared<'_, V>) {
        let size = self.a.block().0;
        let mut memory = Scratch::<V, 12>::new(size);
        let r = memory.values();
        self.ordered(rows, |i| {
            r.copy_from_slice(&self.b[i * size..(i + 1) * size]);
            for (j, block) in self.a.row(i) {
                for (r, row) in r.iter_mut().zip(block.chunks_exact(size)) {
                    for (c, v) in row.iter().enumerate() {
                        // SAFETY: as in `row`.
                        *r -= v.to::<V>() * unsafe { *x.get().add(j * size + c) };
                    }
                }
            }
            for (k, row) in self.d[i * size * size..(i + 1) * size * size].chunks_exact(size).enumerate() {
                let step = row.iter().zip(&*r).fold(V::zero(), |s, (d, &r)| s + d.to::<V>() * r);
                // SAFETY: as in `row`.
                unsafe { *x.get().add(i * size + k) += self.omega * step };
            }
        });
    }
}
