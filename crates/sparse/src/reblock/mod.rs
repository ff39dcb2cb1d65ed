//! Conversion between block sizes.
//!
//! | file | what |
//! |---|---|
//! | [`detect`](block_sizes) | detection of the block size of a scalar pattern |
//! | [`mod`](Bsr::reblock) | conversion |

mod detect;

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, each};

use crate::rows::{self, BlockRows};
use crate::{Bsr, Pattern, SparseError};
use detect::{blocks_of_row, inside, is_full};

pub use detect::{Blocking, block_sizes, detect_block_size};

/// The largest block size considered. It is the size of two sets of rigid-body modes of a 3D shell or beam
/// node.
const LARGEST: usize = 12;

/// The number of block rows per leaf of the parallel loops.
const ROWS: usize = 128;

/// The treatment of stored zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// Keeps zeros. The pattern does not depend on values and can be reused when they change.
    Keep,
    /// Drops zeros and zero blocks. The matrix is the smallest for these values.
    Drop,
}

impl<T: Real> Bsr<T> {
    /// The same matrix in blocks of another size, padded with zeros.
    ///
    /// Converts between any two sizes that tile the matrix, such as scalars to 3x3, 6x6 to scalars, or 3x3 to
    /// 3x6. With [`Zeros::Keep`], conversion from 3x3 to scalars and back gives the same matrix. *Cost* two
    /// passes over the matrix, parallel.
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
    /// [`SparseError::BlockSize`] if blocks of this size do not tile the matrix.
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

    /// Converts scalars to blocks and keeps stored zeros. First counts, then gathers, row by row.
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

/// Interleaves rows of numbers, block by block, for blocks of C columns.
fn interleave<T: Copy, const C: usize>(rows: &[(&[u32], &[T])], blocks: &mut [T]) {
    for (k, block) in blocks.chunks_exact_mut(rows.len() * C).enumerate() {
        for ((_, numbers), to) in rows.iter().zip(block.as_chunks_mut::<C>().0) {
            *to = *numbers[k * C..].first_chunk().expect("as many numbers as there are blocks");
        }
    }
}
