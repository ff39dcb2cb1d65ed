//! New values of A_c for full blocks of P, at positions that the first update computes.
//!
//! Fine rows are visited in order. A row of Q is summed in the cache, added to all coarse rows of the task
//! that need it, and dropped. Nothing is searched or sorted. Every entry of A_c is the sum of
//! [`rows`](super::rows) and [`scalars`](super::scalars), in their order, so a new build gives the same bits.

use std::marker::PhantomData;
use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::simd::{self, Kernel, Pack, Set};

use super::blocks::{Eight, Four, Twelve, Width, add, add_in_registers, add_to_block, row, whole, width};
use super::factors::Factors;
use crate::{Bsr, Pattern};

/// A coarse row is searched by bisection if it has more than this number of blocks for each block of a row of
/// Q.
const LONG: usize = 8;

/// The positions of the block products of a task.
#[derive(Clone, Debug)]
pub(super) struct Positions<T> {
    /// For each fine row that the task needs, the number of blocks of its row of Q.
    lengths: Vec<u32>,
    /// For each of these rows, the position in the row of Q of each block product, then for each coarse row
    /// the positions of these blocks. The length of a row determines the [`position_bytes`] of its positions.
    bytes: Vec<u8>,
    /// A row of Q, with rows of blocks as long as a pack.
    q: Vec<T>,
}

/// The number of bytes of a position in a row of `len` blocks.
#[inline(always)]
fn position_bytes(len: usize) -> usize {
    match len {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    }
}

/// The coarse nodes of fine row `fine` in `rows`, the coarse rows of a task, as entries of P.
#[inline(always)]
fn own<'a>(p: &'a Pattern, fine: usize, rows: &'a Range<usize>) -> impl Iterator<Item = usize> + 'a {
    p.range(fine).filter(|&at| rows.contains(&(p.indices()[at] as usize)))
}

/// The lengths of the lists of [`Positions`], which are counted before these are allocated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    lengths: usize,
    bytes: usize,
    q: usize,
}

impl Counts {
    /// The counts for the coarse rows `rows`, which need rows of A in `fine`. `coarse` is the pattern of A_c.
    pub(super) fn new<T: Real>(
        factors: &Factors<'_, T>,
        (rows, fine): (&Range<usize>, &Range<usize>),
        coarse: &Pattern,
    ) -> Self {
        let (a, p) = (factors.a.pattern(), factors.p.pattern);
        let mut last_seen = vec![u32::MAX; coarse.columns()]; // the last row that has a column of Q
        let (mut counts, mut longest) = (Self::default(), 0);
        for i in fine.clone().filter(|&i| own(p, i, rows).next().is_some()) {
            let (mut products, mut len) = (0, 0);
            for &column in a.row(i).iter().flat_map(|&j| p.row(j as usize)) {
                let last = std::mem::replace(&mut last_seen[column as usize], i as u32);
                products += 1;
                len += usize::from(last != i as u32);
            }
            longest = longest.max(len);
            let in_coarse_row = |at| position_bytes(coarse.row(p.indices()[at] as usize).len());
            counts.lengths += 1;
            counts.bytes +=
                products * position_bytes(len) + len * own(p, i, rows).map(in_coarse_row).sum::<usize>();
        }
        let (b, k) = factors.p.block;
        counts.q = longest * b * width((b, k));
        counts
    }

    /// The number of bytes of these lists.
    pub(super) fn total<T>(&self) -> usize {
        4 * self.lengths + self.bytes + size_of::<T>() * self.q
    }
}

impl<T: Real> Positions<T> {
    /// The positions of [`Counts::new`] for the same rows.
    pub(super) fn new(
        factors: &Factors<'_, T>,
        (rows, fine): (&Range<usize>, &Range<usize>),
        coarse: &Pattern,
        counts: Counts,
    ) -> Self {
        let (a, p) = (factors.a.pattern(), factors.p.pattern);
        let mut positions = Self {
            lengths: Vec::with_capacity(counts.lengths),
            bytes: Vec::with_capacity(counts.bytes),
            q: vec![T::zero(); counts.q],
        };
        // For each column of Q, the last row that has it, and its position there.
        let mut last_seen = vec![[u32::MAX, 0]; coarse.columns()];
        let mut columns = Vec::new();
        for i in fine.clone().filter(|&i| own(p, i, rows).next().is_some()) {
            columns.clear();
            for &column in a.row(i).iter().flat_map(|&j| p.row(j as usize)) {
                let last = &mut last_seen[column as usize][0];
                if *last != i as u32 {
                    *last = i as u32;
                    columns.push(column);
                }
            }
            columns.sort_unstable();
            columns.iter().zip(0..).for_each(|(&column, at)| last_seen[column as usize][1] = at);
            positions.lengths.push(columns.len() as u32);
            for &j in a.row(i) {
                let row = p.row(j as usize).iter();
                positions.push(row.map(|&column| last_seen[column as usize][1]), columns.len());
            }
            for at in own(p, i, rows) {
                positions.push_row(coarse.row(p.indices()[at] as usize), &columns);
            }
        }
        positions
    }

    /// Appends positions in a row of `len` blocks.
    #[inline]
    fn push(&mut self, positions: impl Iterator<Item = u32>, len: usize) {
        match position_bytes(len) {
            1 => self.bytes.extend(positions.map(|position| position as u8)),
            2 => positions.for_each(|position| self.bytes.extend((position as u16).to_le_bytes())),
            _ => positions.for_each(|position| self.bytes.extend(position.to_le_bytes())),
        }
    }

    /// Appends the positions of `columns` in a coarse row, which has all of them; both are sorted.
    fn push_row(&mut self, row: &[u32], columns: &[u32]) {
        let (mut at, long) = (0, row.len() > LONG * columns.len());
        let positions = columns.iter().map(|&column| {
            at += match long {
                true => row[at..].partition_point(|&c| c < column),
                false => row[at..].iter().take_while(|&&c| c < column).count(),
            };
            at as u32
        });
        self.push(positions, row.len());
    }

    pub(super) fn bytes(&self) -> usize {
        4 * self.lengths.capacity() + self.bytes.capacity() + size_of::<T>() * self.q.len()
    }

    /// Computes the values of the coarse rows `rows` of A_c.
    pub(super) fn sum(
        &mut self,
        factors: Factors<'_, T>,
        p: &Bsr<T>,
        (rows, fine): (&Range<usize>, &Range<usize>),
        coarse: &Pattern,
        values: &mut [T],
    ) {
        values.fill(T::zero());
        let Self { lengths, bytes: positions, q } = self;
        let task = Task { a: factors.a, p, rows, fine, coarse, lengths, positions, q, values };
        match p.block() {
            (1, 1) => task.scalars(),
            (3, 3) => simd::run(Sum::<T, Four, 3, 3>(task, PhantomData)),
            (3, 6) => simd::run(Sum::<T, Eight, 3, 6>(task, PhantomData)),
            (6, 6) => simd::run(Sum::<T, Eight, 6, 6>(task, PhantomData)),
            (3, 12) => simd::run(Sum::<T, Twelve, 3, 12>(task, PhantomData)),
            (12, 12) => simd::run(Sum::<T, Twelve, 12, 12>(task, PhantomData)),
            _ => simd::run(Sum::<T, Four, 0, 0>(task, PhantomData)),
        }
    }
}

/// The data of one call of [`Positions::sum`].
struct Task<'a, T> {
    a: &'a Bsr<T>,
    p: &'a Bsr<T>,
    rows: &'a Range<usize>,
    fine: &'a Range<usize>,
    coarse: &'a Pattern,
    lengths: &'a [u32],
    positions: &'a [u8],
    q: &'a mut [T],
    /// The values of the coarse rows.
    values: &'a mut [T],
}

/// Splits off the first `count` positions of N bytes.
#[inline(always)]
fn take<'a, const N: usize>(positions: &mut &'a [u8], count: usize) -> &'a [[u8; N]] {
    let (first, rest) = positions.split_at(count * N);
    *positions = rest;
    first.as_chunks().0
}

#[inline(always)]
fn decode<const N: usize>(bytes: &[u8; N]) -> usize {
    bytes.iter().rev().fold(0, |position, &byte| position << 8 | usize::from(byte))
}

impl<T: Real> Task<'_, T> {
    /// Calls `row_of_q(i, len, positions)` for each fine row i, and for each of its coarse rows
    /// `add_row(entry of P, len, row of values, positions)`.
    #[inline(always)]
    fn each(
        self,
        area: usize,
        row_of_q: impl Fn(&Bsr<T>, &Bsr<T>, usize, &mut [T], usize, &mut &[u8]),
        add_row: impl Fn(&Bsr<T>, usize, &[T], usize, &mut [T], &mut &[u8]),
    ) {
        let Self { a, p, rows, fine, coarse, lengths, mut positions, q, values } = self;
        let (pattern, first) = (p.pattern(), coarse.offsets()[rows.start]);
        let mut lengths = lengths.iter();
        for i in fine.clone() {
            let mut own = own(pattern, i, rows).peekable();
            if own.peek().is_none() {
                continue;
            }
            let len = *lengths.next().expect("a length for each fine row") as usize;
            row_of_q(a, p, i, q, len, &mut positions);
            for at in own {
                let row = coarse.range(pattern.indices()[at] as usize);
                let row = &mut values[(row.start - first) * area..(row.end - first) * area];
                add_row(p, at, q, len, row, &mut positions);
            }
        }
    }

    fn scalars(self) {
        self.each(
            1,
            #[inline(always)]
            |a, p, i, q, len, positions| {
                let q = &mut q[..len];
                match position_bytes(len) {
                    1 => row_of_scalars::<T, 1>(a, p, i, q, positions),
                    2 => row_of_scalars::<T, 2>(a, p, i, q, positions),
                    _ => row_of_scalars::<T, 4>(a, p, i, q, positions),
                }
            },
            #[inline(always)]
            |p, at, q, len, row, positions| {
                let (factor, q) = (p.values()[at], &q[..len]);
                match position_bytes(row.len()) {
                    1 => add_scalars::<T, 1>(factor, q, row, positions),
                    2 => add_scalars::<T, 2>(factor, q, row, positions),
                    _ => add_scalars::<T, 4>(factor, q, row, positions),
                }
            },
        );
    }
}

#[inline(always)]
fn row_of_scalars<T: Real, const N: usize>(
    a: &Bsr<T>,
    p: &Bsr<T>,
    i: usize,
    q: &mut [T],
    positions: &mut &[u8],
) {
    q.fill(T::zero());
    for (&j, &factor) in a.pattern().row(i).iter().zip(&a.values()[a.pattern().range(i)]) {
        let row = p.pattern().range(j as usize);
        for (bytes, &v) in take::<N>(positions, row.len()).iter().zip(&p.values()[row]) {
            q[decode(bytes)] += factor * v;
        }
    }
}

#[inline(always)]
fn add_scalars<T: Real, const N: usize>(factor: T, q: &[T], row: &mut [T], positions: &mut &[u8]) {
    for (bytes, &v) in take::<N>(positions, q.len()).iter().zip(q) {
        row[decode(bytes)] += factor * v;
    }
}

/// The rows of a task for B x K blocks of P; 0 x 0 stands for any size.
struct Sum<'a, T, W, const B: usize, const K: usize>(Task<'a, T>, PhantomData<W>);

impl<T: Real, W: Width, const B: usize, const K: usize> Kernel<T> for Sum<'_, T, W, B, K> {
    type Output = ();

    #[inline(always)]
    fn run<S: Set<T>>(self, set: S) {
        let (b, k) = if B == 0 { self.0.p.block() } else { (B, K) };
        let size = b * if B == 0 { k } else { W::Pack::<T, S>::LANES };
        self.0.each(
            k * k,
            #[inline(always)]
            |a, p, i, q, len, positions| {
                let q = &mut q[..len * size];
                q.fill(T::zero());
                let blocks = a.values()[a.pattern().range(i).start * b * b..].chunks_exact(b * b);
                for (&j, a) in a.pattern().row(i).iter().zip(blocks) {
                    let row = p.pattern().range(j as usize);
                    let of_p = &p.values()[row.start * b * k..row.end * b * k];
                    for p in of_p.chunks_exact(b * k) {
                        let at = next(positions, position_bytes(len)) * size;
                        multiply_right::<T, S, W, B, K>(set, (b, k), a, p, &mut q[at..at + size]);
                    }
                }
            },
            #[inline(always)]
            |p, at, q, len, row, positions| {
                let (p, bytes) = (p.value(at), position_bytes(row.len() / (k * k)));
                for q in q[..len * size].chunks_exact(size) {
                    let at = next(positions, bytes) * k * k;
                    multiply_left::<T, S, W, B, K>(set, (b, k), p, q, &mut row[at..at + k * k]);
                }
            },
        );
    }
}

/// Splits off one position of `bytes` bytes.
#[inline(always)]
fn next(positions: &mut &[u8], bytes: usize) -> usize {
    match bytes {
        1 => decode(&take::<1>(positions, 1)[0]),
        2 => decode(&take::<2>(positions, 1)[0]),
        _ => decode(&take::<4>(positions, 1)[0]),
    }
}

/// Q_iJ += A_ij P_jJ.
#[inline(always)]
fn multiply_right<T: Real, S: Set<T>, W: Width, const B: usize, const K: usize>(
    set: S,
    (b, k): (usize, usize),
    a: &[T],
    p: &[T],
    q: &mut [T],
) {
    if B == 0 {
        return add((b, b, k), |y, x| a[y * b + x], |x| &p[x * k..(x + 1) * k], q);
    }
    let right = |x| row::<T, W::Pack<T, S>, K>(set, p, x);
    add_in_registers::<T, W::Pack<T, S>, B, B>(set, |y, x| a[y * B + x], right, q);
}

/// (A_c)_IJ += P_iIᵀ Q_iJ.
#[inline(always)]
fn multiply_left<T: Real, S: Set<T>, W: Width, const B: usize, const K: usize>(
    set: S,
    (b, k): (usize, usize),
    p: &[T],
    q: &[T],
    c: &mut [T],
) {
    if B == 0 {
        return add((k, b, k), |y, x| p[x * k + y], |x| &q[x * k..(x + 1) * k], c);
    }
    let (p, right) = (&p[..B * K], |x| whole::<T, W::Pack<T, S>>(set, q, x));
    add_to_block::<T, W::Pack<T, S>, K, B>(set, |y, x| p[x * K + y], right, c);
}
