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

/// The number of block rows per task of a chunk.
const LEAF: usize = 128;

/// y = A x, or y += A x, in chunks of rows. Calls `after` with the number of stored scalars of each chunk.
///
/// The bits are those of [`Bsr::apply_add`], whatever the chunks.
pub(super) fn multiply<T: Number>(
    a: &Bsr<T>,
    x: &[T],
    add: bool,
    y: &mut [T],
    mut after: impl FnMut(usize) -> Result<(), CommError>,
) -> Result<(), CommError> {
    let (offsets, (r, c)) = (a.pattern().offsets(), a.block());
    let worth = parallel::worth_product(a.nnz());
    let blocks = if worth { PARALLEL } else { SERIAL }.div_ceil(r * c);
    let (mut first, mut rest) = (0, y);
    while first < a.pattern().rows() {
        let end = offsets.partition_point(|&o| o <= offsets[first] + blocks).max(first + 2) - 1;
        let (chunk, after_it) = rest.split_at_mut((end - first) * r);
        each((first..end, Groups(chunk, r)), LEAF, worth, &|(rows, y): (Range<usize>, Groups<&mut [T]>)| {
            a.row_products(rows, x, &mut |at, t| {
                for (y, &t) in y.0[at..at + t.len()].iter_mut().zip(t) {
                    *y = if add { *y + t } else { t };
                }
            });
        });
        after((offsets[end] - offsets[first]) * r * c)?;
        (first, rest) = (end, after_it);
    }
    Ok(())
}
