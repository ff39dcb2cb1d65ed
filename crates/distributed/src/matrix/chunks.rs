//! Products by chunks of rows, so that messages can be polled in between.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_sparse::Bsr;

use crate::{CommError, Number};

/// The number of stored scalars per chunk of a product on one thread: some 10 µs, so that a message waits no
/// longer than a latency of a network.
const SERIAL: usize = 1 << 14;

/// The number of stored scalars per chunk of a product on several threads, enough for all of them.
const PARALLEL: usize = 1 << 20;

/// The largest number of block rows per leaf.
const LEAF: usize = 128;

/// The number of block rows per leaf: about a serial chunk, whatever the number of threads. Chunks are whole leaves, so
/// sums of leaves have the same bits on any number of threads.
pub(super) fn leaf<T: Number>(a: &Bsr<T>) -> usize {
    (SERIAL * a.pattern().rows() / a.nnz().max(1)).clamp(1, LEAF)
}

/// The number of leaves.
pub(super) fn leaves<T: Number>(a: &Bsr<T>) -> usize {
    a.pattern().rows().div_ceil(leaf(a))
}

/// A x in chunks of rows: `write(rows, y, t)` combines the entries `rows` of y with those of t = A x. Calls `after` with the
/// block rows of each chunk, their y, and the number of their stored scalars.
///
/// The bits are those of [`Bsr::apply_add`], whatever the chunks.
pub(super) fn multiply<T: Number>(
    a: &Bsr<T>,
    x: &[T],
    y: &mut [T],
    write: &(impl Fn(Range<usize>, &mut [T], &[T]) + Sync),
    mut after: impl FnMut(Range<usize>, &[T], usize) -> Result<(), CommError>,
) -> Result<(), CommError> {
    let (offsets, (r, c), leaf) = (a.pattern().offsets(), a.block(), leaf(a));
    let worth = parallel::worth_product(a.nnz());
    let blocks = if worth { PARALLEL } else { SERIAL }.div_ceil(r * c);
    let (mut first, mut rest) = (0, y);
    while first < a.pattern().rows() {
        let most = offsets.partition_point(|&o| o <= offsets[first] + blocks) - 1 - first;
        let end = (first + (most / leaf).max(1) * leaf).min(a.pattern().rows());
        let (chunk, after_it) = rest.split_at_mut((end - first) * r);
        each((first..end, Groups(&mut *chunk, r)), leaf, worth, &|(rows, y): (
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
