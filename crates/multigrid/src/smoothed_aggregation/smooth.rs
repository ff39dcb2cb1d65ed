//! P = (I − ω D⁻¹A) P̂ (Tamstorf 2015, §5).
//!
//! Row i of P reaches the aggregates of i and of its neighbours; rows of special nodes stay empty, so coarse corrections do not touch them.
//! D is the block diagonal: it keeps the sparsity pattern of A P̂ and respects the local nature of A. Blocks that are small beside the largest of
//! their row are pruned when P is made; an update keeps the pattern that it finds.

use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::{Real, parallel, simd};
use coarsen_sparse::{Bsr, Pattern};
use rayon::prelude::*;

use super::Parts;
use super::tentative::Basis;

/// Which blocks a row of P has.
#[derive(Clone, Copy)]
pub(super) enum Reach<'a> {
    /// The aggregates of its neighbours, but for blocks below this share of the largest of the row.
    Pruned(f64),
    /// Its own aggregate alone: P̂ as it is.
    Own,
    /// Those of a P made before.
    Pattern(&'a Pattern),
}

/// Rows that one task makes: enough to share its buffers between.
const ROWS: usize = 2048;

/// Columns of a row that are sorted on the spot.
const FEW: usize = 12;

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
    let part = |c: usize| {
        let (smoother, range) = (&smoother, c * ROWS..((c + 1) * ROWS).min(n));
        match (b, k) {
            (1, 1) => simd::run(Run::<T, 1, 1> { smoother, range }),
            (3, 3) => simd::run(Run::<T, 3, 3> { smoother, range }),
            (3, 6) => simd::run(Run::<T, 3, 6> { smoother, range }),
            (6, 6) => simd::run(Run::<T, 6, 6> { smoother, range }),
            _ => simd::run(Run::<T, 0, 0> { smoother, range }),
        }
    };
    let parts: Vec<Rows<T>> = if parallel::worth(a.nnz() * k) {
        (0..n.div_ceil(ROWS)).into_par_iter().map(part).collect()
    } else {
        (0..n.div_ceil(ROWS)).map(part).collect()
    };
    let mut offsets = Vec::with_capacity(n + 1);
    offsets.push(0);
    for rows in &parts {
        let before = offsets[offsets.len() - 1];
        offsets.extend(rows.ends.iter().map(|end| before + *end as usize));
    }
    let blocks = offsets[offsets.len() - 1];
    let (mut indices, mut values) = (vec![0; blocks], vec![T::zero(); blocks * b * k]);
    gather(parts, &mut indices, &mut values);
    Ok(Bsr::new(Arc::new(Pattern::new(count, offsets, indices)?), (b, k), values)?)
}

/// Copies the parts to where they belong, and drops them.
fn gather<T: Real>(mut parts: Vec<Rows<T>>, indices: &mut [u32], values: &mut [T]) {
    if parts.len() > 1 {
        let rest = parts.split_off(parts.len() / 2);
        let (count, size) = parts.iter().fold((0, 0), |s, p| (s.0 + p.columns.len(), s.1 + p.values.len()));
        let ((i0, i1), (v0, v1)) = (indices.split_at_mut(count), values.split_at_mut(size));
        if parallel::worth(values_in(&parts) + values_in(&rest)) {
            rayon::join(|| gather(parts, i0, v0), || gather(rest, i1, v1));
        } else {
            gather(parts, i0, v0);
            gather(rest, i1, v1);
        }
    } else if let Some(part) = parts.pop() {
        indices.copy_from_slice(&part.columns);
        values.copy_from_slice(&part.values);
    }
}

fn values_in<T>(parts: &[Rows<T>]) -> usize {
    parts.iter().map(|part| part.values.len()).sum()
}

/// Consecutive block rows of P.
struct Rows<T> {
    ends: Vec<u32>,
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

/// [`Smoother::rows`] as something that can be compiled for several instruction sets.
struct Run<'a, T, const B: usize, const K: usize> {
    smoother: &'a Smoother<'a, T>,
    range: Range<usize>,
}

impl<T: Real, const B: usize, const K: usize> simd::Kernel<T> for Run<'_, T, B, K> {
    type Output = Rows<T>;

    #[inline(always)]
    fn run<S: simd::Set<T>>(self, _: S) -> Rows<T> {
        self.smoother.rows::<B, K>(self.range)
    }
}

impl<T: Real> Smoother<'_, T> {
    /// Block rows of P with blocks of B x K, or of any size for 0 x 0.
    #[inline(always)]
    fn rows<const B: usize, const K: usize>(&self, range: Range<usize>) -> Rows<T> {
        let size = self.a.block().0 * self.basis.columns;
        let mut rows =
            Rows { ends: Vec::with_capacity(range.len()), columns: Vec::new(), values: Vec::new() };
        let mut row = Row::default();
        for i in range {
            self.row::<B, K>(i, &mut row);
            let limit = match self.reach {
                Reach::Pruned(share) => T::of(share) * largest(&row.values),
                Reach::Own | Reach::Pattern(_) => -T::one(),
            };
            row.sort();
            for &(g, at) in &row.order {
                let block = &row.values[at as usize * size..][..size];
                // The own aggregate stays, even where K vanishes on it: its coarse node needs a row.
                if g == self.aggregates[i] || largest(block) > limit {
                    rows.columns.push(g);
                    rows.values.extend_from_slice(block);
                }
            }
            rows.ends.push(rows.columns.len() as u32);
        }
        rows
    }

    /// Block row i of P: the aggregates of the node and its neighbours in the order in which they appear; nothing for a special node.
    #[inline(always)]
    fn row<const B: usize, const K: usize>(&self, i: usize, row: &mut Row<T>) {
        let (b, k) = if B == 0 { (self.a.block().0, self.basis.columns) } else { (B, K) };
        let (own, open) = (self.aggregates[i], matches!(self.reach, Reach::Pruned(_)));
        row.clear();
        match self.reach {
            Reach::Pattern(pattern) => pattern.row(i).iter().for_each(|&g| row.add(g, b * k)),
            Reach::Pruned(_) | Reach::Own if own != u32::MAX => row.add(own, b * k),
            Reach::Pruned(_) | Reach::Own => return,
        }
        let omega = T::of(self.parts.omega);
        if !omega.is_zero() {
            // (A P̂)ᵢ
            let (mut last, mut place) = (u32::MAX, None);
            for (j, block) in self.a.row(i) {
                let Some(q) = self.basis.rows(j) else { continue };
                let g = self.aggregates[j];
                if g != last {
                    (last, place) = (g, row.find(g)); // neighbours often share an aggregate
                    if open && place.is_none() {
                        place = Some(row.order.len());
                        row.add(g, b * k);
                    }
                }
                if let Some(at) = place {
                    add_product(block, q, &mut row.ap[at * b * k..(at + 1) * b * k], (b, k), T::one());
                }
            }
            // P̂ᵢ − ω Dᵢ⁻¹ (A P̂)ᵢ
            let d = self.parts.inverses.block(i);
            for (row, ap) in row.values.chunks_exact_mut(b * k).zip(row.ap.chunks_exact(b * k)) {
                add_product(d, ap, row, (b, k), -omega);
            }
        }
        if let (Some(at), Some(q)) = (row.find(own), self.basis.rows(i)) {
            row.values[at * b * k..(at + 1) * b * k].iter_mut().zip(q).for_each(|(v, &q)| *v += q);
        }
    }
}

/// One block row of P in the making: its columns with their places, (A P̂)ᵢ, Pᵢ.
#[derive(Default)]
struct Row<T> {
    order: Vec<(u32, u32)>,
    ap: Vec<T>,
    values: Vec<T>,
}

impl<T: Real> Row<T> {
    fn clear(&mut self) {
        self.order.clear();
        self.ap.clear();
        self.values.clear();
    }

    /// Appends a column with a block of so many zeros.
    #[inline(always)]
    fn add(&mut self, column: u32, size: usize) {
        self.order.push((column, self.order.len() as u32));
        for buffer in [&mut self.ap, &mut self.values] {
            (0..size).for_each(|_| buffer.push(T::zero()));
        }
    }

    #[inline(always)]
    fn find(&self, column: u32) -> Option<usize> {
        self.order.iter().position(|&(c, _)| c == column)
    }

    /// Sorts the columns, few as a rule.
    #[inline(always)]
    fn sort(&mut self) {
        if self.order.len() > FEW {
            return self.order.sort_unstable();
        }
        for end in 1..self.order.len() {
            let mut at = end;
            while at > 0 && self.order[at - 1].0 > self.order[at].0 {
                self.order.swap(at - 1, at);
                at -= 1;
            }
        }
    }
}

/// C += f M X for a b x b block M and b x k blocks X and C.
#[inline(always)]
fn add_product<T: Real>(m: &[T], x: &[T], c: &mut [T], (b, k): (usize, usize), f: T) {
    let (m, x, c) = (&m[..b * b], &x[..b * k], &mut c[..b * k]);
    for (m, c) in m.chunks_exact(b).zip(c.chunks_exact_mut(k)) {
        for (&m, x) in m.iter().zip(x.chunks_exact(k)) {
            let factor = f * m;
            c.iter_mut().zip(x).for_each(|(c, &x)| *c += factor * x);
        }
    }
}

/// The largest absolute value, 0 for none.
#[inline(always)]
fn largest<T: Real>(values: &[T]) -> T {
    values.iter().fold(T::zero(), |m, v| if v.abs() > m { v.abs() } else { m })
}
