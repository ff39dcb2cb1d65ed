//! One pass over the rows, and what follows from it.

use std::fmt;
use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each};

use super::{Definiteness, Finding, Sample, Symmetry};
use crate::{Bsr, Classes};

/// What the values of a square finite matrix say.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// A against Aᵀ.
    pub symmetry: Symmetry,
    /// What is proved about the signs of the eigenvalues, or not contradicted.
    pub definiteness: Definiteness,
    /// Scalars that are not zero.
    pub nonzeros: usize,
    /// Rows without a nonzero.
    pub empty: usize,
    /// Rows that are not empty but have a zero diagonal.
    pub zero_diagonal: usize,
    /// Rows with a negative diagonal.
    pub negative_diagonal: usize,
    /// Rows of the identity.
    pub fixed: usize,
    /// Rows with a diagonal entry alone that is not 1.
    pub diagonal_only: usize,
    /// The smallest and largest |a_ii| other than 0, of rows with more than a diagonal entry; 0 and 0 without any.
    pub diagonal_range: (f64, f64),
    /// The share of rows with Σ_j≠i |a_ij| > |a_ii|.
    pub not_dominant: f64,
    /// The share of nonzero off-diagonal entries with the sign of their row's diagonal; 0 for an M-matrix.
    pub positive_off_diagonal: f64,
    /// Connected components whose rows all sum to zero, for each component of a block.
    pub floating: usize,
}

/// What one scalar row says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) diagonal: f64,
    /// Σ_j≠i |a_ij|
    pub(super) off: f64,
    /// Nonzero off-diagonal entries.
    entries: u32,
    /// Those with the sign of the diagonal.
    same_sign: u32,
    /// Whether the sum of the row over each component of its blocks is round-off.
    sums_vanish: bool,
    finite: bool,
}

impl Row {
    fn is_empty(&self) -> bool {
        self.entries == 0 && self.diagonal == 0.0
    }

    /// A diagonal entry alone.
    pub(super) fn is_alone(&self) -> bool {
        self.entries == 0 && self.diagonal != 0.0
    }

    /// |a_ii| − Σ|a_ij|, 0 where that is round-off.
    pub(super) fn slack(&self, tolerance: f64) -> f64 {
        let slack = self.diagonal.abs() - self.off;
        if slack.abs() <= tolerance * self.off { 0.0 } else { slack }
    }
}

/// What all rows say.
pub(super) struct Facts {
    pub(super) rows: Vec<Row>,
    /// The rows with NaN or infinity, and the first column of the first.
    pub(super) not_finite: Option<(Sample, usize)>,
    /// What counts as round-off, relative to the entries of a row.
    pub(super) tolerance: f64,
}

impl Facts {
    /// The diagonal may span this much before it is worth a word: beyond it, the smallest rows are below
    /// the residual tolerance of the largest ones.
    const SCALE: f64 = 1e8;

    pub(super) fn of<T: Real>(a: &Bsr<T>) -> Self {
        let (r, c) = a.block();
        let tolerance = (64.0 * T::EPSILON.wide()).max(1e-12);
        let mut rows = vec![Row::default(); a.shape().0];
        let leaf = |(blocks, rows): (Range<usize>, Groups<&mut [Row]>)| {
            let (mut sums, mut sizes) = (vec![0.0; c], vec![0.0; c]);
            for (i, rows) in blocks.zip(rows.0.chunks_exact_mut(r)) {
                for (s, row) in rows.iter_mut().enumerate() {
                    *row = scan(a, i, s, tolerance, &mut sums, &mut sizes);
                }
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
        Self { rows, not_finite, tolerance }
    }

    /// The rows that satisfy a condition.
    fn sample(&self, is: impl Fn(&Row) -> bool) -> Option<Sample> {
        Sample::of((0..self.rows.len()).filter(|&i| is(&self.rows[i])))
    }

    /// What holds for matrices of any shape.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let bad = self.not_finite.clone().map(|(rows, column)| Finding::NotFinite { rows, column });
        let empty = self.sample(|row| row.finite && row.is_empty()).map(Finding::EmptyRows);
        bad.into_iter().chain(empty).collect()
    }
}

/// Reads row s of block row i.
fn scan<T: Real>(a: &Bsr<T>, i: usize, s: usize, tolerance: f64, sums: &mut [f64], sizes: &mut [f64]) -> Row {
    let (r, c) = a.block();
    let mut row = Row { finite: true, ..Row::default() };
    sums.fill(0.0);
    sizes.fill(0.0);
    let (mut positive, mut negative) = (0, 0);
    for (j, block) in a.row(i) {
        for (q, v) in block[s * c..(s + 1) * c].iter().map(|v| v.wide()).enumerate() {
            sums[q] += v;
            sizes[q] += v.abs();
            row.finite &= v.is_finite();
            if j * c + q == i * r + s {
                row.diagonal = v;
            } else {
                row.off += v.abs();
                positive += u32::from(v > 0.0);
                negative += u32::from(v < 0.0);
            }
        }
    }
    row.entries = positive + negative;
    row.same_sign = if row.diagonal < 0.0 { negative } else { positive };
    row.sums_vanish = sums.iter().zip(&*sizes).all(|(sum, size)| sum.abs() <= tolerance * size);
    row
}

impl Values {
    pub(super) fn of<T: Real>(
        a: &Bsr<T>,
        facts: &Facts,
        symmetry: Symmetry,
        components: Option<&Classes>,
    ) -> Self {
        let rows = &facts.rows;
        let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
        let coupled = rows.iter().filter(|row| row.entries > 0 && row.diagonal != 0.0);
        let sizes = coupled.map(|row| row.diagonal.abs());
        let (least, most) = sizes.fold((f64::INFINITY, 0.0_f64), |(l, m), d| (l.min(d), m.max(d)));
        let off: usize = rows.iter().map(|row| row.entries as usize).sum();
        let same: usize = rows.iter().map(|row| row.same_sign as usize).sum();
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        Self {
            definiteness: Definiteness::of(a, facts, &symmetry, components),
            symmetry,
            nonzeros: off + count(&|row| row.diagonal != 0.0),
            empty: count(&Row::is_empty),
            zero_diagonal: count(&|row| row.diagonal == 0.0 && !row.is_empty()),
            negative_diagonal: count(&|row| row.diagonal < 0.0),
            fixed: count(&|row| row.is_alone() && row.diagonal == 1.0),
            diagonal_only: count(&|row| row.is_alone() && row.diagonal != 1.0),
            diagonal_range: if most > 0.0 { (least, most) } else { (0.0, 0.0) },
            not_dominant: share(count(&|row| row.slack(facts.tolerance) < 0.0), rows.len()),
            positive_off_diagonal: share(same, off),
            floating: components.map_or(0, |c| floating(facts, c).len()),
        }
    }

    pub(super) fn findings(&self, facts: &Facts, components: Option<&Classes>) -> Vec<Finding> {
        let rows = &facts.rows;
        let mut findings = Vec::from_iter(self.symmetry.finding(facts));
        let negative = facts.sample(|row| row.diagonal < 0.0);
        findings.extend(match negative {
            Some(sample) if sample.count == rows.len() => Some(Finding::Negate),
            other => other.map(Finding::NegativeDiagonal),
        });
        let zero = facts.sample(|row| row.diagonal == 0.0 && !row.is_empty());
        findings.extend(zero.map(Finding::ZeroDiagonal));
        if let Definiteness::Indefinite(witness) = &self.definiteness {
            findings.push(Finding::Indefinite(witness.clone()));
        }
        let floating = components.map_or(vec![], |c| floating(facts, c));
        if let Some(rows) = Sample::of(floating.iter().copied()) {
            findings.push(Finding::Floating { components: floating.len(), rows });
        }
        let (least, most) = self.diagonal_range;
        if most > Facts::SCALE * least {
            let is = |row: &Row, size: f64| row.entries > 0 && row.diagonal.abs() == size;
            let row = |size: f64| rows.iter().position(|row| is(row, size)).unwrap_or(0);
            findings.push(Finding::Scale { least: (row(least), least), most: (row(most), most) });
        }
        findings.extend(facts.sample(|row| row.is_alone() && row.diagonal == 1.0).map(Finding::Fixed));
        findings.extend(facts.sample(|row| row.is_alone() && row.diagonal != 1.0).map(Finding::DiagonalOnly));
        let weak = facts.sample(|row| row.slack(facts.tolerance) < 0.0);
        findings.extend(weak.map(|rows| Finding::NotDominant { share: self.not_dominant, rows }));
        let positive = facts.sample(|row| row.same_sign > 0);
        let share = self.positive_off_diagonal;
        findings.extend(positive.map(|rows| Finding::PositiveOffDiagonal { share, rows }));
        findings
    }
}

/// The first scalar row of each component of several nodes whose rows all sum to zero.
fn floating(facts: &Facts, components: &Classes) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let b = facts.rows.len() / components.of().len().max(1);
    let mut first = vec![NONE; components.count()];
    let mut floats = vec![true; components.count()];
    for (node, &component) in components.of().iter().enumerate() {
        let rows = &facts.rows[node * b..(node + 1) * b];
        let vanish = rows.iter().all(|row| row.sums_vanish && row.entries > 0);
        floats[component as usize] &= vanish;
        first[component as usize] = first[component as usize].min(node * b);
    }
    (0..first.len()).filter(|&c| floats[c]).map(|c| first[c]).collect()
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.diagonal_range;
        writeln!(f, "{}, {}", self.symmetry, self.definiteness)?;
        write!(f, "diagonal from {least:.2e} to {most:.2e} in size, {} nonzeros", self.nonzeros)
    }
}
