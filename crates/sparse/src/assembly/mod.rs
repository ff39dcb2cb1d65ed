//! Assembly of matrices from streams of entries.
//!
//! 1. Count the entries of each row.
//! 2. Scatter the entry numbers to their rows, in stream order.
//! 3. Sort each row by column (stable) and mark duplicates.
//! 4. Gather: each stored block is the sum of its entries, in stream order.
//!
//! Steps 3 and 4 run in parallel over rows, without atomics, so the bits do not depend on the number of
//! threads. An [`Assembly`] stores the result of the first three steps for a pattern that is filled
//! repeatedly.

mod plan;

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel;
use rayon::prelude::*;

use crate::{Bsr, Buckets, Pattern, SparseError};

pub use plan::Assembly;

/// The matrix of scalar entries (row, column, value); duplicates are summed in the order of the list.
///
/// Zeros are stored, so the pattern does not depend on values. Sums start at +0, so a −0 becomes +0; this can
/// only change the sign of later results that are zero. *Cost* about 30 bytes of memory traffic per entry and
/// a sort within each row.
///
/// ```
/// let a = coarsen_sparse::assembly::from_triplets(1, 1, &[(0, 0, 1.0), (0, 0, 2.0)])?;
/// assert_eq!(a.values(), [3.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
///
/// # Errors
/// [`SparseError::Row`] or [`SparseError::Column`] if an entry lies outside the matrix.
pub fn from_triplets<T: Real>(
    rows: usize,
    columns: usize,
    entries: &[(u32, u32, T)],
) -> Result<Bsr<T>, SparseError> {
    let places = || entries.iter().map(|e| (e.0, e.1)).enumerate();
    assemble((rows, columns), (1, 1), entries.len(), &places, &|k, sum| sum[0] += entries[k].2)
}

/// The square matrix of the scalar entries (i, j, a) and of the mirrored entries (j, i, `sign` · a) for i ≠
/// j. Duplicates are summed in the order of the list, and mirrored entries come after all listed entries.
///
/// *Use* for one triangle of a symmetric matrix (`sign` = 1) or of a skew-symmetric matrix (`sign` = −1). The
/// triangle is not checked: entries on both sides of the diagonal are mirrored.
/// *Cost* as [`from_triplets`] for all entries, but the mirrored list is not stored.
///
/// # Errors
/// [`SparseError::Row`] or [`SparseError::Column`] if an entry lies outside the matrix.
pub fn from_half<T: Real>(n: usize, entries: &[(u32, u32, T)], sign: T) -> Result<Bsr<T>, SparseError> {
    let given = entries.len();
    let places = || {
        let mirrored = (given..).zip(entries).filter(|(_, e)| e.0 != e.1).map(|(k, e)| (k, (e.1, e.0)));
        entries.iter().map(|e| (e.0, e.1)).enumerate().chain(mirrored)
    };
    let add = |k: usize, sum: &mut [T]| {
        sum[0] += if k < given { entries[k].2 } else { sign * entries[k - given].2 };
    };
    assemble((n, n), (1, 1), given.saturating_mul(2), &places, &add)
}

/// The matrix of scalar entries, stored in blocks of r x c. Entries of a block that are not in the list are
/// zero.
///
/// # Errors
/// As [`from_triplets`], and [`SparseError::BlockSize`] if the blocks do not tile the matrix.
pub fn from_triplets_blocked<T: Real>(
    rows: usize,
    columns: usize,
    block: (usize, usize),
    entries: &[(u32, u32, T)],
) -> Result<Bsr<T>, SparseError> {
    let (r, c) = block;
    let blocks = count_blocks((rows, columns), block)?;
    let places = || entries.iter().map(|e| (e.0 / r as u32, e.1 / c as u32)).enumerate();
    let add = |k: usize, sum: &mut [T]| {
        let (i, j, v) = entries[k];
        sum[i as usize % r * c + j as usize % c] += v;
    };
    assemble(blocks, block, entries.len(), &places, &add)
}

/// The matrix of a stream of dense blocks. Block k has the block position `places[k]` and the row-major
/// values `values[k·r·c .. (k + 1)·r·c]`. Duplicates are summed in stream order.
///
/// Finite elements produce such streams: one block per pair of nodes of an element. The size, `rows` and `columns`, counts
/// blocks, as `places` do and as in [`Assembly::new`]: it is (n, n) for n nodes.
///
/// # Errors
/// [`SparseError::Length`] unless there are r·c values per place, [`SparseError::BlockSize`] for an empty block; other
/// errors as [`from_triplets`].
pub fn from_blocks<T: Real>(
    (rows, columns): (usize, usize),
    block: (usize, usize),
    places: &[(u32, u32)],
    values: &[T],
) -> Result<Bsr<T>, SparseError> {
    let scalars = (rows.saturating_mul(block.0), columns.saturating_mul(block.1));
    count_blocks(scalars, block)?;
    let size = block.0 * block.1;
    let expected = places.len().saturating_mul(size);
    if values.len() != expected {
        return Err(SparseError::Length { what: "block values", expected, found: values.len() });
    }
    let add = |k: usize, sum: &mut [T]| {
        sum.iter_mut().zip(&values[k * size..(k + 1) * size]).for_each(|(s, &v)| *s += v);
    };
    assemble((rows, columns), block, places.len(), &|| places.iter().copied().enumerate(), &add)
}

/// As [`from_blocks`], for square blocks given as arrays of rows, which assembly loops usually compute.
///
/// ```
/// let spring = [[2.0, 0.5], [0.5, 1.0]];
/// let a = coarsen_sparse::assembly::from_square_blocks((2, 2), &[(0, 0), (1, 1), (0, 0)], &[spring, spring, spring])?;
/// assert_eq!((a.get(0, 1), a.get(2, 3), a.block()), (1.0, 0.5, (2, 2)));
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
///
/// # Errors
/// As [`from_blocks`].
pub fn from_square_blocks<T: Real, const B: usize>(
    size: (usize, usize),
    places: &[(u32, u32)],
    blocks: &[[[T; B]; B]],
) -> Result<Bsr<T>, SparseError> {
    from_blocks(size, (B, B), places, blocks.as_flattened().as_flattened())
}

/// The numbers of block rows and block columns for sizes in scalars. Block sizes are limited to `u32`, so
/// that their product fits `usize`.
fn count_blocks(
    (rows, columns): (usize, usize),
    (r, c): (usize, usize),
) -> Result<(usize, usize), SparseError> {
    if r == 0 || c == 0 || !rows.is_multiple_of(r) || !columns.is_multiple_of(c) {
        return Err(SparseError::BlockSize { rows, columns, block_rows: r, block_columns: c });
    }
    let limit = u32::MAX as usize;
    match [("rows of a block", r), ("columns of a block", c)].into_iter().find(|side| side.1 > limit) {
        Some((what, count)) => Err(SparseError::TooLarge { what, count, limit }),
        None => Ok((rows / r, columns / c)),
    }
}

/// Counts the entries of each row in a stream of `count` entries, whose `places` come with the number of the entry.
fn count_rows(
    (rows, columns): (usize, usize),
    count: usize,
    places: impl Iterator<Item = (usize, (u32, u32))>,
) -> Result<Buckets, SparseError> {
    let limit = u32::MAX as usize;
    for (what, count) in [("entries", count), ("block rows", rows), ("block columns", columns)] {
        if count > limit {
            return Err(SparseError::TooLarge { what, count, limit });
        }
    }
    let mut buckets = Buckets::new(rows);
    for (entry, (i, j)) in places {
        let (row, column) = (i as usize, j as usize);
        if row >= rows {
            return Err(SparseError::Row { entry, row, rows });
        }
        if column >= columns {
            return Err(SparseError::Column { row, column, columns });
        }
        buckets.count(row);
    }
    Ok(buckets)
}

/// Runs the four steps for blocks at `places`, each with its entry number (below `count`). `add(number, sum)`
/// adds the values of the entry to `sum`.
fn assemble<T: Real, I: Iterator<Item = (usize, (u32, u32))>>(
    (rows, columns): (usize, usize),
    block: (usize, usize),
    count: usize,
    places: &impl Fn() -> I,
    add: &(impl Fn(usize, &mut [T]) + Sync),
) -> Result<Bsr<T>, SparseError> {
    let mut buckets = count_rows((rows, columns), count, places())?; // 1
    let parallel = parallel::worth(count.saturating_mul(block.0 * block.1));

    // 2
    let mut order = vec![(0_u32, 0_u32); buckets.sum_up()]; // (column, entry)
    for (entry, (i, j)) in places() {
        order[buckets.place(i as usize)] = (j, entry as u32);
    }
    let starts = buckets.into_starts();

    // (column, entry) pairs are unique, so an unstable sort keeps equal columns in stream order
    let mut offsets = vec![0; rows + 1];
    let mut pieces = split(&mut order, &starts, 1);
    let sort = |((piece, sizes), starts): ((&mut &mut [(u32, u32)], &mut [usize]), &[usize])| {
        for (size, ends) in sizes.iter_mut().zip(starts.windows(2)) {
            let row = &mut piece[ends[0] - starts[0]..ends[1] - starts[0]];
            row.sort_unstable();
            *size = row.chunk_by(|a, b| a.0 == b.0).count();
        }
    };
    let sizes = &mut offsets[1..];
    if parallel {
        pieces.par_iter_mut().zip(sizes.par_chunks_mut(PIECE)).zip(bounds_parallel(&starts)).for_each(sort);
    } else {
        pieces.iter_mut().zip(sizes.chunks_mut(PIECE)).zip(bounds(&starts)).for_each(sort);
    }
    (0..rows).for_each(|i| offsets[i + 1] += offsets[i]);

    // 4
    let size = block.0 * block.1;
    let total = offsets[rows];
    let (mut indices, mut values) = (vec![0_u32; total], vec![T::zero(); total * size]);
    let gather =
        |(((piece, starts), indices), values): (((&&mut [(u32, u32)], &[usize]), &mut [u32]), &mut [T])| {
            let rows = starts.windows(2).map(|ends| &piece[ends[0] - starts[0]..ends[1] - starts[0]]);
            let groups = rows.flat_map(|row| row.chunk_by(|a, b| a.0 == b.0));
            // Write the pages before reading them. If the first access to a new page is a read, the page is
            // mapped twice, and the second mapping interrupts all threads.
            values.fill(T::zero());
            for ((group, index), sum) in groups.zip(indices).zip(values.chunks_exact_mut(size.max(1))) {
                *index = group[0].0;
                group.iter().for_each(|&(_, entry)| add(entry as usize, sum));
            }
        };
    let (index_pieces, value_pieces) = (split(&mut indices, &offsets, 1), split(&mut values, &offsets, size));
    if parallel {
        let pieces = pieces.par_iter().zip(bounds_parallel(&starts));
        pieces.zip(index_pieces).zip(value_pieces).for_each(gather);
    } else {
        pieces.iter().zip(bounds(&starts)).zip(index_pieces).zip(value_pieces).for_each(gather);
    }
    Bsr::new(Arc::new(Pattern::new(columns, offsets, indices)?), block, values)
}

/// The number of rows per piece of work, large enough that a list of pieces is small compared to a list of
/// rows.
const PIECE: usize = 64;

/// The offsets of the rows of each piece, including the end of the last row of the piece.
fn bounds(offsets: &[usize]) -> impl Iterator<Item = &[usize]> {
    let rows = offsets.len() - 1;
    (0..rows).step_by(PIECE).map(move |first| &offsets[first..=(first + PIECE).min(rows)])
}

/// [`bounds`] as a parallel iterator.
fn bounds_parallel(offsets: &[usize]) -> impl IndexedParallelIterator<Item = &[usize]> {
    let rows = offsets.len() - 1;
    let piece = move |k: usize| &offsets[k * PIECE..=((k + 1) * PIECE).min(rows)];
    (0..rows.div_ceil(PIECE)).into_par_iter().map(piece)
}

/// Divides `all` into the slices of the pieces, with `size` elements per block.
fn split<'a, T>(mut all: &'a mut [T], offsets: &[usize], size: usize) -> Vec<&'a mut [T]> {
    let pieces = bounds(offsets).map(|bounds| {
        let (piece, rest) =
            std::mem::take(&mut all).split_at_mut((bounds[bounds.len() - 1] - bounds[0]) * size);
        all = rest;
        piece
    });
    pieces.collect()
}
