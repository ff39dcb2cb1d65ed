//! P = (I − ω D⁻¹A) P̂ (Tamstorf 2015, §5).
//!
//! Row i of P reaches the aggregates of i and of its neighbours; rows of special nodes stay empty, so coarse corrections do not touch them.
//! D is the block diagonal: it keeps the sparsity pattern of A P̂ and respects the local nature of A. Blocks that are small beside the largest of
//! their row are pruned when P is made; an update keeps the pattern that it finds.

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern};
use rayon::prelude::*;

use super::Parts;
use super::tentative::Basis;

/// Which blocks a row of P has.
#[derive(Clone, Copy)]
pub(super) enum Reach<'a> {
    /// The aggregates of its neighbours, but for blocks below this share of the largest of the row.
    Pruned(f64),
    /// Those of a P made before.
    Pattern(&'a Pattern),
}

/// The smoothed prolongation in blocks of b x κ, to `count` aggregates.
pub(super) fn smooth<T: Real>(
    a: &Bsr<T>,
    parts: &Parts<T>,
    basis: &Basis<T>,
    aggregates: &[u32],
    count: usize,
    reach: Reach<'_>,
) -> Result<Bsr<T>, SetupError> {
    let (n, b, k) = (a.pattern().rows(), a.block().0, basis.columns);
    let row = |i: usize| match reach {
        Reach::Pruned(share) => {
            Row::new(a, parts, basis, aggregates, i, reached(a, aggregates, i)).pruned(b * k, share)
        }
        Reach::Pattern(pattern) => Row::new(a, parts, basis, aggregates, i, pattern.row(i).to_vec()),
    };
    let rows: Vec<Row<T>> = if coarsen_core::parallel::worth(a.nnz() * k) {
        (0..n).into_par_iter().map(row).collect()
    } else {
        (0..n).map(row).collect()
    };
    let mut offsets = Vec::with_capacity(n + 1);
    offsets.push(0);
    let blocks: usize = rows.iter().map(|row| row.columns.len()).sum();
    let (mut indices, mut values) = (Vec::with_capacity(blocks), Vec::with_capacity(blocks * b * k));
    for row in rows {
        indices.extend_from_slice(&row.columns);
        values.extend_from_slice(&row.values);
        offsets.push(indices.len());
    }
    Ok(Bsr::new(Arc::new(Pattern::new(count, offsets, indices)?), (b, k), values)?)
}

/// One block row of P.
struct Row<T> {
    columns: Vec<u32>,
    values: Vec<T>,
}

/// The aggregates of a node and its neighbours; none for a special node.
fn reached<T: Real>(a: &Bsr<T>, aggregates: &[u32], i: usize) -> Vec<u32> {
    if aggregates[i] == u32::MAX {
        return Vec::new();
    }
    let neighbours = a.pattern().row(i).iter().map(|&j| aggregates[j as usize]);
    let mut columns: Vec<u32> = neighbours.filter(|&g| g != u32::MAX).chain([aggregates[i]]).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

impl<T: Real> Row<T> {
    fn new(
        a: &Bsr<T>,
        parts: &Parts<T>,
        basis: &Basis<T>,
        aggregates: &[u32],
        i: usize,
        columns: Vec<u32>,
    ) -> Self {
        let (b, k) = (a.block().0, basis.columns);
        let mut ap = vec![T::zero(); columns.len() * b * k]; // (A P̂)ᵢ
        for (j, block) in a.row(i) {
            let Ok(at) = columns.binary_search(&aggregates[j]) else { continue };
            let (target, q) = (&mut ap[at * b * k..(at + 1) * b * k], &basis.q[j * b * k..(j + 1) * b * k]);
            for (r, row) in block.chunks_exact(b).enumerate() {
                for (v, q) in row.iter().zip(q.chunks_exact(k)) {
                    target[r * k..(r + 1) * k].iter_mut().zip(q).for_each(|(t, &q)| *t += *v * q);
                }
            }
        }
        let (d, omega) = (parts.inverses.block(i), T::of(parts.omega));
        let mut values = vec![T::zero(); ap.len()];
        for (value, ap) in values.chunks_exact_mut(b * k).zip(ap.chunks_exact(b * k)) {
            for r in 0..b {
                for (&d, ap) in d[r * b..(r + 1) * b].iter().zip(ap.chunks_exact(k)) {
                    let step = omega * d;
                    value[r * k..(r + 1) * k].iter_mut().zip(ap).for_each(|(v, &ap)| *v -= step * ap);
                }
            }
        }
        if let Ok(at) = columns.binary_search(&aggregates[i]) {
            let q = &basis.q[i * b * k..(i + 1) * b * k];
            values[at * b * k..(at + 1) * b * k].iter_mut().zip(q).for_each(|(v, &q)| *v += q);
        }
        Self { columns, values }
    }

    /// Without the blocks of `size` values whose largest is below `share` of the largest of the row.
    fn pruned(mut self, size: usize, share: f64) -> Self {
        let largest = |block: &[T]| block.iter().fold(0.0, |m: f64, v| m.max(v.abs().wide()));
        let limit = share * largest(&self.values);
        let mut kept = 0;
        for at in 0..self.columns.len() {
            if largest(&self.values[at * size..(at + 1) * size]) > limit {
                self.columns[kept] = self.columns[at];
                self.values.copy_within(at * size..(at + 1) * size, kept * size);
                kept += 1;
            }
        }
        self.columns.truncate(kept);
        self.values.truncate(kept * size);
        self
    }
}
