//! Products by chunks of rows, so that messages can be polled in between.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, Pieces, each};
use coarsen_sparse::Bsr;

use super::split::OffDiagonal;
use crate::CommError;

/// The number of stored scalars per chunk of a product on one thread: some 10 µs, so that a message waits no
/// longer than a latency of a network.
const SERIAL: usize = 1 << 14;

/// The number of stored scalars per chunk of a product on several threads, enough for all of them.
const PARALLEL: usize = 1 << 20;

/// The largest number of block rows per leaf.
const LEAF: usize = 128;

/// The number of block rows per leaf: about a serial chunk, whatever the number of threads. Chunks are whole leaves, so
/// sums of leaves have the same bits on any number of threads.
pub(super) fn leaf<T: Real>(a: &Bsr<T>) -> usize {
    (SERIAL * a.pattern().rows() / a.nnz().max(1)).clamp(1, LEAF)
}

pub(super) fn leaves<T: Real>(a: &Bsr<T>) -> usize {
    a.pattern().rows().div_ceil(leaf(a))
}

/// A x in chunks of rows: `write(rows, y, t)` combines the entries `rows` of y with those of t = A x. Calls `after` with the
/// block rows of each chunk, their y, and the number of their stored scalars.
///
/// The bits are those of [`Bsr::apply_add`], whatever the chunks.
pub(super) fn multiply<T: Real>(
    a: &Bsr<T>,
    x: &[T],
    y: &mut [T],
    write: &(impl Fn(Range<usize>, &mut [T], &[T]) + Sync),
    mut after: impl FnMut(Range<usize>, &mut [T], usize) -> Result<(), CommError>,
) -> Result<(), CommError> {
    let (offsets, (r, c), worth) = (a.pattern().offsets(), a.block(), parallel::worth_product(a.nnz()));
    let (mut first, mut rest) = (0, y);
    while first < a.pattern().rows() {
        let end = end_of(a, first, worth);
        let (chunk, after_it) = rest.split_at_mut((end - first) * r);
        each((first..end, Groups(&mut *chunk, r)), leaf(a), worth, &|(rows, y): (
            Range<usize>,
            Groups<&mut [T]>,
        )| {
            a.row_products(rows.clone(), x, &mut |at, t| {
                let first = rows.start * r + at;
                write(first..first + t.len(), &mut y.0[at..at + t.len()], t);
            });
        });
        after(first..end, chunk, (offsets[end] - offsets[first]) * r * c)?;
        (first, rest) = (end, after_it);
    }
    Ok(())
}

/// The end of the chunk that begins at block row `first`: whole leaves, at least one.
fn end_of<T: Real>(a: &Bsr<T>, first: usize, worth: bool) -> usize {
    let (offsets, (r, c), leaf, rows) = (a.pattern().offsets(), a.block(), leaf(a), a.pattern().rows());
    let most = offsets[first] + if worth { PARALLEL } else { SERIAL }.div_ceil(r * c);
    let mut end = (first + leaf).min(rows);
    while end < rows && offsets[(end + leaf).min(rows)] <= most {
        end = (end + leaf).min(rows);
    }
    end
}

/// Rows of an off-diagonal block, numbered within it, and the entries of y from block row `from` on.
struct Scattered<'a, T> {
    of: &'a [u32],
    numbers: Range<usize>,
    from: usize,
    y: &'a mut [T],
    r: usize,
}

impl<T: Real> Pieces for Scattered<'_, T> {
    fn extent(&self) -> usize {
        self.numbers.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let Self { of, numbers, from, y, r } = self;
        let at = numbers.start + mid;
        // The second part begins at its first row.
        let next = if mid < numbers.len() { of[at] as usize } else { from + y.len() / r };
        let (left, right) = y.split_at_mut((next - from) * r);
        (
            Self { of, numbers: numbers.start..at, from, y: left, r },
            Self { of, numbers: at..numbers.end, from: next, y: right, r },
        )
    }
}

/// A x of an off-diagonal block in chunks of its rows: `write(y, t)` combines the entries of y of a row with those of t = A x. Calls
/// `after` with the number of stored scalars of each chunk.
pub(super) fn scatter<T: Real>(
    off_diagonal: &OffDiagonal<T>,
    x: &[T],
    y: &mut [T],
    write: &(impl Fn(&mut [T], &[T]) + Sync),
    mut after: impl FnMut(usize) -> Result<(), CommError>,
) -> Result<(), CommError> {
    let (a, of, r) = (&off_diagonal.a, &off_diagonal.rows[..], off_diagonal.a.block().0);
    let (offsets, worth) = (a.pattern().offsets(), parallel::worth_product(a.nnz()));
    let mut first = 0;
    while first < of.len() {
        let end = end_of(a, first, worth);
        let rows = Scattered { of, numbers: first..end, from: 0, y: &mut *y, r };
        each(rows, leaf(a), worth, &|Scattered { of, numbers, from, y, .. }| {
            let start = numbers.start;
            a.row_products(numbers, x, &mut |at, t| {
                for (row, t) in of[start + at / r..].iter().zip(t.chunks_exact(r)) {
                    let at = (*row as usize - from) * r;
                    write(&mut y[at..at + r], t);
                }
            });
        });
        after((offsets[end] - offsets[first]) * r * a.block().1)?;
        first = end;
    }
    Ok(())
}
