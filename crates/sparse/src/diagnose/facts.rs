//! One pass over the rows.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each};

use super::{Finding, Sample};
use crate::Bsr;

/// What one scalar row says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) diagonal: f64,
    /// Σ_j≠i |a_ij|
    pub(super) off: f64,
    /// Nonzero off-diagonal entries.
    pub(super) entries: u32,
    /// Those with the sign of the diagonal.
    pub(super) same_sign: u32,
    /// Whether the sum of the row is round-off.
    pub(super) sums_vanish: bool,
    finite: bool,
}

impl Row {
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0 && self.diagonal == 0.0
    }

    /// A diagonal entry alone.
    pub(super) fn is_alone(&self) -> bool {
        self.entries == 0 && self.diagonal != 0.0
    }

    /// |a_ii| − Σ|a_ij|, 0 where that is round-off.
    pub(super) fn slack(&self, tolerance: f64) -> f64 {
        let slack = self.diagonal.abs() - self.off;
        if self.off.is_finite() && slack.abs() <= tolerance * self.off { 0.0 } else { slack }
    }
}

/// What all rows say.
pub(super) struct Facts {
    pub(super) rows: Vec<Row>,
    /// |a_ii|^-½
    pub(super) roots: Vec<f64>,
    /// The rows with NaN or infinity, and the first column of the first.
    pub(super) not_finite: Option<(Sample, usize)>,
    /// What counts as round-off, relative to the entries of a row.
    pub(super) tolerance: f64,
}

impl Facts {
    /// The diagonal may span this much before it is worth a word: beyond it, the smallest rows are below
    /// the residual tolerance of the largest ones.
    pub(super) const SCALE: f64 = 1e8;

    pub(super) fn of<T: Real>(a: &Bsr<T>) -> Self {
        let (r, c) = a.block();
        let tolerance = (64.0 * T::EPSILON.wide()).max(1e-12);
        let mut rows = vec![Row::default(); a.shape().0];
        let leaf = |(blocks, rows): (Range<usize>, Groups<&mut [Row]>)| {
            let mut sums = vec![Sums::default(); r * c];
            for (i, rows) in blocks.zip(rows.0.chunks_exact_mut(r)) {
                scan(a, i, tolerance, &mut sums, rows);
            }
        };
        let pieces = (0..a.pattern().rows(), Groups(&mut rows[..], r));
        each(pieces, (1024 / r).max(1), parallel::worth(4 * a.nnz()), &leaf);
        let bad = Sample::of((0..rows.len()).filter(|&i| !rows[i].finite));
        let not_finite = bad.map(|bad| {
            let i = bad.rows[0];
            let mut entries = a.row(i / r).flat_map(|(j, block)| {
                block[i % r * c..(i % r + 1) * c].iter().enumerate().map(move |(q, v)| (j * c + q, *v))
            });
            let column = entries.find(|(_, v)| !v.is_finite()).map_or(0, |(j, _)| j);
            (bad, column)
        });
        let mut roots = vec![0.0; rows.len()];
        parallel::map(&rows, &mut roots, |row| row.diagonal.abs().sqrt().recip());
        Self { rows, roots, not_finite, tolerance }
    }

    /// The rows that satisfy a condition.
    pub(super) fn sample(&self, is: impl Fn(&Row) -> bool) -> Option<Sample> {
        Sample::of((0..self.rows.len()).filter(|&i| is(&self.rows[i])))
    }

    /// What holds for matrices of any shape.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let bad = self.not_finite.clone().map(|(rows, column)| Finding::NotFinite { rows, column });
        let empty = self.sample(|row| row.finite && row.is_empty()).map(Finding::EmptyRows);
        bad.into_iter().chain(empty).collect()
    }
}

/// Sums over one column of the blocks of a row.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Σ a_ij
    sum: f64,
    /// Σ |a_ij| off the diagonal.
    off: f64,
    positive: u32,
    negative: u32,
}

impl Sums {
    fn add(&mut self, v: f64) {
        self.sum += v;
        self.off += v.abs();
        self.positive += u32::from(v > 0.0);
        self.negative += u32::from(v < 0.0);
    }
}

/// Reads the rows of block row i.
fn scan<T: Real>(a: &Bsr<T>, i: usize, tolerance: f64, sums: &mut [Sums], rows: &mut [Row]) {
    let (r, c) = a.block();
    sums.fill(Sums::default());
    rows.fill(Row::default());
    for (j, block) in a.row(i) {
        if j * c < (i + 1) * r && i * r < (j + 1) * c {
            for (e, (v, sums)) in block.iter().map(|v| v.wide()).zip(&mut *sums).enumerate() {
                if i * r + e / c == j * c + e % c {
                    rows[e / c].diagonal = v;
                } else {
                    sums.add(v);
                }
            }
        } else {
            block.iter().zip(&mut *sums).for_each(|(v, sums)| sums.add(v.wide()));
        }
    }
    for (s, (row, sums)) in rows.iter_mut().zip(sums.chunks_exact(c)).enumerate() {
        let (mut positive, mut negative, mut sum) = (0, 0, row.diagonal);
        for column in sums {
            (row.off, sum) = (row.off + column.off, sum + column.sum);
            (positive, negative) = (positive + column.positive, negative + column.negative);
        }
        let size = row.off + row.diagonal.abs();
        row.sums_vanish = size.is_finite() && sum.abs() <= tolerance * size;
        row.entries = positive + negative;
        row.same_sign = if row.diagonal < 0.0 { negative } else { positive };
        // Infinities and NaN go through every sum of sizes; finite entries may overflow it.
        row.finite = (row.diagonal.abs() + row.off).is_finite() || is_finite(a, i, s);
    }
}

/// Whether the entries of row s of block row i are numbers.
fn is_finite<T: Real>(a: &Bsr<T>, i: usize, s: usize) -> bool {
    let c = a.block().1;
    a.row(i).all(|(_, block)| block[s * c..(s + 1) * c].iter().all(|v| v.is_finite()))
}
