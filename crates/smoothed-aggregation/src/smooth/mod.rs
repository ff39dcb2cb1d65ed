//! P = (I − ω D⁻¹A) P̂ (Tamstorf 2015, §5).
//!
//! Row i of P has blocks for the aggregates of i and of its neighbours. Rows of decoupled nodes are empty, so
//! coarse corrections do not change these nodes. D is the block diagonal: D⁻¹ keeps the sparsity pattern of A
//! P̂ and respects the couplings inside a node. Blocks that are small relative to the largest block of their
//! row are pruned when P is built; an update keeps the pattern. If A_F replaces A (`filter`), D is the block
//! diagonal of A_F. Rows of high-degree nodes are those of P̂ (`high_degree`). `scalars` has the loops for scalars.

mod scalars;

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::simd::{Pack, Set};
use coarsen_core::{Real, compiled, parallel, simd};
use coarsen_sparse::{Bsr, Pattern};
use rayon::prelude::*;

use super::high_degree::HighDegree;
use super::parts::Parts;
use super::tentative::Basis;

/// The pattern of a row of P.
#[derive(Clone, Copy)]
pub(super) enum RowPattern<'a> {
    /// The aggregates of the node and its neighbours, without blocks below this fraction of the largest block
    /// of the row.
    Pruned(f64),
    /// Only the aggregate of the node, so that P = P̂.
    Own,
    /// The pattern of an existing P.
    Pattern(&'a Pattern),
}

/// The number of rows per task, large enough to amortise the buffers of a task.
const ROWS: usize = 2048;

/// The largest number of columns of a row that is sorted by insertion.
const FEW: usize = 12;

/// The largest sum of |trace| over strong couplings, relative to the trace of D_F. This ratio is 1 if all couplings are
/// attractive and nothing else holds the node. Rows above this limit use A.
const STRENGTH_PULL: f64 = 1.25;

/// The largest ratio of entries of P, computed with A_F, to entries of P̂. Rows above this limit use A.
const PROLONGATION_GROWTH: f64 = 4.0;

/// P̂.
#[derive(Clone, Copy)]
pub(super) struct Tentative<'a, T> {
    pub(super) basis: &'a Basis<T>,
    /// The aggregate of each node; `u32::MAX` for decoupled nodes.
    pub(super) aggregates: &'a [u32],
    /// The number of aggregates.
    pub(super) count: usize,
    pub(super) high_degree: &'a HighDegree,
}

/// Returns the smoothed prolongation in blocks of b x κ, and the rows that were computed with A although some of
/// their couplings are weak.
pub(super) fn smooth<T: Real>(
    a: &Bsr<T>,
    parts: &Parts<'_, T>,
    tentative: Tentative<'_, T>,
    reach: RowPattern<'_>,
    filter: Option<&Filter<'_, T>>,
) -> SmoothedProlongation<T> {
    SMOOTH.of::<Smooth<T>>()(a, parts, tentative, reach, filter)
}

type SmoothedProlongation<T> = Result<(Bsr<T>, Vec<u32>), SetupError>;

compiled!(
    SMOOTH: Smooth<T> =
        fn(&Bsr<T>, &Parts<'_, T>, Tentative<'_, T>, RowPattern<'_>, Option<&Filter<'_, T>>) -> SmoothedProlongation<T>,
    smooth_prolongation
);

fn smooth_prolongation<T: Real>(
    a: &Bsr<T>,
    parts: &Parts<'_, T>,
    tentative: Tentative<'_, T>,
    reach: RowPattern<'_>,
    filter: Option<&Filter<'_, T>>,
) -> SmoothedProlongation<T> {
    let Tentative { basis, aggregates, count, high_degree } = tentative;
    let (n, b, k) = (a.pattern().rows(), a.block().0, basis.columns);
    let smoother = ProlongationSmoother { a, parts, basis, aggregates, high_degree, reach, filter };
    let part = |c: usize| {
        let (smoother, range) = (&smoother, c * ROWS..((c + 1) * ROWS).min(n));
        match (b, k) {
            (1, 1) => smoother.scalars(range),
            (3, 3) => simd::run(SmoothRows::<T, 3, 3> { smoother, range }),
            (3, 6) => simd::run(SmoothRows::<T, 3, 6> { smoother, range }),
            (6, 6) => simd::run(SmoothRows::<T, 6, 6> { smoother, range }),
            _ => simd::run(SmoothRows::<T, 0, 0> { smoother, range }),
        }
    };
    let parts: Vec<ProlongationRows<T>> = if parallel::worth(a.nnz() * k) {
        (0..n.div_ceil(ROWS)).into_par_iter().map(part).collect()
    } else {
        (0..n.div_ceil(ROWS)).map(part).collect()
    };
    let plain = parts.iter().flat_map(|rows| rows.plain.iter().copied()).collect();
    let blocks: usize = parts.iter().map(|rows| rows.columns.len()).sum();
    let (mut offsets, mut indices) = (vec![0; n + 1], vec![0; blocks]);
    let mut values = vec![T::zero(); blocks * b * k];
    gather(parts, 0, (&mut offsets[1..], &mut indices, &mut values));
    let p = Bsr::new(Arc::new(Pattern::new(count, offsets, indices)?), (b, k), values)?;
    Ok((p.shared(), plain)) // with the transfer, if it stores values of the same type
}

/// Copies the parts, whose first block has the index `first`, into the ends of rows, columns and values, and frees the parts.
fn gather<T: Real>(
    mut parts: Vec<ProlongationRows<T>>,
    first: usize,
    (ends, columns, values): (&mut [usize], &mut [u32], &mut [T]),
) {
    if parts.len() > 1 {
        let rest = parts.split_off(parts.len() / 2);
        let [rows, count, size] = parts.iter().fold([0; 3], |[rows, count, size], part| {
            [rows + part.ends.len(), count + part.columns.len(), size + part.values.len()]
        });
        let several = parallel::worth(values.len());
        let ((e0, e1), (c0, c1)) = (ends.split_at_mut(rows), columns.split_at_mut(count));
        let (v0, v1) = values.split_at_mut(size);
        let left = || gather(parts, first, (e0, c0, v0));
        let right = || gather(rest, first + count, (e1, c1, v1));
        if several {
            parallel::join(left, right);
        } else {
            left();
            right();
        }
    } else if let Some(part) = parts.pop() {
        ends.iter_mut().zip(&part.ends).for_each(|(end, &own)| *end = first + own as usize);
        columns.copy_from_slice(&part.columns);
        values.copy_from_slice(&part.values);
    }
}

/// Consecutive block rows of P.
struct ProlongationRows<T> {
    ends: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
    plain: Vec<u32>,
}

/// The data for A_F.
pub(super) struct Filter<'a, T> {
    /// The off-diagonal couplings that A_F keeps.
    pub(super) strong: &'a [bool],
    /// s of each node.
    pub(super) sizes: Vec<T>,
}

/// The inputs common to all rows.
struct ProlongationSmoother<'a, T: Real> {
    a: &'a Bsr<T>,
    parts: &'a Parts<'a, T>,
    basis: &'a Basis<T>,
    aggregates: &'a [u32],
    high_degree: &'a HighDegree,
    reach: RowPattern<'a>,
    filter: Option<&'a Filter<'a, T>>,
}

/// [`ProlongationSmoother::rows`], compiled for several instruction sets.
struct SmoothRows<'a, T: Real, const B: usize, const K: usize> {
    smoother: &'a ProlongationSmoother<'a, T>,
    range: Range<usize>,
}

impl<T: Real, const B: usize, const K: usize> simd::Kernel<T> for SmoothRows<'_, T, B, K> {
    type Output = ProlongationRows<T>;

    #[inline(always)]
    fn run<S: Set<T>>(self, set: S) -> ProlongationRows<T> {
        self.smoother.rows::<S, B, K>(set, self.range)
    }
}

impl<T: Real> ProlongationSmoother<'_, T> {
    /// Computes block rows of P with blocks of B x K; blocks have any size for B = K = 0.
    #[inline(always)]
    fn rows<S: Set<T>, const B: usize, const K: usize>(
        &self,
        set: S,
        range: Range<usize>,
    ) -> ProlongationRows<T> {
        let size = if B == 0 { self.a.block().0 * self.basis.columns } else { B * K };
        let mut rows = ProlongationRows {
            ends: Vec::with_capacity(range.len()),
            columns: vec![],
            values: vec![],
            plain: vec![],
        };
        let mut row = Row::default();
        for i in range {
            if !self.row::<S, B, K>(set, i, &mut row) {
                rows.plain.push(i as u32);
            }
            row.sort();
            row.sizes.clear();
            let mut limit = T::zero();
            if let RowPattern::Pruned(share) = self.reach {
                row.sizes.extend(row.values.chunks_exact(size.max(1)).map(largest));
                limit = T::from_f64(share) * largest(&row.sizes);
            }
            for &(g, at) in &row.order {
                // The aggregate of the node is kept even if K vanishes on it, because its coarse node needs a
                // row.
                if g == self.aggregates[i] || row.sizes.get(at as usize).is_none_or(|&s| s > limit) {
                    rows.columns.push(g);
                    rows.values.extend_from_slice(&row.values[at as usize * size..][..size]);
                }
            }
            rows.ends.push(rows.columns.len() as u32);
        }
        rows
    }

    /// Computes block row i of P. Returns `false` if it was computed with A although some of its couplings
    /// are weak.
    #[inline(always)]
    fn row<S: Set<T>, const B: usize, const K: usize>(&self, set: S, i: usize, row: &mut Row<T>) -> bool {
        let (b, k) = if B == 0 { (self.a.block().0, self.basis.columns) } else { (B, K) };
        if self.high_degree.contains(i) {
            self.begin(i, b * k, row);
            self.add_own(i, b * k, row);
            return true;
        }
        let weak = |filter: &&Filter<'_, T>| !filter.strong[self.a.pattern().range(i)].iter().all(|&s| s);
        let filter = self.filter.filter(weak);
        if let Some(filter) = filter
            && self.filtered::<S, B, K>(set, i, filter, row)
        {
            return true;
        }
        self.begin(i, b * k, row);
        if self.parts.omega > 0.0 {
            self.product::<S, B, K>(set, i, row, |_, _, block| Some(block));
            row.step::<S, B, K>(set, self.parts.inverses.block(i), (b, k), self.parts.omega);
        }
        self.add_own(i, b * k, row);
        filter.is_none()
    }

    /// Computes block row i of P = (I − ω D_F⁻¹A_F) P̂.
    ///
    /// Returns `false` if the row needs A instead: no coupling is strong, D_F is too small for the couplings,
    /// a diagonal entry of D_F⁻¹ is not positive, or entries of a newly built P become large.
    #[inline(always)]
    fn filtered<S: Set<T>, const B: usize, const K: usize>(
        &self,
        set: S,
        i: usize,
        filter: &Filter<'_, T>,
        row: &mut Row<T>,
    ) -> bool {
        let (b, k) = if B == 0 { (self.a.block().0, self.basis.columns) } else { (B, K) };
        let Filter { strong, sizes } = filter;
        row.lumped.clear();
        row.lumped.resize(b * b, T::zero());
        let trace = |block: &[T]| (0..b).fold(T::zero(), |sum, d| sum + block[d * (b + 1)]);
        let mut couplings = T::zero();
        for (at, (j, block)) in self.a.pattern().range(i).zip(self.a.row(i)) {
            let block = &block[..b * b];
            let share = match (j == i, strong[at]) {
                (true, _) => T::one(),
                (false, true) => {
                    couplings += trace(block).abs();
                    continue;
                }
                (false, false) if sizes[i] > T::zero() => sizes[j] / sizes[i],
                (false, false) => continue,
            };
            row.lumped[..b * b].iter_mut().zip(block).for_each(|(sum, &v)| *sum += share * v);
        }
        row.inverse.resize(b * b, T::zero());
        let held = couplings > T::zero() && couplings <= T::from_f64(STRENGTH_PULL) * trace(&row.lumped);
        let regular = held && DenseBlocks::invert_one(&row.lumped, &mut row.inverse, b);
        if !regular || !row.inverse.iter().step_by(b + 1).all(|&d| d > T::zero()) {
            return false;
        }
        self.begin(i, b * k, row);
        let (lumped, inverse) = (mem::take(&mut row.lumped), mem::take(&mut row.inverse));
        self.product::<S, B, K>(set, i, row, |at, j, block| match j == i {
            true => Some(&lumped[..]),
            false => strong[at].then_some(block),
        });
        row.step::<S, B, K>(set, &inverse, (b, k), self.parts.omega_filtered);
        (row.lumped, row.inverse) = (lumped, inverse);
        self.add_own(i, b * k, row);
        let own = self.basis.rows(i).map_or(T::zero(), largest);
        matches!(self.reach, RowPattern::Pattern(_))
            || largest(&row.values) <= T::from_f64(PROLONGATION_GROWTH) * own
    }

    /// Resets a row to its initial columns.
    #[inline(always)]
    fn begin(&self, i: usize, size: usize, row: &mut Row<T>) {
        row.clear();
        match self.reach {
            RowPattern::Pattern(pattern) => pattern.row(i).iter().for_each(|&g| row.add(g, size)),
            RowPattern::Pruned(_) | RowPattern::Own if self.aggregates[i] != u32::MAX => {
                row.add(self.aggregates[i], size)
            }
            RowPattern::Pruned(_) | RowPattern::Own => (),
        }
    }

    /// Computes (A P̂)ᵢ from the index, column and value of each stored block in `of`. The row is empty for a
    /// decoupled node.
    #[inline(always)]
    fn product<'s, S: Set<T>, const B: usize, const K: usize>(
        &'s self,
        set: S,
        i: usize,
        row: &mut Row<T>,
        of: impl Fn(usize, usize, &'s [T]) -> Option<&'s [T]>,
    ) {
        let (b, k) = if B == 0 { (self.a.block().0, self.basis.columns) } else { (B, K) };
        let open = matches!(self.reach, RowPattern::Pruned(_)) && self.aggregates[i] != u32::MAX;
        let (mut last, mut place) = (u32::MAX, None);
        for (at, (j, block)) in self.a.pattern().range(i).zip(self.a.row(i)) {
            let (Some(block), Some(q)) = (of(at, j, block), self.basis.rows(j)) else { continue };
            let g = self.aggregates[j];
            if g == u32::MAX {
                continue;
            }
            if g != last {
                (last, place) = (g, row.find(g)); // neighbours often share an aggregate
                if open && place.is_none() {
                    place = Some(row.order.len());
                    row.add(g, b * k);
                }
            }
            if let Some(at) = place {
                let sum = &mut row.ap[at * b * k..(at + 1) * b * k];
                add_product::<T, S, B, K>(set, block, q, sum, (b, k), T::one());
            }
        }
    }

    /// Adds P̂ᵢ.
    #[inline(always)]
    fn add_own(&self, i: usize, size: usize, row: &mut Row<T>) {
        if let (Some(at), Some(q)) = (row.find(self.aggregates[i]), self.basis.rows(i)) {
            row.values[at * size..(at + 1) * size].iter_mut().zip(&q[..size]).for_each(|(v, &q)| *v += q);
        }
    }
}

/// The workspace for one block row of P: its columns and their places, (A P̂)ᵢ, Pᵢ, D_F of the node and its
/// inverse.
#[derive(Default)]
struct Row<T> {
    order: Vec<(u32, u32)>,
    ap: Vec<T>,
    values: Vec<T>,
    /// The largest absolute value of each block, if blocks are pruned.
    sizes: Vec<T>,
    lumped: Vec<T>,
    inverse: Vec<T>,
}

impl<T: Real> Row<T> {
    fn clear(&mut self) {
        self.order.clear();
        self.ap.clear();
        self.values.clear();
    }

    /// Appends a column with a block of `size` zeros.
    #[inline(always)]
    fn add(&mut self, column: u32, size: usize) {
        self.order.push((column, self.order.len() as u32));
        for buffer in [&mut self.ap, &mut self.values] {
            buffer.resize(buffer.len() + size, T::zero());
        }
    }

    /// Computes −ω D⁻¹ (A P̂)ᵢ.
    #[inline(always)]
    fn step<S: Set<T>, const B: usize, const K: usize>(
        &mut self,
        set: S,
        d: &[T],
        (b, k): (usize, usize),
        omega: f64,
    ) {
        for (row, ap) in self.values.chunks_exact_mut(b * k).zip(self.ap.chunks_exact(b * k)) {
            add_product::<T, S, B, K>(set, d, ap, row, (b, k), -T::from_f64(omega));
        }
    }

    #[inline(always)]
    fn find(&self, column: u32) -> Option<usize> {
        self.order.iter().position(|&(c, _)| c == column)
    }

    /// Sorts the columns, which are usually few.
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

/// Computes C += f M X for a b x b block M and b x k blocks X and C; b = B and k = K unless B = K = 0.
#[inline(always)]
fn add_product<T: Real, S: Set<T>, const B: usize, const K: usize>(
    set: S,
    m: &[T],
    x: &[T],
    c: &mut [T],
    (b, k): (usize, usize),
    f: T,
) {
    let (m, x, c) = (&m[..b * b], &x[..b * k], &mut c[..b * k]);
    if B == 0 {
        for (m, c) in m.chunks_exact(b).zip(c.chunks_exact_mut(k)) {
            for (&m, x) in m.iter().zip(x.chunks_exact(k)) {
                let factor = f * m;
                c.iter_mut().zip(x).for_each(|(c, &x)| *c += factor * x);
            }
        }
        return;
    }
    let mut rows = [S::Eight::zero(set); B];
    for (row, x) in rows.iter_mut().zip(x.as_chunks::<K>().0) {
        // SAFETY: a row of X has K numbers.
        *row = unsafe { S::Eight::load_first::<T, K>(set, x.as_ptr()) };
    }
    for (m, c) in m.as_chunks::<B>().0.iter().zip(c.as_chunks_mut::<K>().0) {
        // SAFETY: a row of C has K numbers.
        unsafe {
            let mut sum = S::Eight::load_first::<T, K>(set, c.as_ptr());
            for (&m, x) in m.iter().zip(rows) {
                sum = x.mul_add(S::Eight::splat(set, f * m), sum);
            }
            sum.store_first::<K>(c.as_mut_ptr());
        }
    }
}

/// Returns the largest absolute value, 0 for an empty list.
#[inline(always)]
fn largest<T: Real>(values: &[T]) -> T {
    let larger = |m: T, v: T| if v > m { v } else { m };
    let (chunks, rest) = values.as_chunks::<3>();
    let mut most = [T::zero(); 3]; // three independent chains, for speed
    for chunk in chunks {
        (0..3).for_each(|lane| most[lane] = larger(most[lane], chunk[lane].abs()));
    }
    most.into_iter().chain(rest.iter().map(|v| v.abs())).fold(T::zero(), larger)
}
