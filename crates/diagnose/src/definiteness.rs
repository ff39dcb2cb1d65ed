//! Signs of eigenvalues, as far as the diagonal, dominance and small minors tell.

use std::fmt;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Classes};

use super::Symmetry;
use super::facts::Facts;
use super::values::Tally;

/// What is known about the eigenvalues of a symmetric matrix without computing any.
#[derive(Clone, Debug, PartialEq)]
pub enum Definiteness {
    /// All eigenvalues are positive: a positive diagonal that dominates everywhere, and strictly somewhere in each connected
    /// component (Gershgorin; Varga 2000, Theorem 1.21), up to round-off.
    Positive,
    /// All eigenvalues are negative, in the same way.
    Negative,
    /// The diagonal is positive and nothing speaks against positive definiteness.
    MaybePositive,
    /// The diagonal is negative and nothing speaks against negative definiteness.
    MaybeNegative,
    /// There are positive and negative eigenvalues.
    Indefinite(Witness),
    /// There are zeros on the diagonal, in empty rows, or no rows: nothing can be said.
    Unknown,
    /// The matrix is not symmetric.
    Unsymmetric,
}

/// What proves that a symmetric matrix is indefinite. Rows are scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Witness {
    /// Diagonal entries of both signs.
    Diagonal {
        /// A row with a positive diagonal entry.
        positive: usize,
        /// A row with a negative one.
        negative: usize,
    },
    /// a_ij² > a_ii a_jj: the 2x2 minor is negative.
    Pair {
        /// The rows i and j.
        rows: (usize, usize),
        /// a_ij² / (a_ii a_jj), the largest of all pairs; infinite for a zero diagonal.
        ratio: f64,
    },
    /// a_ij² = a_ii a_jj, so that x = a_jj e_i − a_ij e_j has xᵀ A x = 0, but (A x)_k ≠ 0: the 3x3 minor is negative.
    Triple {
        /// The rows i, j and k.
        rows: (usize, usize, usize),
    },
}

impl Definiteness {
    pub(super) fn of<T: Real>(
        a: &Bsr<T>,
        facts: &Facts,
        tally: &Tally,
        (symmetry, pair): (&Symmetry, Option<Pair>),
        components: Option<&Classes>,
    ) -> Self {
        if !symmetry.holds() {
            return Self::Unsymmetric;
        }
        let row = |is: &dyn Fn(f64) -> bool| facts.rows.iter().position(|row| is(row.diagonal));
        if tally.positive_diagonal > 0
            && tally.negative_diagonal > 0
            && let (Some(positive), Some(negative)) = (row(&|d| d > 0.0), row(&|d| d < 0.0))
        {
            return Self::Indefinite(Witness::Diagonal { positive, negative });
        }
        if let Some((ratio, i, j)) = pair {
            if ratio > 1.0 + facts.tolerance {
                return Self::Indefinite(Witness::Pair { rows: (i, j), ratio });
            }
            if ratio >= 1.0 - facts.tolerance
                && let Some(rows) = tight_triple(a, facts)
            {
                return Self::Indefinite(Witness::Triple { rows });
            }
        }
        if facts.rows.is_empty() || tally.any_zero() {
            return Self::Unknown;
        }
        match (tally.positive_diagonal > 0, components.is_some_and(|c| dominates(facts, c))) {
            (true, true) => Self::Positive,
            (true, false) => Self::MaybePositive,
            (false, true) => Self::Negative,
            (false, false) => Self::MaybeNegative,
        }
    }
}

/// Whether every row is dominant, and one row of each component strictly.
fn dominates(facts: &Facts, components: &Classes) -> bool {
    let b = facts.rows.len() / components.of().len().max(1);
    let mut strict = vec![false; components.count()];
    for (i, row) in facts.rows.iter().enumerate() {
        let slack = row.slack(facts.tolerance);
        if slack < 0.0 {
            return false;
        }
        strict[components.of()[i / b] as usize] |= slack > 0.0;
    }
    // Blocks may split into unconnected components: there, only strict dominance everywhere proves anything.
    let all = || facts.rows.iter().all(|row| row.slack(facts.tolerance) > 0.0);
    if b == 1 { strict.into_iter().all(|s| s) } else { all() }
}

/// a_ij² / (a_ii a_jj) with i and j.
pub(super) type Pair = (f64, usize, usize);

/// The larger ratio; the earlier pair wins ties.
pub(super) fn worse(p: Option<Pair>, q: Option<Pair>) -> Option<Pair> {
    match (p, q) {
        (Some(a), Some(b)) => Some(if b.0 > a.0 { b } else { a }),
        (p, q) => p.or(q),
    }
}

/// The nonzero off-diagonal entries of block row i, as (row, column, value).
fn off_diagonal<T: Real>(a: &Bsr<T>, i: usize) -> impl Iterator<Item = (usize, usize, f64)> {
    let b = a.block().0;
    let entries = a.row(i).flat_map(move |(j, block)| {
        block.iter().enumerate().map(move |(e, v)| (i * b + e / b, j * b + e % b, v.wide()))
    });
    entries.filter(|&(i, j, v)| i != j && v != 0.0)
}

/// a_ij² / (a_ii a_jj).
pub(super) fn ratio(facts: &Facts, (i, j, v): (usize, usize, f64)) -> f64 {
    // Two divisions, since the product of two diagonals may overflow or vanish.
    (v / facts.rows[i].diagonal).abs() * (v / facts.rows[j].diagonal).abs()
}

/// The first pair whose 2x2 minor vanishes while rows i and j are not in proportion.
fn tight_triple<T: Real>(a: &Bsr<T>, facts: &Facts) -> Option<(usize, usize, usize)> {
    let b = a.block().0;
    let tight = |&e: &(usize, usize, f64)| e.0 < e.1 && (ratio(facts, e) - 1.0).abs() <= facts.tolerance;
    let witness = |(i, j, ij): (usize, usize, f64)| {
        let proportion = ij / facts.rows[j].diagonal;
        let row = |i: usize| a.row(i / b).flat_map(move |(k, _)| k * b..(k + 1) * b);
        let differs = |k: usize| {
            let (ik, jk) = (a.get(i, k).wide(), proportion * a.get(j, k).wide());
            // Well above round-off: the square of this difference is what makes the minor negative.
            (ik - jk).abs() > facts.tolerance.sqrt() * facts.rows[i].diagonal.abs()
        };
        let k = row(i).chain(row(j)).find(|&k| k != i && k != j && differs(k));
        k.map(|k| (i, j, k))
    };
    // Rows in proportion to an earlier one are tight with the same rows as that one: each is compared once, so that a
    // matrix of ones costs a pass over its entries, not one for each of them.
    let mut settled = vec![false; facts.rows.len()];
    (0..a.pattern().rows()).find_map(|i| {
        off_diagonal(a, i).filter(tight).find_map(|pair| {
            let (i, j, _) = pair;
            if settled[i] || std::mem::replace(&mut settled[j], true) { None } else { witness(pair) }
        })
    })
}

impl fmt::Display for Definiteness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Positive => "positive definite by diagonal dominance",
            Self::Negative => "negative definite by diagonal dominance",
            Self::MaybePositive => "positive diagonal, possibly positive definite",
            Self::MaybeNegative => "negative diagonal, possibly negative definite",
            Self::Indefinite(_) => "indefinite",
            Self::Unknown => "signs of eigenvalues unknown",
            Self::Unsymmetric => "signs of eigenvalues not looked at",
        })
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diagonal { positive, negative } => {
                write!(f, "the diagonal is positive in row {positive} and negative in row {negative}")
            }
            Self::Pair { rows: (i, j), ratio } => {
                write!(
                    f,
                    "rows {i} and {j} have a_ij^2 = {ratio:.3} a_ii a_jj, more than a definite matrix allows"
                )
            }
            Self::Triple { rows: (i, j, k) } => {
                write!(f, "the minor of rows {i}, {j} and {k} is negative")
            }
        }
    }
}
