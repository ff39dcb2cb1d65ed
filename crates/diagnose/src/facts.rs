//! Properties of single rows, computed in one pass.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_sparse::Bsr;

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
    finite: bool,
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
    /// |a_ii|^-½
    pub(super) roots: Vec<f64>,
    /// The rows that contain NaN or infinity, and the first such column of the first of these rows.
    pub(super) not_finite: Option<(Sample, usize)>,
    /// The round-off tolerance, relative to the entries of a row.
    pub(super) tolerance: f64,
}

impl Facts {
    /// A finding is reported if the diagonal entries span more than this factor. The smallest rows are then
    /// below the residual tolerance of the largest rows.
    pub(super) const SCALE: f64 = 1e8;

    pub(super) fn of<T: Real>(a: &Bsr<T>) -> Self {
        let (r, c) = a.block();
        let tolerance = (64.0 * T::EPSILON.wide()).max(1e-12);
        let mut rows = vec![Row::default(); a.shape().0];
        let leaf = |(blocks, rows): (Range<usize>, Groups<&mut [Row]>)| {
            let mut sums = Sums::new(r * c);
            for (i, rows) in blocks.zip(rows.0.chunks_exact_mut(r)) {
                scan(a, i, tolerance, &mut sums, rows);
            }
        };
        let pieces = (0..a.pattern().rows(), Groups(&mut rows[..], r));
        each(pieces, (1024 / r).max(1), parallel::worth(4 * a.nnz()), &leaf);
        let mut roots = vec![0.0; rows.len()];
        parallel::map(&rows, &mut roots, |row| row.diagonal.abs().sqrt().recip());
        let mut facts = Self { rows, roots, not_finite: None, tolerance };
        facts.not_finite = facts.sample(|row| !row.finite).map(|bad| {
            let i = bad.rows[0];
            let mut entries = a.row(i / r).flat_map(|(j, block)| {
                block[i % r * c..(i % r + 1) * c].iter().enumerate().map(move |(q, v)| (j * c + q, *v))
            });
            let column = entries.find(|(_, v)| !v.is_finite()).map_or(0, |(j, _)| j);
            (bad, column)
        });
        facts
    }

    /// A sample of the rows for which `is` is true.
    pub(super) fn sample(&self, is: impl Fn(&Row) -> bool + Sync) -> Option<Sample> {
        let leaf = |rows: Range<usize>| Sample::of(rows.filter(|&i| is(&self.rows[i])));
        tree(0..self.rows.len(), 4096, parallel::worth(self.rows.len()), &leaf, &Sample::join)
    }

    /// The findings for matrices of any shape.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let bad = self.not_finite.clone().map(|(rows, column)| Finding::NotFinite { rows, column });
        let empty = self.sample(|row| row.finite && row.is_empty()).map(Finding::EmptyRows);
        bad.into_iter().chain(empty).collect()
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
        row.off = total(&sums.off);
        let (positive, negative) = (total(&sums.positive) as u32, total(&sums.negative) as u32);
        let sum = sums.sum[of_row.clone()].iter().fold(row.diagonal, |sum, v| sum + v);
        let size = row.off + row.diagonal.abs();
        row.sums_vanish = size.is_finite() && sum.abs() <= tolerance * size;
        row.entries = positive + negative;
        row.same_sign = if row.diagonal < 0.0 { negative } else { positive };
        // Infinity and NaN propagate to every sum of absolute values. But a sum of finite entries can also
        // overflow, so `is_finite` checks the entries.
        row.finite = (row.diagonal.abs() + row.off).is_finite() || is_finite(a, i, s);
    }
}

/// Whether the entries of row s of block row i are finite.
fn is_finite<T: Real>(a: &Bsr<T>, i: usize, s: usize) -> bool {
    let c = a.block().1;
    a.row(i).all(|(_, block)| block[s * c..(s + 1) * c].iter().all(|v| v.is_finite()))
}
