//! Other block sizes for the same matrix: finding them, and converting.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, each, tree};

use crate::rows::{self, BlockRows};
use crate::{Bsr, Pattern, SparseError};

/// The largest block size that is tried: two rigid-body mode sets of a 3D shell or beam node.
const LARGEST: usize = 12;

/// A sample of a pattern: so many runs of so many scalar rows each.
const RUNS: usize = 16;
const RUN: usize = 480;

/// Block rows per leaf of the loops here.
const ROWS: usize = 128;

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
fn blocks_of_row(scalars: &Pattern, i: usize, (r, c): (usize, usize)) -> usize {
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
fn is_full(rows: &[&[u32]], c: usize) -> bool {
    let first = rows[0];
    let whole = |block: &[u32]| block[0].is_multiple_of(c as u32) && block[c - 1] - block[0] == c as u32 - 1;
    first.len().is_multiple_of(c)
        && rows[1..].iter().all(|row| *row == first)
        && first.chunks_exact(c).all(whole)
}

/// Rows of numbers, one behind the other in each block of C columns.
fn interleave<T: Copy, const C: usize>(rows: &[(&[u32], &[T])], blocks: &mut [T]) {
    for (k, block) in blocks.chunks_exact_mut(rows.len() * C).enumerate() {
        for ((_, numbers), to) in rows.iter().zip(block.as_chunks_mut::<C>().0) {
            *to = *numbers[k * C..].first_chunk().expect("as many numbers as there are blocks");
        }
    }
}

/// How many of the first columns, sorted and from `start` on, are within c of it.
fn inside(columns: &[u32], start: usize, c: usize) -> usize {
    // A full row of a block is the common case.
    if columns.get(c - 1).is_some_and(|&last| (last as usize) < start + c) {
        return c;
    }
    columns.iter().take(c).take_while(|&&j| (j as usize) < start + c).count()
}

/// What happens to entries that are stored and zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// They stay: the pattern does not depend on values, so that it can be reused when they change.
    Keep,
    /// They go, and blocks without any other entry with them: the smallest matrix for these values.
    Drop,
}

impl<T: Real> Bsr<T> {
    /// The same matrix in blocks of another size; blocks are filled up with zeros.
    ///
    /// Any size to any other that tiles the matrix: scalars to 3x3, 6x6 back to scalars, 3x3 to 3x6. With
    /// [`Zeros::Keep`], 3x3 to scalars and back is the identity. *Cost* two passes over the matrix, parallel.
    ///
    /// ```
    /// use coarsen_sparse::{Zeros, assembly};
    /// let a = assembly::from_triplets(2, 2, &[(0, 0, 1.0), (1, 1, 2.0)])?;
    /// let b = a.reblock((2, 2), Zeros::Keep)?;
    /// assert_eq!(b.values(), [1.0, 0.0, 0.0, 2.0]);
    /// assert_eq!(b.reblock((1, 1), Zeros::Drop)?, a);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    ///
    /// # Errors
    /// [`SparseError::BlockSize`] if blocks of that size do not tile the matrix.
    pub fn reblock(&self, block: (usize, usize), zeros: Zeros) -> Result<Self, SparseError> {
        let ((m, n), (r, c)) = (self.shape(), block);
        if r == 0 || c == 0 || !m.is_multiple_of(r) || !n.is_multiple_of(c) {
            return Err(SparseError::BlockSize { rows: m, columns: n, block_rows: r, block_columns: c });
        }
        if self.block() == (1, 1) && zeros == Zeros::Keep && r <= LARGEST {
            return self.gathered(block);
        }
        let mut lists = vec![Vec::<u32>::new(); m / r];
        let collect = |(range, lists): (Range<usize>, &mut [Vec<u32>])| {
            for (i, list) in range.zip(lists) {
                for s in i * r..(i + 1) * r {
                    self.scalars(s, zeros).for_each(|(j, _)| {
                        let j = (j / c) as u32;
                        if list.last() != Some(&j) {
                            list.push(j);
                        }
                    });
                }
                list.sort_unstable();
                list.dedup();
            }
        };
        each((0..m / r, &mut lists[..]), ROWS, parallel::worth(self.nnz()), &collect);

        let pattern = Arc::new(rows::join(n / c, &lists)?);

        let mut blocks = Self::zeros(pattern.clone(), block)?;
        BlockRows::new(pattern.offsets(), r * c, blocks.values_mut()).for_each(self.nnz(), |i, values| {
            for y in 0..r {
                let mut at = 0;
                for (j, v) in self.scalars(i * r + y, zeros) {
                    while (pattern.row(i)[at] as usize) < j / c {
                        at += 1;
                    }
                    values[at * r * c + y * c + j % c] = v;
                }
            }
        });
        Ok(blocks)
    }

    /// Scalars in blocks, stored zeros included: counted, then gathered, row by row.
    fn gathered(&self, (r, c): (usize, usize)) -> Result<Self, SparseError> {
        let (scalars, columns) = (self.pattern(), self.shape().1 / c);
        let mut counts = vec![0_usize; scalars.rows() / r];
        let count = |(range, counts): (Range<usize>, &mut [usize])| {
            range.zip(counts).for_each(|(i, count)| *count = blocks_of_row(scalars, i, (r, c)));
        };
        each((0..counts.len(), &mut counts[..]), ROWS, parallel::worth(self.nnz()), &count);
        let mut offsets = Vec::with_capacity(counts.len() + 1);
        offsets.push(0);
        counts.iter().for_each(|count| offsets.push(offsets[offsets.len() - 1] + count));
        let stored = offsets[counts.len()];
        let (mut indices, mut values) = (vec![0_u32; stored], vec![T::zero(); stored * r * c]);
        let gather = |(columns, blocks): (BlockRows<'_, u32>, BlockRows<'_, T>)| {
            let mut rest = blocks.values;
            columns.in_order(|i, columns| {
                let (blocks, later) = std::mem::take(&mut rest).split_at_mut(columns.len() * r * c);
                rest = later;
                let mut rows: [(&[u32], &[T]); LARGEST] = [(&[], &[]); LARGEST];
                for (row, s) in rows[..r].iter_mut().zip(i * r..) {
                    *row = (scalars.row(s), &self.values()[scalars.range(s)]);
                }
                let patterns: [&[u32]; LARGEST] = rows.map(|row| row.0);
                if [2, 3, 6].contains(&c) && is_full(&patterns[..r], c) {
                    columns
                        .iter_mut()
                        .zip(rows[0].0.chunks_exact(c))
                        .for_each(|(to, from)| *to = from[0] / c as u32);
                    return match c {
                        2 => interleave::<T, 2>(&rows[..r], blocks),
                        3 => interleave::<T, 3>(&rows[..r], blocks),
                        _ => interleave::<T, 6>(&rows[..r], blocks),
                    };
                }
                for (column, block) in columns.iter_mut().zip(blocks.chunks_exact_mut(r * c)) {
                    let first = rows[..r].iter().filter_map(|row| row.0.first()).min();
                    let start = *first.expect("as many blocks as were counted") as usize / c * c;
                    *column = (start / c) as u32;
                    for ((from, numbers), to) in rows[..r].iter_mut().zip(block.chunks_exact_mut(c)) {
                        let here = inside(from, start, c);
                        if here == c {
                            to.copy_from_slice(&numbers[..c]);
                        } else {
                            from[..here].iter().zip(*numbers).for_each(|(&j, v)| to[j as usize - start] = *v);
                        }
                        (*from, *numbers) = (&from[here..], &numbers[here..]);
                    }
                }
            });
        };
        let pieces =
            (BlockRows::new(&offsets, 1, &mut indices), BlockRows::new(&offsets, r * c, &mut values));
        each(pieces, ROWS, parallel::worth(self.nnz()), &gather);
        let pattern = Arc::new(Pattern::new(columns, offsets, indices)?);
        Self::new(pattern, (r, c), values)
    }

    /// The scalar columns and values of scalar row s, in order.
    fn scalars(&self, s: usize, zeros: Zeros) -> impl Iterator<Item = (usize, T)> {
        let (r, c) = self.block();
        self.row(s / r)
            .flat_map(move |(j, block)| (j * c..).zip(block[s % r * c..][..c].iter().copied()))
            .filter(move |(_, v)| zeros == Zeros::Keep || *v != T::zero())
    }
}

#[cfg(test)]
mod tests;
