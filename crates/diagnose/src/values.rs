//! Properties of all rows together.

use std::fmt;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Classes};

use super::facts::Facts;
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
    pub unconstrained: usize,
    /// The rows whose diagonal entry exceeds 1e15 times the sum of their other entries and 1e10 times the median of the
    /// other rows, in ascending order: b prescribes their values. Test the residual in the other rows, relative to b
    /// without these rows.
    pub prescribed: Vec<usize>,
}

impl Values {
    /// The properties of the values, and the first rows of components with vanishing row sums.
    pub(super) fn of<T: Real>(a: &Bsr<T>, facts: &Facts, components: Option<&Classes>) -> (Self, Vec<usize>) {
        let tally = &facts.tally;
        let (symmetry, pair) = Symmetry::of::<T>(&facts.halves, tally.off);
        let definiteness = Definiteness::of(a, facts, (&symmetry, pair), components);
        let [(least, _), (most, _)] = tally.range;
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        let unconstrained = components.map_or(vec![], |c| unconstrained(a, facts, c));
        let values = Self {
            definiteness,
            symmetry,
            nonzeros: tally.off + tally.positive_diagonal.count + tally.negative_diagonal.count,
            empty: tally.empty.count,
            zero_diagonal: tally.zero_diagonal.count,
            negative_diagonal: tally.negative_diagonal.count,
            fixed: tally.fixed.count,
            diagonal_only: tally.diagonal_only.count,
            diagonal_range: if most > 0.0 { (least, most) } else { (0.0, 0.0) },
            not_dominant: share(tally.weak.count, a.shape().0),
            positive_off_diagonal: share(tally.same_sign_entries, tally.off),
            unconstrained: unconstrained.len(),
            prescribed: tally.prescribed(|| facts.rows(a)),
        };
        (values, unconstrained)
    }

    pub(super) fn findings(&self, facts: &Facts, unconstrained: &[usize], n: usize) -> Vec<Finding> {
        let tally = &facts.tally;
        let mut findings = Vec::from_iter(self.symmetry.finding(tally, facts.tolerance));
        findings.extend(match tally.negative_diagonal.found() {
            Some(rows) if rows.count == n => Some(Finding::AllNegative),
            other => other.map(Finding::NegativeDiagonal),
        });
        findings.extend(tally.zero_diagonal.found().map(Finding::ZeroDiagonal));
        if let Definiteness::Indefinite(witness) = &self.definiteness {
            findings.push(Finding::Indefinite(witness.clone()));
        }
        if let Some(rows) = Sample::of(unconstrained.iter().copied()) {
            findings.push(Finding::Unconstrained { components: unconstrained.len(), rows });
        }
        let prescribed = Sample::of(self.prescribed.iter().copied()).map(Finding::Prescribed);
        let [(low, least), (high, most)] = tally.range;
        if high > Facts::SCALE * low && prescribed.is_none() {
            findings.push(Finding::Scale { least: (least, low), most: (most, high) });
        }
        findings.extend(prescribed);
        findings.extend(tally.fixed.found().map(Finding::Fixed));
        findings.extend(tally.diagonal_only.found().map(Finding::DiagonalOnly));
        let share = self.not_dominant;
        findings.extend(tally.weak.found().map(|rows| Finding::NotDominant { share, rows }));
        let share = self.positive_off_diagonal;
        findings.extend(tally.same_sign.found().map(|rows| Finding::PositiveOffDiagonal { share, rows }));
        findings
    }
}

/// The first scalar row of each component that has several nodes and vanishing row sums.
fn unconstrained<T: Real>(a: &Bsr<T>, facts: &Facts, components: &Classes) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let (n, vanishing) = (a.shape().0, facts.tally.vanishing);
    if vanishing == 0 || components.count() == 1 {
        return if vanishing == n && n > 0 { vec![0] } else { vec![] };
    }
    let (b, rows) = (a.block().0, facts.rows(a));
    let mut first = vec![NONE; components.count()];
    let mut unconstrained = vec![true; components.count()];
    for (node, &component) in components.of().iter().enumerate() {
        let rows = &rows[node * b..(node + 1) * b];
        let vanish = rows.iter().all(|row| row.sums_vanish && row.entries > 0);
        unconstrained[component as usize] &= vanish;
        first[component as usize] = first[component as usize].min(node * b);
    }
    (0..first.len()).filter(|&c| unconstrained[c]).map(|c| first[c]).collect()
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.diagonal_range;
        writeln!(f, "{}, {}", self.symmetry, self.definiteness)?;
        write!(f, "absolute diagonal from {least:.2e} to {most:.2e}, {} nonzeros", self.nonzeros)
    }
}
