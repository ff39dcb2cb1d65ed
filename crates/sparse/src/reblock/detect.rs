//! Which block sizes a scalar pattern has.

use std::ops::Range;

use coarsen_core::parallel::{self, tree};

use super::{LARGEST, ROWS};
use crate::Pattern;

/// A sample of a pattern: so many runs of so many scalar rows each.
pub(super) const RUNS: usize = 16;
pub(super) const RUN: usize = 480;

/// What a scalar pattern would be in b x b blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocking {
    /// The block size b.
    pub size: usize,
    /// How many blocks would be stored.
    pub blocks: usize,
    /// Which share of their entries the scalar pattern holds, in 0..=1; 1 for a matrix without entries.
    pub fill: f64,
    /// Bytes of the matrix with values in `f64`: 8 b² + 4 a block and 8 a block row.
    pub bytes: usize,
}

/// What a pattern of scalars would be in blocks of 1, 2, …, 12, as far as they tile it, in increasing size.
///
/// Stored zeros count as entries. *Cost* one pass over the pattern a size, parallel, without scratch of its size.
///
/// ```
/// use coarsen_sparse::{Zeros, Bsr, block_sizes};
/// let a = Bsr::<f64>::identity(2, 3)?.reblock((1, 1), Zeros::Keep)?; // two full 3x3 blocks, as scalars
/// let fills: Vec<_> = block_sizes(a.pattern()).iter().map(|b| (b.size, b.blocks, b.fill)).collect();
/// assert_eq!(fills, [(1, 18, 1.0), (2, 7, 18.0 / 28.0), (3, 2, 1.0), (6, 1, 0.5)]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
pub fn block_sizes(scalars: &Pattern) -> Vec<Blocking> {
    let whole = 0..scalars.rows();
    sizes(scalars).map(|size| Blocking::counted(scalars, size, std::slice::from_ref(&whole))).collect()
}

/// The block size to store a pattern of scalars in: the one that takes the fewest bytes, the larger of equals; only
/// sizes whose blocks are at least half full are considered.
///
/// Memory is traffic, and traffic is what a product with a vector costs: blocks break even with scalars at a fill of 0.75 (2x2), 0.70
/// (3x3) or 0.68 (6x6), a little less where rows are short. The rule finds the unknowns of a node when they are numbered
/// together, as simulations do (3 in elasticity, 6 in shells), even where an assembler dropped zeros; an interleaved
/// numbering (all x, then all y) must be permuted first. Chains of nodes are not taken for one larger node: two
/// neighbours on a grid fill half of their common blocks.
/// Large patterns are judged by a sample of their rows, and what it says by a pass over all of them, beside scalars.
/// *Cost* one pass over the pattern, and one a size over a sample of it; where that pass refutes the sample, as [`block_sizes`].
///
/// ```
/// use coarsen_sparse::{Pattern, detect_block_size};
/// assert_eq!(detect_block_size(&Pattern::diagonal(6)?), 1);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
pub fn detect_block_size(scalars: &Pattern) -> usize {
    Blocking::best(scalars).map_or(1, |best| best.size)
}

impl Blocking {
    /// What [`detect_block_size`] finds, counted; `None` where scalars are best.
    ///
    /// *Cost* as [`detect_block_size`].
    pub fn best(scalars: &Pattern) -> Option<Self> {
        let whole = 0..scalars.rows();
        if scalars.rows() > 2 * RUNS * RUN {
            let runs: Vec<_> = (0..RUNS).map(|run| run * (scalars.rows() - RUN) / (RUNS - 1)).collect();
            let sample = |size: usize| {
                let run = |&start: &usize| start.div_ceil(size) * size..(start + RUN) / size * size;
                Self::counted(scalars, size, &runs.iter().map(run).collect::<Vec<_>>())
            };
            let size = Self::fewest_bytes(sizes(scalars).map(sample)).map_or(1, |best| best.size);
            if size == 1 {
                return None;
            }
            let [scalar, best] =
                [1, size].map(|size| Self::counted(scalars, size, std::slice::from_ref(&whole)));
            if Self::fewest_bytes([scalar, best].into_iter()).is_some_and(|best| best.size == size) {
                return Some(best);
            }
        }
        Self::fewest_bytes(block_sizes(scalars).into_iter()).filter(|best| best.size > 1)
    }

    /// Scalar rows in ranges of whole block rows, in blocks of a size.
    fn counted(scalars: &Pattern, size: usize, ranges: &[Range<usize>]) -> Self {
        let (mut blocks, mut entries, mut rows) = (0, 0, 0);
        for range in ranges {
            blocks += count_blocks(scalars, size, range.start / size..range.end / size);
            entries += scalars.offsets()[range.end] - scalars.offsets()[range.start];
            rows += range.len();
        }
        let fill = if blocks == 0 { 1.0 } else { entries as f64 / (blocks * size * size) as f64 };
        Self { size, blocks, fill, bytes: blocks * (8 * size * size + 4) + rows / size * 8 }
    }

    /// The one that takes the fewest bytes of those that are at least half full, the larger of equals.
    fn fewest_bytes(of: impl DoubleEndedIterator<Item = Self>) -> Option<Self> {
        let half_full = |b: &Self| b.blocks > 0 && b.fill >= 0.5;
        of.rev().filter(half_full).min_by_key(|b| b.bytes)
    }
}

/// Sizes that tile a pattern.
fn sizes(scalars: &Pattern) -> impl DoubleEndedIterator<Item = usize> {
    (1..=LARGEST).filter(|b| scalars.rows().is_multiple_of(*b) && scalars.columns().is_multiple_of(*b))
}

/// Blocks of b x b that hold at least one entry, in a range of block rows.
fn count_blocks(scalars: &Pattern, b: usize, rows: Range<usize>) -> usize {
    let leaf = |rows: Range<usize>| rows.map(|i| blocks_of_row(scalars, i, (b, b))).sum::<usize>();
    let work = scalars.offsets()[rows.end * b] - scalars.offsets()[rows.start * b];
    tree(rows, ROWS, parallel::worth(work), &leaf, &|m, n| m + n)
}

/// Blocks of r x c that hold at least one entry of block row i; r at most [`LARGEST`].
pub(super) fn blocks_of_row(scalars: &Pattern, i: usize, (r, c): (usize, usize)) -> usize {
    if r == 1 && c == 1 {
        return scalars.row(i).len();
    }
    let mut rows: [&[u32]; LARGEST] = [&[]; LARGEST];
    rows[..r].iter_mut().zip(i * r..).for_each(|(row, s)| *row = scalars.row(s));
    if is_full(&rows[..r], c) {
        return rows[0].len() / c;
    }
    // Walk the r sorted rows together, one block column at a time.
    let mut blocks = 0;
    while let Some(first) = rows[..r].iter().filter_map(|row| row.first()).min() {
        let start = *first as usize / c * c;
        for row in &mut rows[..r] {
            *row = &row[inside(row, start, c)..];
        }
        blocks += 1;
    }
    blocks
}

/// Whether the sorted rows of a block row hold the same columns, all of each block of c: the nodes of a mesh.
pub(super) fn is_full(rows: &[&[u32]], c: usize) -> bool {
    let first = rows[0];
    let whole = |block: &[u32]| block[0].is_multiple_of(c as u32) && block[c - 1] - block[0] == c as u32 - 1;
    first.len().is_multiple_of(c)
        && rows[1..].iter().all(|row| *row == first)
        && first.chunks_exact(c).all(whole)
}

/// How many of the first columns, sorted and from `start` on, are within c of it.
pub(super) fn inside(columns: &[u32], start: usize, c: usize) -> usize {
    // A full row of a block is the common case.
    if columns.get(c - 1).is_some_and(|&last| (last as usize) < start + c) {
        return c;
    }
    columns.iter().take(c).take_while(|&&j| (j as usize) < start + c).count()
}
