//! P = (I − ω D⁻¹A) P̂ (Tamstorf 2015, §5).
//!
//! Row i of P reaches the aggregates of i and of its neighbours; rows of special nodes stay empty, so coarse corrections do not touch them.
//! D is the block diagonal: it keeps the sparsity pattern of A P̂ and respects the local nature of A. Blocks that are small beside the largest of
//! their row are pruned when P is made; an update keeps the pattern that it finds.

use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::{Real, parallel};
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

/// Rows that one task makes: enough to share its buffers between.
const ROWS: usize = 1024;

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
    let smoother = Smoother { a, parts, basis, aggregates, reach };
    let part = |c: usize| smoother.rows(c * ROWS..((c + 1) * ROWS).min(n));
    let parts: Vec<Rows<T>> = if parallel::worth(a.nnz() * k) {
        (0..n.div_ceil(ROWS)).into_par_iter().map(part).collect()
    } else {
        (0..n.div_ceil(ROWS)).map(part).collect()
    };
    let mut offsets = Vec::with_capacity(n + 1);
    offsets.push(0);
    let blocks: usize = parts.iter().map(|rows| rows.columns.len()).sum();
    let (mut indices, mut values) = (Vec::with_capacity(blocks), Vec::with_capacity(blocks * b * k));
    for rows in parts {
        indices.extend_from_slice(&rows.columns);
        values.extend_from_slice(&rows.values);
        rows.lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
    }
    Ok(Bsr::new(Arc::new(Pattern::new(count, offsets, indices)?), (b, k), values)?)
}

/// Consecutive block rows of P.
struct Rows<T> {
    lengths: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<T>,
}

/// What every row needs.
struct Smoother<'a, T> {
    a: &'a Bsr<T>,
    parts: &'a Parts<T>,
    basis: &'a Basis<T>,
    aggregates: &'a [u32],
    reach: Reach<'a>,
}

impl<T: Real> Smoother<'_, T> {
    fn rows(&self, range: Range<usize>) -> Rows<T> {
        let size = self.a.block().0 * self.basis.columns;
        let mut rows =
            Rows { lengths: Vec::with_capacity(range.len()), columns: Vec::new(), values: Vec::new() };
        let (mut columns, mut ap, mut row) = (Vec::new(), Vec::new(), Vec::new());
        for i in range {
            columns.clear();
            match self.reach {
                Reach::Pruned(_) => self.reached(i, &mut columns),
                Reach::Pattern(pattern) => columns.extend_from_slice(pattern.row(i)),
            }
            self.row(i, &columns, &mut ap, &mut row);
            let limit = match self.reach {
                Reach::Pruned(share) => share * largest(&row),
                Reach::Pattern(_) => -1.0,
            };
            let before = rows.columns.len();
            for (&g, block) in columns.iter().zip(row.chunks_exact(size)) {
                if largest(block) > limit {
                    rows.columns.push(g);
                    rows.values.extend_from_slice(block);
                }
            }
            rows.lengths.push(rows.columns.len() - before);
        }
        rows
    }

    /// The aggregates of a node and its neighbours, in order; none for a special node.
    fn reached(&self, i: usize, columns: &mut Vec<u32>) {
        if self.aggregates[i] == u32::MAX {
            return;
        }
        let neighbours = self.a.pattern().row(i).iter().map(|&j| self.aggregates[j as usize]);
        columns.extend(neighbours.filter(|&g| g != u32::MAX).chain([self.aggregates[i]]));
        columns.sort_unstable();
        columns.dedup();
    }

    /// Block row i of P at the given columns, into `row`; `ap` is scratch.
    fn row(&self, i: usize, columns: &[u32], ap: &mut Vec<T>, row: &mut Vec<T>) {
        let (b, k) = (self.a.block().0, self.basis.columns);
        for buffer in [&mut *ap, &mut *row] {
            buffer.clear();
            buffer.resize(columns.len() * b * k, T::zero());
        }
        // (A P̂)ᵢ
        for (j, block) in self.a.row(i) {
            let Ok(at) = columns.binary_search(&self.aggregates[j]) else { continue };
            let (target, q) =
                (&mut ap[at * b * k..(at + 1) * b * k], &self.basis.q[j * b * k..(j + 1) * b * k]);
            add_product(block, q, target, b, k, T::one());
        }
        // P̂ᵢ − ω Dᵢ⁻¹ (A P̂)ᵢ
        let (d, omega) = (self.parts.inverses.block(i), T::of(self.parts.omega));
        for (row, ap) in row.chunks_exact_mut(b * k).zip(ap.chunks_exact(b * k)) {
            add_product(d, ap, row, b, k, -omega);
        }
        if let Ok(at) = columns.binary_search(&self.aggregates[i]) {
            let q = &self.basis.q[i * b * k..(i + 1) * b * k];
            row[at * b * k..(at + 1) * b * k].iter_mut().zip(q).for_each(|(v, &q)| *v += q);
        }
    }
}

/// C += f M X for a b x b block M and b x k blocks X and C.
#[inline(always)]
fn add_product<T: Real>(m: &[T], x: &[T], c: &mut [T], b: usize, k: usize, f: T) {
    for (m, c) in m.chunks_exact(b).zip(c.chunks_exact_mut(k)) {
        for (&m, x) in m.iter().zip(x.chunks_exact(k)) {
            let factor = f * m;
            c.iter_mut().zip(x).for_each(|(c, &x)| *c += factor * x);
        }
    }
}

/// The largest absolute value, 0 for none.
fn largest<T: Real>(values: &[T]) -> f64 {
    values.iter().fold(T::zero(), |m, v| m.max(v.abs())).wide()
}
