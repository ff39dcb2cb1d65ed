//! Detection of the block size of a scalar pattern.

use std::ops::Range;

use coarsen_core::parallel::{self, tree};

use super::{LARGEST, ROWS};
use crate::Pattern;

/// The number of runs of consecutive rows in the sample of a pattern.
pub(super) const RUNS: usize = 16;

/// The number of scalar rows per run.
pub(super) const RUN: usize = 120;

/// Storage of a scalar pattern in b x b blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocking {
    /// The block size b.
    pub size: usize,
    /// The number of stored blocks.
    pub blocks: usize,
    /// The fraction of the entries of stored blocks that are in the scalar pattern, in 0..=1; 1 if there are
    /// no entries.
    pub fill: f64,
    /// The number of bytes of the matrix with `f64` values: 8 b² + 4 per block and 8 per block row.
    pub bytes: usize,
}

/// The storage of a scalar pattern in blocks of 1, 2, …, 12, for all sizes that tile the matrix, in
/// increasing order.
///
/// Stored zeros count as entries.
/// *Cost* one pass over the pattern per size, parallel, with scratch of constant size.
///
/// ```
/// use coarsen_sparse::{Zeros, Bsr, block_sizes};
/// let a = Bsr::<f64>::identity(2, 3)?.reblock((1, 1), Zeros::Keep)?; // two full 3x3 blocks, stored as scalars
/// let fills: Vec<_> = block_sizes(a.pattern()).iter().map(|b| (b.size, b.blocks, b.fill)).collect();
/// assert_eq!(fills, [(1, 18, 1.0), (2, 7, 18.0 / 28.0), (3, 2, 1.0), (6, 1, 0.5)]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
pub fn block_sizes(scalars: &Pattern) -> Vec<Blocking> {
    let whole = 0..scalars.rows();
    sizes(scalars).map(|size| Blocking::counted(scalars, size, std::slice::from_ref(&whole))).collect()
}

/// The best block size for a scalar pattern: the size that needs the fewest bytes, or the larger of two
/// equally good sizes. Only sizes whose blocks are at least half full are considered.
///
/// Memory traffic determines the cost of a product with a vector. Blocks and scalars are equally fast at a
/// fill of 0.75 (2x2), 0.70 (3x3) or 0.68 (6x6), slightly less if rows are short. The rule detects the number
/// of unknowns per node (3 in elasticity, 6 in shells) if these are numbered consecutively, as in most
/// simulations. It does so even if an assembler has dropped zeros. A numbering by component (all x, then all
/// y) must be permuted first. Chains of nodes are not mistaken for larger nodes: two neighbours on a grid
/// fill only half of their common blocks.
/// For a large pattern, a sample of its rows selects the size, and one pass over all rows compares that size
/// with scalars.
/// *Cost* one pass over the pattern, and one per size over a sample, which ends once a size is worse than scalars. If the
/// pass over all rows contradicts the sample, the cost is that of [`block_sizes`].
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
    /// The result of [`detect_block_size`] with its counts; `None` if scalars are best.
    ///
    /// *Cost* as [`detect_block_size`].
    pub fn best(scalars: &Pattern) -> Option<Self> {
        let whole = 0..scalars.rows();
        if scalars.rows() <= 2 * RUNS * RUN {
            return Self::best_of(scalars, |_| vec![whole.clone()]);
        }
        let starts = (0..RUNS).map(|run| run * (scalars.rows() - RUN) / (RUNS - 1));
        let run = |start: usize, size: usize| start.div_ceil(size) * size..(start + RUN) / size * size;
        let size =
            Self::best_of(scalars, |size| starts.clone().map(|start| run(start, size)).collect())?.size;
        let [scalar, best] = [1, size].map(|size| Self::counted(scalars, size, std::slice::from_ref(&whole)));
        if Self::fewest_bytes([scalar, best].into_iter()).is_some_and(|best| best.size == size) {
            return Some(best);
        }
        Self::fewest_bytes(block_sizes(scalars).into_iter()).filter(|best| best.size > 1)
    }

    /// The best size for some rows, which begin and end with whole blocks of a size; `None` if scalars are best.
    fn best_of(scalars: &Pattern, rows: impl Fn(usize) -> Vec<Range<usize>>) -> Option<Self> {
        let most = Self::counted(scalars, 1, &rows(1)).bytes;
        let blocked = sizes(scalars).filter(|size| *size > 1);
        Self::fewest_bytes(blocked.filter_map(|size| Self::within(scalars, size, &rows(size), most)))
    }

    /// The counts for one size, unless its blocks are not half full or need more bytes than `most`. The count ends once
    /// this is known.
    fn within(scalars: &Pattern, size: usize, ranges: &[Range<usize>], most: usize) -> Option<Self> {
        let (entries, rows) = extent(scalars, ranges);
        let (area, others) = (size * size, rows / size * 8);
        let most = (2 * entries / area).min(most.checked_sub(others)? / (8 * area + 4));
        let mut blocks = 0;
        for i in ranges.iter().flat_map(|range| range.start / size..range.end / size) {
            blocks += blocks_of_row(scalars, i, (size, size));
            if blocks > most {
                return None;
            }
        }
        Some(Self::new(size, blocks, (entries, rows)))
    }

    /// Counts the blocks of one size in ranges of whole block rows. The ranges are in scalar rows.
    fn counted(scalars: &Pattern, size: usize, ranges: &[Range<usize>]) -> Self {
        let count = |range: &Range<usize>| count_blocks(scalars, size, range.start / size..range.end / size);
        Self::new(size, ranges.iter().map(count).sum(), extent(scalars, ranges))
    }

    /// The storage of some rows with so many entries in so many blocks.
    fn new(size: usize, blocks: usize, (entries, rows): (usize, usize)) -> Self {
        let fill = if blocks == 0 { 1.0 } else { entries as f64 / (blocks * size * size) as f64 };
        Self { size, blocks, fill, bytes: blocks * (8 * size * size + 4) + rows / size * 8 }
    }

    /// The candidate with the fewest bytes among those at least half full; the larger block size if two are
    /// equal.
    fn fewest_bytes(of: impl DoubleEndedIterator<Item = Self>) -> Option<Self> {
        let half_full = |b: &Self| b.blocks > 0 && b.fill >= 0.5;
        of.rev().filter(half_full).min_by_key(|b| b.bytes)
    }
}

/// The numbers of entries and of scalar rows in ranges of rows.
fn extent(scalars: &Pattern, ranges: &[Range<usize>]) -> (usize, usize) {
    let entries = ranges.iter().map(|range| scalars.offsets()[range.end] - scalars.offsets()[range.start]);
    (entries.sum(), ranges.iter().map(Range::len).sum())
}

/// The block sizes that tile a pattern.
fn sizes(scalars: &Pattern) -> impl DoubleEndedIterator<Item = usize> {
    (1..=LARGEST).filter(|b| scalars.rows().is_multiple_of(*b) && scalars.columns().is_multiple_of(*b))
}

/// The number of nonempty b x b blocks in a range of block rows.
fn count_blocks(scalars: &Pattern, b: usize, rows: Range<usize>) -> usize {
    let leaf = |rows: Range<usize>| rows.map(|i| blocks_of_row(scalars, i, (b, b))).sum::<usize>();
    let work = scalars.offsets()[rows.end * b] - scalars.offsets()[rows.start * b];
    tree(rows, ROWS, parallel::worth(work), &leaf, &|m, n| m + n)
}

/// The number of nonempty r x c blocks in block row i; r is at most [`LARGEST`].
pub(super) fn blocks_of_row(scalars: &Pattern, i: usize, (r, c): (usize, usize)) -> usize {
    if r == 1 && c == 1 {
        return scalars.row(i).len();
    }
    let mut rows: [&[u32]; LARGEST] = [&[]; LARGEST];
    rows[..r].iter_mut().zip(i * r..).for_each(|(row, s)| *row = scalars.row(s));
    if is_full(&rows[..r], c) {
        return rows[0].len() / c;
    }
    // Merges the r sorted rows, one block column at a time.
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

/// Whether the sorted rows of a block row all contain the same columns and these form full blocks of c
/// columns, as on meshes.
pub(super) fn is_full(rows: &[&[u32]], c: usize) -> bool {
    let first = rows[0];
    let whole = |block: &[u32]| block[0].is_multiple_of(c as u32) && block[c - 1] - block[0] == c as u32 - 1;
    first.len().is_multiple_of(c)
        && rows[1..].iter().all(|row| *row == first)
        && first.chunks_exact(c).all(whole)
}

/// The number of leading columns below `start` + c. Columns are sorted and at least `start`.
pub(super) fn inside(columns: &[u32], start: usize, c: usize) -> usize {
    // Fast path: the row contains all columns of the block.
    if columns.get(c - 1).is_some_and(|&last| (last as usize) < start + c) {
        return c;
    }
    columns.iter().take(c).take_while(|&&j| (j as usize) < start + c).count()
}
