//! Other block sizes for the same matrix: finding them, and converting.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, each, tree};

use crate::rows::{self, Rows};
use crate::{Bsr, Pattern, SparseError};

/// The largest block size that is tried: two rigid-body mode sets of a 3D shell or beam node.
const LARGEST: usize = 12;

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
    let fits = |b: &usize| scalars.rows().is_multiple_of(*b) && scalars.columns().is_multiple_of(*b);
    (1..=LARGEST)
        .filter(fits)
        .map(|size| {
            let blocks = count_blocks(scalars, size);
            let fill = if blocks == 0 { 1.0 } else { scalars.len() as f64 / (blocks * size * size) as f64 };
            let bytes = blocks * (8 * size * size + 4) + scalars.rows() / size * 8;
            Blocking { size, blocks, fill, bytes }
        })
        .collect()
}

/// The block size to store a pattern of scalars in: the one that takes the fewest bytes, the larger of equals; only
/// sizes whose blocks are at least half full are considered.
///
/// Memory is traffic, and traffic is what a product with a vector costs: blocks break even with scalars at a fill of 0.75 (2x2), 0.70
/// (3x3) or 0.68 (6x6), a little less where rows are short. The rule finds the unknowns of a node when they are numbered
/// together, as simulations do (3 in elasticity, 6 in shells), even where an assembler dropped zeros; an interleaved
/// numbering (all x, then all y) must be permuted first. Chains of nodes are not taken for one larger node: two
/// neighbours on a grid fill half of their common blocks. *Cost* as [`block_sizes`].
///
/// ```
/// use coarsen_sparse::{Pattern, detect_block_size};
/// assert_eq!(detect_block_size(&Pattern::diagonal(6)?), 1);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
pub fn detect_block_size(scalars: &Pattern) -> usize {
    let half_full = |b: &Blocking| b.blocks > 0 && b.fill >= 0.5;
    let sizes = block_sizes(scalars).into_iter().rev().filter(half_full);
    sizes.min_by_key(|b| b.bytes).map_or(1, |b| b.size)
}

/// Blocks of b x b that hold at least one entry.
fn count_blocks(scalars: &Pattern, b: usize) -> usize {
    let count_row = |i: usize| {
        // Walk the b sorted rows together, one block column at a time.
        let mut rows: [&[u32]; LARGEST] = [&[]; LARGEST];
        rows[..b].iter_mut().zip(i * b..).for_each(|(row, s)| *row = scalars.row(s));
        let mut blocks = 0;
        while let Some(first) = rows[..b].iter().filter_map(|row| row.first()).min() {
            let end = (*first as usize / b + 1) * b;
            for row in &mut rows[..b] {
                let inside = row.iter().take(b).take_while(|&&j| (j as usize) < end).count();
                *row = &row[inside..];
            }
            blocks += 1;
        }
        blocks
    };
    let leaf = |rows: Range<usize>| rows.map(count_row).sum::<usize>();
    tree(0..scalars.rows() / b, ROWS, parallel::worth(scalars.len()), &leaf, &|m, n| m + n)
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
        Rows::new(pattern.offsets(), r * c, blocks.values_mut()).for_each(self.nnz(), |i, values| {
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

    /// The scalar columns and values of scalar row s, in order.
    fn scalars(&self, s: usize, zeros: Zeros) -> impl Iterator<Item = (usize, T)> {
        let (r, c) = self.block();
        self.row(s / r)
            .flat_map(move |(j, block)| (j * c..).zip(block[s % r * c..][..c].iter().copied()))
            .filter(move |(_, v)| zeros == Zeros::Keep || *v != T::zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assembly, random};

    #[test]
    fn entries_survive_any_block_size() {
        let a = random::matrix(12, 18, (2, 2), 4, 1);
        for block in [(1, 1), (2, 3), (3, 2), (6, 6), (24, 36), (4, 1)] {
            for zeros in [Zeros::Keep, Zeros::Drop] {
                let b = a.reblock(block, zeros).unwrap();
                assert!((0..24).all(|i| (0..36).all(|j| a.get(i, j) == b.get(i, j))), "{block:?}");
            }
        }
        assert!(matches!(a.reblock((5, 1), Zeros::Keep), Err(SparseError::BlockSize { .. })));
        assert!(matches!(a.reblock((1, 0), Zeros::Keep), Err(SparseError::BlockSize { .. })));
    }

    #[test]
    fn to_scalars_and_back_is_the_identity() {
        let a = random::matrix(700, 500, (3, 6), 5, 2);
        let there = parallel::threads(3, || a.reblock((1, 1), Zeros::Keep).unwrap()).unwrap();
        assert_eq!(there.nnz(), a.nnz());
        assert_eq!(there.reblock((3, 6), Zeros::Keep).unwrap(), a);
    }

    #[test]
    fn stored_zeros_stay_or_go() {
        let a = assembly::from_triplets(4, 4, &[(0, 0, 1.0), (0, 1, 0.0), (3, 0, 0.0)]).unwrap();
        let nnz = |block, zeros| a.reblock(block, zeros).unwrap().nnz();
        assert_eq!((nnz((1, 1), Zeros::Keep), nnz((1, 1), Zeros::Drop)), (3, 1));
        assert_eq!((nnz((2, 2), Zeros::Keep), nnz((2, 2), Zeros::Drop)), (8, 4));
    }

    #[test]
    fn counted_blocks_are_the_blocks_made() {
        let a = random::matrix(120, 240, (1, 1), 7, 3);
        for b in block_sizes(a.pattern()) {
            let made = a.reblock((b.size, b.size), Zeros::Keep).unwrap();
            assert_eq!(b.blocks, made.pattern().len());
            assert_eq!(b.fill, a.nnz() as f64 / made.nnz() as f64);
        }
    }

    #[test]
    fn nodes_of_a_grid_are_found() {
        for b in [1, 2, 3, 6] {
            let chain: Vec<(u32, u32)> =
                (0..60_u32).flat_map(|i| [(i, i.saturating_sub(1)), (i, i), (i, (i + 1).min(59))]).collect();
            let values = vec![1.0; chain.len() * b * b];
            let a = assembly::from_blocks(b * 60, b * 60, (b, b), &chain, &values).unwrap();
            let scalars = a.reblock((1, 1), Zeros::Keep).unwrap();
            assert_eq!(detect_block_size(scalars.pattern()), b);
        }
        assert_eq!(detect_block_size(&Pattern::new(6, vec![0; 7], vec![]).unwrap()), 1);
    }
}
