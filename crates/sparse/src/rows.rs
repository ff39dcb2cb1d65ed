//! Block rows being filled, as pieces of the fixed tree.

use std::ops::Range;

use coarsen_core::parallel::{self, Pieces, each};

/// Block rows per leaf: a few kilobytes for scalars, a few tens for 6x6 blocks.
const LEAF: usize = 128;

/// Some block rows of a matrix and what they hold, `size` numbers a block, to be written by one task.
///
/// Rows have different lengths, so `offsets` (of the whole matrix) says where to cut.
pub(crate) struct Rows<'a, T> {
    /// Which block rows.
    pub(crate) rows: Range<usize>,
    /// What they hold, and nothing else.
    pub(crate) values: &'a mut [T],
    offsets: &'a [usize],
    size: usize,
}

impl<'a, T> Rows<'a, T> {
    /// All block rows.
    pub(crate) fn new(offsets: &'a [usize], size: usize, values: &'a mut [T]) -> Self {
        debug_assert_eq!(offsets.last().map(|n| n * size), Some(values.len()));
        Self { rows: 0..offsets.len() - 1, values, offsets, size }
    }

    /// Calls `body(i, values of block row i)`, with on average `work` operations a block, on several threads where
    /// that is worth it.
    pub(crate) fn for_each(self, work: usize, body: impl Fn(usize, &mut [T]) + Sync)
    where
        T: Send,
    {
        let parallel = parallel::worth(self.values.len() / self.size * work);
        each(self, LEAF, parallel, &|leaf: Self| {
            let mut rest = leaf.values;
            for i in leaf.rows {
                let (row, tail) = rest.split_at_mut((leaf.offsets[i + 1] - leaf.offsets[i]) * leaf.size);
                body(i, row);
                rest = tail;
            }
        });
    }
}

impl<T: Send> Pieces for Rows<'_, T> {
    fn extent(&self) -> usize {
        self.rows.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let Self { rows, values, offsets, size } = self;
        let at = rows.start + mid;
        let (head, tail) = values.split_at_mut((offsets[at] - offsets[rows.start]) * size);
        (
            Self { rows: rows.start..at, values: head, offsets, size },
            Self { rows: at..rows.end, values: tail, offsets, size },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_gets_its_own_blocks() {
        let mut offsets = vec![0];
        (0..1000).for_each(|i| offsets.push(offsets[i] + i % 7));
        let mut values = vec![usize::MAX; offsets[1000] * 2];
        let fill = || Rows::new(&offsets, 2, &mut values).for_each(1000, |i, row| row.fill(i));
        parallel::threads(3, fill).unwrap();
        for i in 0..1000 {
            assert!(values[offsets[i] * 2..offsets[i + 1] * 2].iter().all(|&v| v == i));
        }
    }
}
