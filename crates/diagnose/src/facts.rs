//! The pass over the matrix: properties of all rows, their counts, and the comparison with the transpose.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, tree};
use coarsen_sparse::Bsr;

use super::halves::Halves;
use super::row::{Row, Sums, scan, scan_scalars};
use super::tally::Tally;
use super::{Finding, Sample};

/// The properties of all rows.
pub(super) struct Facts {
    pub(super) rows: Vec<Row>,
    /// The rows that contain NaN or infinity, and the first such column of the first of these rows.
    pub(super) not_finite: Option<(Sample, usize)>,
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

    /// Computes the properties, counts them, and compares a matrix of a square pattern and square blocks with its
    /// transpose.
    pub(super) fn of<T: Real>(a: &Bsr<T>) -> (Self, Tally, Halves) {
        let tolerance = (64.0 * T::EPSILON.as_f64()).max(1e-12);
        let mut rows = vec![Row::default(); a.shape().0];
        let (tally, halves) = match a.block() {
            (1, 1) => Self::scan::<T, 1>(a, tolerance, &mut rows),
            (2, 2) => Self::scan::<T, 2>(a, tolerance, &mut rows),
            (3, 3) => Self::scan::<T, 3>(a, tolerance, &mut rows),
            (6, 6) => Self::scan::<T, 6>(a, tolerance, &mut rows),
            _ => Self::scan::<T, 0>(a, tolerance, &mut rows),
        };
        let mut facts = Self { rows, not_finite: None, tolerance };
        let bad = if tally.not_finite > 0 { facts.sample(|row| !row.finite) } else { None };
        facts.not_finite = bad.map(|bad| {
            let (i, (r, c)) = (bad.rows[0], a.block());
            let mut entries = a.row(i / r).flat_map(|(j, block)| {
                block[i % r * c..(i % r + 1) * c].iter().enumerate().map(move |(q, v)| (j * c + q, *v))
            });
            let column = entries.find(|(_, v)| !v.is_finite()).map_or(0, |(j, _)| j);
            (bad, column)
        });
        (facts, tally, halves)
    }

    /// The pass over blocks of `B` x `B`, or of any size if `B` is 0.
    fn scan<T: Real, const B: usize>(a: &Bsr<T>, tolerance: f64, rows: &mut [Row]) -> (Tally, Halves) {
        let (r, c) = a.block();
        let nodes = a.pattern().rows();
        let square = r == c && nodes == a.pattern().columns();
        let leaf = |(blocks, rows): (Range<usize>, Groups<&mut [Row]>)| {
            let (mut tally, mut halves, start) = (Tally::default(), Halves::default(), blocks.start);
            let mut sums = Sums::new(if B == 1 { 0 } else { r * c });
            let mut next = vec![0_u32; if square { blocks.len() } else { 0 }];
            for i in blocks.clone() {
                let of_node = &mut rows.0[(i - start) * r..(i - start + 1) * r];
                if B == 1 {
                    scan_scalars(a, i, tolerance, &mut of_node[0]);
                } else {
                    scan(a, i, tolerance, &mut sums, of_node);
                }
                of_node.iter().for_each(|row| tally.add(row, tolerance));
                if square {
                    halves.compare_row::<T, B>(a, i, &blocks, rows.0, &mut next);
                }
            }
            if square {
                halves.end(a, &blocks, rows.0, &mut next);
            }
            (tally, halves)
        };
        let pieces = (0..nodes, Groups(rows, r));
        let parallel = parallel::worth(4 * a.nnz());
        let length = if parallel { nodes.div_ceil(TASKS).max(LEAF / r) } else { nodes }.max(1);
        let (tally, mut halves) =
            tree(pieces, length, parallel, &leaf, &|a, b| (a.0.join(b.0), a.1.join(b.1)));
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

    /// A sample of the rows for which `is` is true.
    pub(super) fn sample(&self, is: impl Fn(&Row) -> bool + Sync) -> Option<Sample> {
        let leaf = |rows: Range<usize>| Sample::of(rows.filter(|&i| is(&self.rows[i])));
        tree(0..self.rows.len(), 4096, parallel::worth(self.rows.len()), &leaf, &Sample::join)
    }

    /// The findings for matrices of any shape.
    pub(super) fn findings(&self, tally: &Tally) -> Vec<Finding> {
        let bad = self.not_finite.clone().map(|(rows, column)| Finding::NotFinite { rows, column });
        let empty = if tally.empty > 0 { self.sample(|row| row.finite && row.is_empty()) } else { None };
        bad.into_iter().chain(empty.map(Finding::EmptyRows)).collect()
    }
}
