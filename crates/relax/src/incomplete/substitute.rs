//! z = (D + U)⁻¹ (L + I)⁻¹ r, stage by stage.
//!
//! | symbol | here |
//! |---|---|
//! | y | `y`: (L + I)⁻¹ r in the order of elimination, then overwritten by z |
//! | Lᵢⱼ, j < i, Uᵢⱼ, j > i | the blocks of row i before and after its diagonal block |
//! | Dᵢ⁻¹ | `pivots` |
//!
//! A row depends on the previous row, which is usually its neighbour. So all other terms are summed first,
//! and the previous row is kept in registers. Only one product with a block then waits for the previous row,
//! and the processor overlaps all other work of consecutive rows.
//!
//! *Traffic* one pass over L, U, D, r and z, and three passes over y. *Reference* Saad 2003, §10.3.

use coarsen_core::parallel::{self, Shared, items};
use coarsen_core::simd::{self, Kernel, Pack, Set};
use coarsen_core::small_dense::Scratch;
use coarsen_core::{Real, compiled};
use coarsen_sparse::{Bsr, row_product};

use super::Order;
use super::order::Chunk;

/// The data of a substitution.
#[derive(Clone, Copy)]
pub(super) struct Substitution<'a, V, S> {
    lu: &'a Bsr<S>,
    pivots: &'a [S],
    order: &'a Order,
    r: &'a [V],
    y: Shared<'a, V>,
    z: Shared<'a, V>,
}

impl<'a, V: Real, S: Real> Substitution<'a, V, S> {
    /// Solves with L and U. `y` is scratch of the length of r, or empty if the order is natural and z serves
    /// as y.
    ///
    /// *Panics* on a wrong length.
    pub(super) fn run(
        lu: &'a Bsr<S>,
        pivots: &'a [S],
        order: &'a Order,
        r: &'a [V],
        y: &mut [V],
        z: &mut [V],
    ) {
        let (n, b) = (lu.shape().0, lu.block().0);
        let scratch = if order.is_natural() { 0 } else { n };
        assert!(r.len() == n && y.len() == scratch && z.len() == n && pivots.len() == n * b);
        RUN.of::<Substitute<V, S>>()(lu, pivots, order, r, y, z);
    }

    fn substitute(lu: &Bsr<S>, pivots: &[S], order: &Order, r: &[V], y: &mut [V], z: &mut [V]) {
        let z = Shared::new(z);
        let y = if order.is_natural() { z } else { Shared::new(y) };
        let this = Substitution { lu, pivots, order, r, y, z };
        let parallel = parallel::worth_product(lu.nnz());
        for stage in order.stages() {
            items(stage, parallel, &|chunk| simd::run(Half { of: this, chunk, forward: true }));
        }
        for stage in order.stages().iter().rev() {
            items(stage, parallel, &|chunk| simd::run(Half { of: this, chunk, forward: false }));
        }
    }
}

compiled!(RUN: Substitute<V, S> = fn(&Bsr<S>, &[S], &Order, &[V], &mut [V], &mut [V]), Substitution::substitute);

/// The solution with L or with U for one chunk.
struct Half<'a, V, S> {
    of: Substitution<'a, V, S>,
    chunk: &'a Chunk,
    forward: bool,
}

impl<V: Real, S: Real> Kernel<V> for Half<'_, V, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match self.of.lu.block().0 {
            1 => self.fixed::<I, I::Four, 1>(set),
            2 => self.fixed::<I, I::Four, 2>(set),
            3 => self.fixed::<I, I::Four, 3>(set),
            6 => self.fixed::<I, I::Eight, 6>(set),
            _ => self.any(),
        }
    }
}

impl<V: Real, S: Real> Half<'_, V, S> {
    #[inline(always)]
    fn fixed<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        if self.forward { self.forward::<I, P, B>(set) } else { self.backward::<I, P, B>(set) }
    }

    /// Computes yᵢ = rᵢ − Σ_{j<i} Lᵢⱼ yⱼ
    #[inline(always)]
    fn forward<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        let (rows, r) = (&self.chunk.rows, self.of.r);
        let mut previous = [V::zero(); B];
        for i in rows.clone() {
            let (start, end) = (self.of.lu.pattern().offsets()[i], self.of.order.diagonal()[i]);
            let near = i > rows.start && self.holds(start..end, end.wrapping_sub(1), i.wrapping_sub(1));
            let far = self.product::<I, P, B>(set, start, end - usize::from(near));
            let old = self.chunk.old(i) * B;
            let mut y = [V::zero(); B];
            for k in 0..B {
                y[k] = r[old + k] - far[k];
            }
            if near {
                self.subtract(set, end - 1, &previous, &mut y);
            }
            self.store(i, &y, self.of.y);
            previous = y;
        }
    }

    /// Computes zᵢ = Dᵢ⁻¹ (yᵢ − Σ_{j>i} Uᵢⱼ zⱼ)
    #[inline(always)]
    fn backward<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        let rows = &self.chunk.rows;
        let mut previous = [V::zero(); B];
        for back in 0..rows.len() {
            let i = rows.end - 1 - back;
            let (start, end) = (self.of.order.diagonal()[i] + 1, self.of.lu.pattern().offsets()[i + 1]);
            let near = back > 0 && self.holds(start..end, start, i + 1);
            let far = self.product::<I, P, B>(set, start + usize::from(near), end);
            let (mut y, mut z) = ([V::zero(); B], [V::zero(); B]);
            for k in 0..B {
                // SAFETY: row i belongs to this chunk, which only this call writes.
                y[k] = unsafe { *self.of.y.get().add(i * B + k) } - far[k];
            }
            if near {
                self.subtract(set, start, &previous, &mut y);
            }
            let d = &self.of.pivots[i * B * B..(i + 1) * B * B];
            for k in 0..B {
                for c in 0..B {
                    z[k] = set.mul_add(d[k * B + c].to(), y[c], z[k]);
                }
            }
            self.store(i, &z, self.of.y);
            if !self.of.order.is_natural() {
                self.store(self.chunk.old(i), &z, self.of.z);
            }
            previous = z;
        }
    }

    /// Whether position `at` is in `blocks` and its block is in column j.
    #[inline(always)]
    fn holds(&self, blocks: std::ops::Range<usize>, at: usize, j: usize) -> bool {
        blocks.contains(&at) && self.of.lu.pattern().indices()[at] as usize == j
    }

    /// Returns the sum of the blocks `start..end` times their parts of y.
    #[inline(always)]
    fn product<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(
        &self,
        set: I,
        start: usize,
        end: usize,
    ) -> [V; B] {
        let columns = &self.of.lu.pattern().indices()[start..end];
        // SAFETY: values has B² numbers per block (Bsr::new), every column is below the number of block rows
        // (Pattern::new; lu is square) and y has as many blocks of B (asserted in `run`). The rows of y that
        // are read belong to this chunk, which only this call writes, or to another stage, which is not
        // written now: chunks of one stage are not coupled (RowSets). Nothing is read beyond a block of y.
        unsafe {
            let values = self.of.lu.values().as_ptr().add(start * B * B);
            row_product::<V, S, I, P, B, B, false>(set, values, columns, self.of.y.get())
        }
    }

    /// Computes y −= M x for the block at `at`.
    #[inline(always)]
    fn subtract<I: Set<V>, const B: usize>(&self, set: I, at: usize, x: &[V; B], y: &mut [V; B]) {
        let m = &self.of.lu.values()[at * B * B..(at + 1) * B * B];
        for k in 0..B {
            for c in 0..B {
                y[k] = set.mul_add(-m[k * B + c].to::<V>(), x[c], y[k]);
            }
        }
    }

    /// Writes v to block row i of `to`.
    #[inline(always)]
    fn store<const B: usize>(&self, i: usize, v: &[V; B], to: Shared<'_, V>) {
        for k in 0..B {
            // SAFETY: row i of y, and its old row of z, belong to this chunk; only this call writes them.
            unsafe { *to.get().add(i * B + k) = v[k] };
        }
    }

    /// Solves for any block size; a row is on the stack for blocks up to 12.
    fn any(&self) {
        let Substitution { lu, pivots, order, r, y, z } = self.of;
        let (b, rows) = (lu.block().0, self.chunk.rows.clone());
        let mut memory = Scratch::<V, 24>::new(2 * b);
        let (sum, out) = memory.values().split_at_mut(b);
        for step in 0..rows.len() {
            let i = if self.forward { rows.start + step } else { rows.end - 1 - step };
            let (all, diagonal) = (lu.pattern().range(i), order.diagonal()[i]);
            let blocks = if self.forward { all.start..diagonal } else { diagonal + 1..all.end };
            for k in 0..b {
                // SAFETY: as in `product`.
                let own = unsafe { *y.get().add(i * b + k) };
                sum[k] = if self.forward { r[self.chunk.old(i) * b + k] } else { own };
            }
            for at in blocks {
                let j = lu.pattern().indices()[at] as usize;
                for (k, row) in lu.value(at).chunks_exact(b).enumerate() {
                    for (c, v) in row.iter().enumerate() {
                        // SAFETY: as in `product`.
                        sum[k] -= v.to::<V>() * unsafe { *y.get().add(j * b + c) };
                    }
                }
            }
            if self.forward {
                out.copy_from_slice(sum);
            } else {
                for (out, row) in out.iter_mut().zip(pivots[i * b * b..(i + 1) * b * b].chunks_exact(b)) {
                    *out = row.iter().zip(&*sum).fold(V::zero(), |s, (d, &v)| s + d.to::<V>() * v);
                }
            }
            for k in 0..b {
                // SAFETY: as in `store`.
                unsafe {
                    *y.get().add(i * b + k) = out[k];
                    if !self.forward && !order.is_natural() {
                        *z.get().add(self.chunk.old(i) * b + k) = out[k];
                    }
                }
            }
        }
    }
}
