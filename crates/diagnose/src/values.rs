//! Properties of all rows together.

use std::fmt;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Classes};

use super::facts::Facts;
use super::halves::Halves;
use super::row::Row;
use super::tally::Tally;
use super::{Definiteness, Finding, Sample, Symmetry};

/// The properties of the values of a square finite matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// The comparison of A with Aᵀ.
    pub symmetry: Symmetry,
    /// The proven or possible signs of the eigenvalues.
    pub definiteness: Definiteness,
    /// The number of nonzero scalars.
    pub nonzeros: usize,
    /// The number of rows without nonzeros.
    pub empty: usize,
    /// The number of nonempty rows with a zero diagonal entry.
    pub zero_diagonal: usize,
    /// The number of rows with a negative diagonal entry.
    pub negative_diagonal: usize,
    /// The number of identity rows.
    pub fixed: usize,
    /// The number of rows whose only nonzero is a diagonal entry other than 1.
    pub diagonal_only: usize,
    /// The smallest and largest nonzero |a_ii| of rows with other nonzeros; both are 0 if there are no such
    /// rows.
    pub diagonal_range: (f64, f64),
    /// The fraction of rows with Σ_j≠i |a_ij| > |a_ii|.
    pub not_dominant: f64,
    /// The fraction of nonzero off-diagonal entries with the sign of the diagonal entry of their row; 0 for
    /// an M-matrix.
    pub positive_off_diagonal: f64,
    /// The number of connected components whose row sums all vanish.
    pub floating: usize,
    /// The rows whose diagonal entry exceeds 1e15 times the sum of their other entries and 1e10 times the median of the
    /// other rows, in ascending order: b prescribes their values. Test the residual in the other rows, relative to b
    /// without these rows.
    pub prescribed: Vec<usize>,
}

impl Values {
    /// The properties of the values, and the first rows of components with vanishing row sums.
    pub(super) fn of<T: Real>(
        a: &Bsr<T>,
        (facts, tally, halves): (&Facts, &Tally, Halves),
        components: Option<&Classes>,
    ) -> (Self, Vec<usize>) {
        let (symmetry, pair) = Symmetry::of::<T>(halves, tally.off);
        let definiteness = Definiteness::of(a, facts, tally, (&symmetry, pair), components);
        let (least, most) = tally.range;
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        let floating = components.map_or(vec![], |c| floating(facts, tally, c));
        let values = Self {
            definiteness,
            symmetry,
            nonzeros: tally.off + tally.positive_diagonal + tally.negative_diagonal,
            empty: tally.empty,
            zero_diagonal: tally.zero_diagonal,
            negative_diagonal: tally.negative_diagonal,
            fixed: tally.fixed,
            diagonal_only: tally.diagonal_only,
            diagonal_range: if most > 0.0 { (least, most) } else { (0.0, 0.0) },
            not_dominant: share(tally.weak, facts.rows.len()),
            positive_off_diagonal: share(tally.same_sign, tally.off),
            floating: floating.len(),
            prescribed: tally.prescribed(&facts.rows),
        };
        (values, floating)
    }

    pub(super) fn findings(&self, facts: &Facts, floating: &[usize]) -> Vec<Finding> {
        let rows = &facts.rows;
        let mut findings = Vec::from_iter(self.symmetry.finding(&facts.rows, facts.tolerance));
        // A sample costs a pass over the rows, so it is computed only if the count is positive.
        let sample =
            |seen: bool, is: &(dyn Fn(&Row) -> bool + Sync)| if seen { facts.sample(is) } else { None };
        let negative = sample(self.negative_diagonal > 0, &|row| row.diagonal < 0.0);
        findings.extend(match negative {
            Some(sample) if sample.count == rows.len() => Some(Finding::AllNegative),
            other => other.map(Finding::NegativeDiagonal),
        });
        let zero = sample(self.zero_diagonal > 0, &|row| row.diagonal == 0.0 && !row.is_empty());
        findings.extend(zero.map(Finding::ZeroDiagonal));
        if let Definiteness::Indefinite(witness) = &self.definiteness {
            findings.push(Finding::Indefinite(witness.clone()));
        }
        if let Some(rows) = Sample::of(floating.iter().copied()) {
            findings.push(Finding::Floating { components: floating.len(), rows });
        }
        let prescribed = Sample::of(self.prescribed.iter().copied()).map(Finding::Prescribed);
        let (least, most) = self.diagonal_range;
        if most > Facts::SCALE * least && prescribed.is_none() {
            let is = |row: &Row, size: f64| row.entries > 0 && row.diagonal.abs() == size;
            let row = |size: f64| rows.iter().position(|row| is(row, size)).unwrap_or(0);
            findings.push(Finding::Scale { least: (row(least), least), most: (row(most), most) });
        }
        findings.extend(prescribed);
        let fixed = sample(self.fixed > 0, &|row| row.is_alone() && row.diagonal == 1.0);
        findings.extend(fixed.map(Finding::Fixed));
        let alone = sample(self.diagonal_only > 0, &|row| row.is_alone() && row.diagonal != 1.0);
        findings.extend(alone.map(Finding::DiagonalOnly));
        let weak = sample(self.not_dominant > 0.0, &|row| row.slack(facts.tolerance) < 0.0);
        findings.extend(weak.map(|rows| Finding::NotDominant { share: self.not_dominant, rows }));
        let share = self.positive_off_diagonal;
        let positive = sample(share > 0.0, &|row| row.same_sign > 0);
        findings.extend(positive.map(|rows| Finding::PositiveOffDiagonal { share, rows }));
        findings
    }
}

/// The first scalar row of each component that has several nodes and vanishing row sums.
fn floating(facts: &Facts, tally: &Tally, components: &Classes) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    if tally.vanishing == 0 || components.count() == 1 && tally.vanishing < facts.rows.len() {
        return vec![];
    }
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
        write!(f, "absolute diagonal from {least:.2e} to {most:.2e}, {} nonzeros", self.nonzeros)
    }
}
