//! z = (D + U)⁻¹ (L + I)⁻¹ r in place, stage by stage.
//!
//! Forward, a chunk reads the stages before its own and itself; backward, itself and the stages after. Both are slices of their
//! own, so the chunks of a stage run in parallel without any sharing.
//!
//! *Traffic* L, U and D once, the vector twice. *Reference* Saad 2003, §10.3.

use std::ops::Range;

use coarsen_backend::DenseBlocks;
use coarsen_core::{Real, parallel};
use coarsen_sparse::Bsr;

use super::Order;

/// Solves with L and U in place.
pub(super) fn substitute<V: Real, S: Real>(lu: &Bsr<S>, pivots: &DenseBlocks<S>, order: &Order, z: &mut [V]) {
    let b = lu.block().0;
    let parallel = parallel::worth(lu.nnz());
    let factors = Factors { lu, pivots, diagonal: order.diagonal() };
    let bounds = |stage: &[Range<usize>]| match stage {
        [first, .., last] => first.start * b..last.end * b,
        [only] => only.start * b..only.end * b,
        [] => 0..0,
    };
    for stage in order.stages() {
        let (before, own) = z.split_at_mut(bounds(stage).start);
        let own = &mut own[..bounds(stage).len()];
        each_chunk(stage, own, b, parallel, &|rows, own| factors.forward(rows, before, own));
    }
    for stage in order.stages().iter().rev() {
        let (own, after) = z.split_at_mut(bounds(stage).end);
        let own = &mut own[bounds(stage).start..];
        each_chunk(stage, own, b, parallel, &|rows, own| {
            factors.backward(rows, own, after, bounds(stage).end / b)
        });
    }
}

/// Calls `f` with each chunk of a stage and its entries.
fn each_chunk<V: Send>(
    stage: &[Range<usize>],
    own: &mut [V],
    b: usize,
    parallel: bool,
    f: &(impl Fn(Range<usize>, &mut [V]) + Sync),
) {
    match stage {
        [] => (),
        [chunk] => f(chunk.clone(), own),
        _ => {
            let (left, right) = stage.split_at(stage.len() / 2);
            let (l, r) = own.split_at_mut((right[0].start - left[0].start) * b);
            if parallel {
                rayon::join(|| each_chunk(left, l, b, true, f), || each_chunk(right, r, b, true, f));
            } else {
                each_chunk(left, l, b, false, f);
                each_chunk(right, r, b, false, f);
            }
        }
    }
}

struct Factors<'a, S> {
    lu: &'a Bsr<S>,
    pivots: &'a DenseBlocks<S>,
    diagonal: &'a [usize],
}

impl<S: Real> Factors<'_, S> {
    fn forward<V: Real>(&self, rows: Range<usize>, before: &[V], own: &mut [V]) {
        match self.lu.block().0 {
            1 => self.forward_rows::<V, 1>(rows, before, own),
            2 => self.forward_rows::<V, 2>(rows, before, own),
            3 => self.forward_rows::<V, 3>(rows, before, own),
            6 => self.forward_rows::<V, 6>(rows, before, own),
            _ => self.forward_rows::<V, 0>(rows, before, own),
        }
    }

    fn backward<V: Real>(&self, rows: Range<usize>, own: &mut [V], after: &[V], end: usize) {
        match self.lu.block().0 {
            1 => self.backward_rows::<V, 1>(rows, own, after, end),
            2 => self.backward_rows::<V, 2>(rows, own, after, end),
            3 => self.backward_rows::<V, 3>(rows, own, after, end),
            6 => self.backward_rows::<V, 6>(rows, own, after, end),
            _ => self.backward_rows::<V, 0>(rows, own, after, end),
        }
    }

    /// yᵢ = rᵢ − Σ_{j<i} Lᵢⱼ yⱼ; `before` holds the stages before, `own` the rows of this chunk.
    fn forward_rows<V: Real, const B: usize>(&self, rows: Range<usize>, before: &[V], own: &mut [V]) {
        let b = if B == 0 { self.lu.block().0 } else { B };
        let (start, pattern) = (rows.start, self.lu.pattern());
        for i in rows {
            let (done, rest) = own.split_at_mut((i - start) * b);
            let y = &mut rest[..b];
            for k in pattern.offsets()[i]..self.diagonal[i] {
                let j = pattern.indices()[k] as usize;
                let x = if j >= start { &done[(j - start) * b..][..b] } else { &before[j * b..][..b] };
                subtract_product(self.lu.value(k), x, y, b);
            }
        }
    }

    /// zᵢ = Dᵢ⁻¹ (yᵢ − Σ_{j>i} Uᵢⱼ zⱼ); `after` holds the stages after, from row `end` on.
    fn backward_rows<V: Real, const B: usize>(
        &self,
        rows: Range<usize>,
        own: &mut [V],
        after: &[V],
        end: usize,
    ) {
        let b = if B == 0 { self.lu.block().0 } else { B };
        let (start, stop, pattern) = (rows.start, rows.end, self.lu.pattern());
        for i in rows.rev() {
            let (rest, done) = own.split_at_mut((i + 1 - start) * b);
            let y = &mut rest[(i - start) * b..];
            for k in self.diagonal[i] + 1..pattern.offsets()[i + 1] {
                let j = pattern.indices()[k] as usize;
                let x = if j < stop { &done[(j - i - 1) * b..][..b] } else { &after[(j - end) * b..][..b] };
                subtract_product(self.lu.value(k), x, y, b);
            }
            multiply_in_place(self.pivots.block(i), y, b);
        }
    }
}

/// y −= M x.
#[inline(always)]
fn subtract_product<V: Real, S: Real>(m: &[S], x: &[V], y: &mut [V], b: usize) {
    for i in 0..b {
        y[i] = (0..b).fold(y[i], |s, c| s - m[i * b + c].to::<V>() * x[c]);
    }
}

/// y = M y, the entries of y kept on the stack for blocks up to 12.
#[inline(always)]
fn multiply_in_place<V: Real, S: Real>(m: &[S], y: &mut [V], b: usize) {
    let (mut stack, mut heap) = ([V::zero(); 12], Vec::new());
    let old = match stack.get_mut(..b) {
        Some(old) => old,
        None => {
            heap.resize(b, V::zero());
            &mut heap[..]
        }
    };
    old.copy_from_slice(y);
    for i in 0..b {
        y[i] = (0..b).fold(V::zero(), |s, c| s + m[i * b + c].to::<V>() * old[c]);
    }
}
