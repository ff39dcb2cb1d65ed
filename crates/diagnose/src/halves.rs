//! The comparison of the halves of A above and below the diagonal.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_sparse::Bsr;

use super::pair::{Pair, ratio, worse};

/// The result of the comparison for a range of rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Halves {
    /// The numbers of nonzeros above and below the diagonal whose transposed entry is zero or not stored.
    pub(super) above: usize,
    pub(super) below: usize,
    pub(super) worst: Option<(usize, usize, f64, f64)>,
    pub(super) relative: f64,
    pub(super) unconstrained: f64,
    /// The number of blocks above the diagonal in columns of later ranges.
    later: usize,
    /// The number of blocks below the diagonal whose transposed block is in an earlier range.
    earlier: usize,
    /// The number of block rows without a nonzero block before the diagonal.
    firsts: usize,
    pub(super) pair: Option<Pair>,
}

/// Pairs of rows with a smaller ratio prove nothing.
const NEAR: f64 = 0.999;

impl Halves {
    /// Compares the blocks of row i on and below the diagonal with their transposed blocks. `range` are the block rows of
    /// this task, `diagonal` the diagonal entries of those up to i, and `next` the position in each of these block rows
    /// after the last block that was compared: as i grows, the transposed blocks of rows i are consecutive in a row.
    #[inline]
    pub(super) fn compare_row<T: Real, const B: usize>(
        &mut self,
        a: &Bsr<T>,
        i: usize,
        range: &Range<usize>,
        diagonal: &[f64],
        next: &mut [u32],
    ) {
        let (pattern, own, b) = (a.pattern(), i - range.start, if B > 0 { B } else { a.block().0 });
        let (offsets, indices) = (pattern.offsets(), pattern.indices());
        let (first, end) = (offsets[i], offsets[i + 1]);
        let value = |k: usize| &a.values()[k * b * b..(k + 1) * b * b];
        let mut at = first;
        let of_i = Diagonal::Here(&diagonal[own * b..(own + 1) * b]);
        let mut is_first = true;
        while at < end && (indices[at] as usize) < i {
            let (j, here) = (indices[at] as usize, Some(value(at)));
            is_first = is_first && value(at).iter().all(T::is_zero);
            at += 1;
            if j < range.start {
                let mirror = pattern.find(j, i).map(value);
                self.earlier += usize::from(mirror.is_some());
                self.compare::<T, B>(a, (i, j), here, mirror, [Diagonal::elsewhere(a, j), of_i]);
                continue;
            }
            let is_next = |next: u32| {
                let k = offsets[j] + next as usize;
                (k < offsets[j + 1] && indices[k] as usize == i).then_some(k)
            };
            let mut mirror = is_next(next[j - range.start]);
            if mirror.is_none() {
                self.skip(a, range, diagonal, (j, i), next);
                mirror = is_next(next[j - range.start]);
            }
            next[j - range.start] += u32::from(mirror.is_some());
            let of_j = Diagonal::Here(&diagonal[(j - range.start) * b..(j - range.start + 1) * b]);
            self.compare::<T, B>(a, (i, j), here, mirror.map(value), [of_j, of_i]);
        }
        let (below, on) = (at - first, usize::from(at < end && indices[at] as usize == i));
        next[own] = (below + on) as u32;
        let mut last = end;
        while last > at && indices[last - 1] as usize >= range.end {
            last -= 1;
        }
        self.later += end - last;
        self.firsts += usize::from(is_first);
        if on == 1 && B != 1 {
            self.compare_diagonal(a, first + below, i, of_i);
        }
    }

    /// Compares the blocks above the diagonal of row j, from the next one on and in columns before i, with nothing: rows
    /// before i have no transposed blocks of them.
    #[cold]
    fn skip<T: Real>(
        &mut self,
        a: &Bsr<T>,
        range: &Range<usize>,
        diagonal: &[f64],
        (j, i): (usize, usize),
        next: &mut [u32],
    ) {
        let (columns, first) = (a.pattern().row(j), a.pattern().range(j).start);
        let at = &mut next[j - range.start];
        while let Some(&column) = columns.get(*at as usize).filter(|&&column| (column as usize) < i) {
            let mirror = Some(a.value(first + *at as usize));
            let of = |node: usize| Diagonal::Here(&diagonal[(node - range.start) * a.block().0..]);
            self.compare::<T, 0>(a, (column as usize, j), None, mirror, [of(j), of(column as usize)]);
            *at += 1;
        }
    }

    /// Compares the blocks above the diagonal that are left in the columns of this task.
    pub(super) fn end<T: Real>(
        &mut self,
        a: &Bsr<T>,
        range: &Range<usize>,
        diagonal: &[f64],
        next: &mut [u32],
    ) {
        for j in range.clone() {
            let at = a.pattern().range(j).start + next[j - range.start] as usize;
            if at < a.pattern().range(j).end && (a.pattern().indices()[at] as usize) < range.end {
                self.skip(a, range, diagonal, (j, range.end), next);
            }
        }
    }

    /// Whether each node but the first is coupled to an earlier one, so that all nodes are connected.
    pub(super) fn is_connected(&self) -> bool {
        self.firsts == 1
    }

    /// Whether blocks above the diagonal lack their transposed blocks in later ranges.
    pub(super) fn is_open(&self) -> bool {
        self.later > self.earlier
    }

    /// Compares the blocks above the diagonal in columns of later ranges that have no transposed block.
    pub(super) fn close<T: Real>(&mut self, a: &Bsr<T>, range: &Range<usize>) {
        for j in range.clone() {
            let above = a.row(j).filter(|&(i, _)| i >= range.end && a.pattern().find(i, j).is_none());
            for (i, mirror) in above {
                let of = [j, i].map(|node| Diagonal::elsewhere(a, node));
                self.compare::<T, 0>(a, (i, j), None, Some(mirror), of);
            }
        }
    }

    /// Compares block (i, j) below the diagonal with block (j, i).
    #[inline(always)]
    fn compare<T: Real, const B: usize>(
        &mut self,
        a: &Bsr<T>,
        (i, j): (usize, usize),
        here: Option<&[T]>,
        mirror: Option<&[T]>,
        [of_j, of_i]: [Diagonal<'_, T>; 2],
    ) {
        if B > 0
            && let (Some(here), Some(mirror)) = (here, mirror)
            && are_quiet::<T, B>(here, mirror, [of_j, of_i])
        {
            return;
        }
        self.compare_entries(a, (i, j), here, mirror, [of_j, of_i]);
    }

    fn compare_entries<T: Real>(
        &mut self,
        a: &Bsr<T>,
        (i, j): (usize, usize),
        here: Option<&[T]>,
        mirror: Option<&[T]>,
        [of_j, of_i]: [Diagonal<'_, T>; 2],
    ) {
        let b = a.block().0;
        for (r, c) in (0..b).flat_map(|r| (0..b).map(move |c| (r, c))) {
            let ij = mirror.map_or(0.0, |m| m[r * b + c].as_f64());
            let ji = here.map_or(0.0, |h| h[c * b + r].as_f64());
            self.compare_scalars(a, (j * b + r, i * b + c), (ij, ji), [of_j.entry(r), of_i.entry(c)]);
        }
    }

    /// Compares the scalars of a diagonal block.
    fn compare_diagonal<T: Real>(&mut self, a: &Bsr<T>, at: usize, i: usize, of: Diagonal<'_, T>) {
        let (b, block) = (a.block().0, a.value(at));
        for (r, c) in (0..b).flat_map(|r| (r + 1..b).map(move |c| (r, c))) {
            let values = (block[r * b + c].as_f64(), block[c * b + r].as_f64());
            self.compare_scalars(a, (i * b + r, i * b + c), values, [of.entry(r), of.entry(c)]);
        }
    }

    /// Compares a_ij with a_ji for i < j, beside the diagonal entries p and q of their rows.
    fn compare_scalars<T: Real>(
        &mut self,
        a: &Bsr<T>,
        (i, j): (usize, usize),
        (ij, ji): (f64, f64),
        [p, q]: [f64; 2],
    ) {
        if is_near(ij, p, q) {
            self.pair = worse(self.pair, Some((ratio(ij, p, q), i, j)));
        }
        if ij == ji {
            return;
        }
        let scale = (p.abs().sqrt() * q.abs().sqrt()).max(ij.abs()).max(ji.abs());
        let relative = (ij - ji).abs() / scale;
        self.above += usize::from(ji == 0.0);
        self.below += usize::from(ij == 0.0);
        self.record(relative, Some((i, j, ij, ji)));
        if relative > self.unconstrained && ![(i, p), (j, q)].into_iter().any(|(row, d)| is_alone(a, row, d))
        {
            self.unconstrained = relative;
        }
    }

    /// Keeps the larger of two differences, or the first if they are equal.
    fn record(&mut self, relative: f64, pair: Option<(usize, usize, f64, f64)>) {
        let at = |pair: &Option<(usize, usize, f64, f64)>| pair.map_or((0, 0), |(i, j, ..)| (i, j));
        if relative > self.relative
            || relative > 0.0 && relative == self.relative && at(&pair) < at(&self.worst)
        {
            (self.relative, self.worst) = (relative, pair);
        }
    }

    /// Joins the results of two ranges.
    pub(super) fn join(mut self, later: Self) -> Self {
        self.record(later.relative, later.worst);
        Self {
            above: self.above + later.above,
            below: self.below + later.below,
            unconstrained: self.unconstrained.max(later.unconstrained),
            later: self.later + later.later,
            earlier: self.earlier + later.earlier,
            firsts: self.firsts + later.firsts,
            pair: worse(self.pair, later.pair),
            ..self
        }
    }
}

/// Whether v² / (p q) may be near 1 or above.
#[inline(always)]
fn is_near(v: f64, p: f64, q: f64) -> bool {
    v != 0.0 && NEAR * (p * q).abs() <= v * v
}

/// Whether a block equals its transposed block and has no ratio near 1, without a branch per entry.
#[inline(always)]
fn are_quiet<T: Real, const B: usize>(here: &[T], mirror: &[T], [of_j, of_i]: [Diagonal<'_, T>; 2]) -> bool {
    let (here, mirror) = (&here[..B * B], &mirror[..B * B]);
    let (mut p, mut q) = ([0.0; B], [0.0; B]);
    for r in 0..B {
        (p[r], q[r]) = (of_j.entry(r), of_i.entry(r));
    }
    let mut loud = false;
    for r in 0..B {
        for c in 0..B {
            let v = mirror[r * B + c];
            let square = v.as_f64() * v.as_f64();
            loud |= (v != here[c * B + r]) | (NEAR * (p[r] * q[c]).abs() <= square);
        }
    }
    !loud
}

/// The diagonal entries of the scalar rows of a node: known in this task, or in the diagonal block of a node of another task.
#[derive(Clone, Copy)]
enum Diagonal<'a, T> {
    Here(&'a [f64]),
    Elsewhere(Option<&'a [T]>, usize),
}

impl<'a, T: Real> Diagonal<'a, T> {
    fn elsewhere(a: &'a Bsr<T>, node: usize) -> Self {
        Self::Elsewhere(a.pattern().find(node, node).map(|k| a.value(k)), a.block().0 + 1)
    }

    #[inline(always)]
    fn entry(self, r: usize) -> f64 {
        match self {
            Self::Here(diagonal) => diagonal[r],
            Self::Elsewhere(block, stride) => block.map_or(0.0, |block| block[r * stride].as_f64()),
        }
    }
}

/// Whether `diagonal` is the only nonzero of a row.
fn is_alone<T: Real>(a: &Bsr<T>, row: usize, diagonal: f64) -> bool {
    let (b, r) = (a.block().0, row % a.block().0);
    let zeros = |(j, block): (usize, &[T])| (0..b).all(|c| j * b + c == row || block[r * b + c].is_zero());
    diagonal != 0.0 && a.row(row / b).all(zeros)
}
