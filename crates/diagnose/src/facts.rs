//! The pass over the matrix: the properties of each row, their counts, and the comparison with the transpose.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_sparse::Bsr;

use super::Finding;
use super::halves::Halves;
use super::row::{Row, Sums, scan, scan_scalars};
use super::tally::Tally;

/// What the pass finds. Properties of single rows are counted and forgotten.
pub(super) struct Facts {
    pub(super) tally: Tally,
    pub(super) halves: Halves,
    /// The round-off tolerance, relative to the entries of a row.
    pub(super) tolerance: f64,
}

/// The smallest number of block rows per task.
const LEAF: usize = 4096;

/// The number of tasks of a large matrix. Blocks that couple two tasks need a search.
const TASKS: usize = 32;

impl Facts {
    /// A finding is reported if the diagonal entries span more than this factor. The smallest rows are then
    /// below the residual tolerance of the largest rows.
    pub(super) const SCALE: f64 = 1e8;

    /// Counts the properties of rows, and compares a matrix of a square pattern and square blocks with its transpose.
    pub(super) fn of<T: Real>(a: &Bsr<T>) -> Self {
        let tolerance = (64.0 * T::EPSILON.as_f64()).max(1e-12);
        let (tally, halves) = match a.block() {
            (1, 1) => scan_all::<T, 1>(a, tolerance),
            (2, 2) => scan_all::<T, 2>(a, tolerance),
            (3, 3) => scan_all::<T, 3>(a, tolerance),
            (6, 6) => scan_all::<T, 6>(a, tolerance),
            _ => scan_all::<T, 0>(a, tolerance),
        };
        Self { tally, halves, tolerance }
    }

    /// The properties of all rows, by another pass. *Use* where counts do not decide.
    pub(super) fn rows<T: Real>(&self, a: &Bsr<T>) -> Vec<Row> {
        let (r, mut rows) = (a.block().0, vec![Row::default(); a.shape().0]);
        let leaf = |(blocks, rows): (Range<usize>, Groups<&mut [Row]>)| {
            let mut sums = Sums::new(a.block().0 * a.block().1);
            for (i, rows) in blocks.zip(rows.0.chunks_exact_mut(r)) {
                scan(a, i, self.tolerance, &mut sums, rows);
            }
        };
        let pieces = (0..a.pattern().rows(), Groups(&mut rows[..], r));
        each(pieces, LEAF, parallel::worth(a.nnz()), &leaf);
        rows
    }

    /// The findings for matrices of any shape.
    pub(super) fn findings<T: Real>(&self, a: &Bsr<T>) -> Vec<Finding> {
        let bad = self.tally.not_finite.found().map(|rows| {
            let (i, (r, c)) = (rows.rows[0], a.block());
            let mut entries = a.row(i / r).flat_map(|(j, block)| {
                block[i % r * c..(i % r + 1) * c].iter().enumerate().map(move |(q, v)| (j * c + q, *v))
            });
            let column = entries.find(|(_, v)| !v.is_finite()).map_or(0, |(j, _)| j);
            Finding::NotFinite { rows, column }
        });
        bad.into_iter().chain(self.tally.empty.found().map(Finding::EmptyRows)).collect()
    }
}

/// The pass over blocks of `B` x `B`, or of any size if `B` is 0.
fn scan_all<T: Real, const B: usize>(a: &Bsr<T>, tolerance: f64) -> (Tally, Halves) {
    let (r, c) = a.block();
    let nodes = a.pattern().rows();
    let square = r == c && nodes == a.pattern().columns();
    let leaf = |blocks: Range<usize>| {
        let (mut tally, mut halves) = (Tally::default(), Halves::default());
        let (mut sums, mut rows) = (Sums::new(if B == 1 { 0 } else { r * c }), vec![Row::default(); r]);
        let mut diagonal = Vec::with_capacity(blocks.len() * r);
        let mut next = vec![0_u32; if square { blocks.len() } else { 0 }];
        for i in blocks.clone() {
            if B == 1 {
                scan_scalars(a, i, tolerance, &mut rows[0]);
            } else {
                scan(a, i, tolerance, &mut sums, &mut rows);
            }
            for (s, row) in rows.iter().enumerate() {
                tally.add(i * r + s, row, tolerance);
                diagonal.push(row.diagonal);
            }
            if square {
                halves.compare_row::<T, B>(a, i, &blocks, &diagonal, &mut next);
            }
        }
        if square {
            halves.end(a, &blocks, &diagonal, &mut next);
        }
        (tally, halves)
    };
    let parallel = parallel::worth(4 * a.nnz());
    let length = if parallel { nodes.div_ceil(TASKS).max(LEAF / r) } else { nodes }.max(1);
    let (tally, mut halves) = tree(0..nodes, length, parallel, &leaf, &|a, b| (a.0.join(b.0), a.1.join(b.1)));
    if halves.is_open() {
        let leaf = |blocks: Range<usize>| {
            let mut halves = Halves::default();
            halves.close(a, &blocks);
            halves
        };
        halves = halves.join(tree(0..nodes, length, parallel, &leaf, &Halves::join));
    }
    (tally, halves)
}
