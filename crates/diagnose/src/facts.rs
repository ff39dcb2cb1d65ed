//! Properties of single rows, and the comparison with the transpose, in one pass over the matrix.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, tree};
use coarsen_sparse::Bsr;

use super::symmetry::Halves;
use super::values::Tally;
use super::{Finding, Sample};

/// The properties of a scalar row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) diagonal: f64,
    /// Σ_j≠i |a_ij|
    pub(super) off: f64,
    /// The number of nonzero off-diagonal entries.
    pub(super) entries: u32,
    /// The number of off-diagonal entries with the sign of the diagonal.
    pub(super) same_sign: u32,
    /// Whether the row sums to zero up to round-off.
    pub(super) sums_vanish: bool,
    pub(super) finite: bool,
}

impl Row {
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0 && self.diagonal == 0.0
    }

    /// Whether the diagonal entry is the only nonzero entry of the row.
    pub(super) fn is_alone(&self) -> bool {
        self.entries == 0 && self.diagonal != 0.0
    }

    /// |a_ii| − Σ|a_ij|; 0 if this difference is round-off.
    pub(super) fn slack(&self, tolerance: f64) -> f64 {
        let slack = self.diagonal.abs() - self.off;
        if self.off.is_finite() && slack.abs() <= tolerance * self.off { 0.0 } else { slack }
    }
}

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
        let tolerance = (64.0 * T::EPSILON.wide()).max(1e-12);
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
        let length = nodes.div_ceil(TASKS).max((LEAF / r).max(1));
        let parallel = parallel::worth(4 * a.nnz());
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

/// Sums over the blocks of a row, with one array per sum, so that the loop over entries is vectorised. Counts
/// are floating-point numbers, which are exact.
struct Sums {
    /// Σ a_ij
    sum: Vec<f64>,
    /// Σ |a_ij| off the diagonal
    off: Vec<f64>,
    positive: Vec<f64>,
    negative: Vec<f64>,
}

impl Sums {
    fn new(size: usize) -> Self {
        let [sum, off, positive, negative] = std::array::from_fn(|_| vec![0.0; size]);
        Self { sum, off, positive, negative }
    }

    fn clear(&mut self) {
        for sums in [&mut self.sum, &mut self.off, &mut self.positive, &mut self.negative] {
            sums.fill(0.0);
        }
    }

    fn add(&mut self, e: usize, v: f64) {
        self.sum[e] += v;
        self.off[e] += v.abs();
        self.positive[e] += f64::from(u8::from(v > 0.0));
        self.negative[e] += f64::from(u8::from(v < 0.0));
    }

    fn add_block<T: Real>(&mut self, block: &[T]) {
        match block.len() {
            4 => self.add_all::<T, 4>(block),
            9 => self.add_all::<T, 9>(block),
            36 => self.add_all::<T, 36>(block),
            _ => block.iter().enumerate().for_each(|(e, v)| self.add(e, v.wide())),
        }
    }

    fn add_all<T: Real, const N: usize>(&mut self, block: &[T]) {
        let Self { sum, off, positive, negative } = self;
        let (block, sum, off) = (&block[..N], &mut sum[..N], &mut off[..N]);
        let (positive, negative) = (&mut positive[..N], &mut negative[..N]);
        for e in 0..N {
            let v = block[e].wide();
            sum[e] += v;
            off[e] += v.abs();
            positive[e] += f64::from(u8::from(v > 0.0));
            negative[e] += f64::from(u8::from(v < 0.0));
        }
    }
}

impl Row {
    /// The properties of a finite or infinite row, from its sums without the diagonal entry.
    fn of(diagonal: f64, (sum, off): (f64, f64), (positive, negative): (u32, u32), tolerance: f64) -> Self {
        let size = off + diagonal.abs();
        Self {
            diagonal,
            off,
            entries: positive + negative,
            same_sign: if diagonal < 0.0 { negative } else { positive },
            sums_vanish: size.is_finite() && (diagonal + sum).abs() <= tolerance * size,
            finite: size.is_finite(),
        }
    }
}

/// Computes the properties of row i of a matrix of scalars.
fn scan_scalars<T: Real>(a: &Bsr<T>, i: usize, tolerance: f64, row: &mut Row) {
    let range = a.pattern().range(i);
    let (mut sum, mut off, mut positive, mut negative) = (0.0, 0.0, 0, 0);
    let mut diagonal = 0.0;
    for (&j, v) in a.pattern().indices()[range.clone()].iter().zip(&a.values()[range]) {
        let v = v.wide();
        if j as usize == i {
            diagonal = v;
        } else {
            (sum, off) = (sum + v, off + v.abs());
            positive += u32::from(v > 0.0);
            negative += u32::from(v < 0.0);
        }
    }
    *row = Row::of(diagonal, (sum, off), (positive, negative), tolerance);
    row.finite |= !row.finite && is_finite(a, i, 0);
}

/// Computes the properties of the rows of block row i.
fn scan<T: Real>(a: &Bsr<T>, i: usize, tolerance: f64, sums: &mut Sums, rows: &mut [Row]) {
    let (r, c) = a.block();
    sums.clear();
    rows.fill(Row::default());
    for (j, block) in a.row(i) {
        if j * c < (i + 1) * r && i * r < (j + 1) * c {
            for (s, values) in block.chunks_exact(c).enumerate() {
                for (t, v) in values.iter().map(|v| v.wide()).enumerate() {
                    if i * r + s == j * c + t {
                        rows[s].diagonal = v;
                    } else {
                        sums.add(s * c + t, v);
                    }
                }
            }
        } else {
            sums.add_block(block);
        }
    }
    for (s, row) in rows.iter_mut().enumerate() {
        let of_row = s * c..(s + 1) * c;
        let total = |sums: &[f64]| sums[of_row.clone()].iter().sum::<f64>();
        let counts = (total(&sums.positive) as u32, total(&sums.negative) as u32);
        let diagonal = row.diagonal;
        *row = Row::of(diagonal, (total(&sums.sum), total(&sums.off)), counts, tolerance);
        // Infinity and NaN propagate to every sum of absolute values. But a sum of finite entries can also
        // overflow, so `is_finite` checks the entries.
        row.finite |= !row.finite && is_finite(a, i, s);
    }
}

/// Whether the entries of row s of block row i are finite.
fn is_finite<T: Real>(a: &Bsr<T>, i: usize, s: usize) -> bool {
    let c = a.block().1;
    a.row(i).all(|(_, block)| block[s * c..(s + 1) * c].iter().all(|v| v.is_finite()))
}
