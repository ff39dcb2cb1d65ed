//! Signs of the eigenvalues, as far as the diagonal, dominance and small minors determine them.

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Classes};

use super::Symmetry;
use super::facts::Facts;
use super::pair::{Pair, ratio};
use super::witness::{Definiteness, Witness};

impl Definiteness {
    pub(super) fn of<T: Real>(
        a: &Bsr<T>,
        facts: &Facts,
        (symmetry, pair): (&Symmetry, Option<Pair>),
        components: Option<&Classes>,
    ) -> Self {
        if !symmetry.holds() {
            return Self::Unsymmetric;
        }
        let tally = &facts.tally;
        if let (&[positive, ..], &[negative, ..]) =
            (&tally.positive_diagonal.rows[..], &tally.negative_diagonal.rows[..])
        {
            return Self::Indefinite(Witness::Diagonal { positive, negative });
        }
        if let Some((ratio, i, j)) = pair {
            if ratio > 1.0 + facts.tolerance {
                return Self::Indefinite(Witness::Pair { rows: (i, j), ratio });
            }
            if ratio >= 1.0 - facts.tolerance
                && let Some(rows) = tight_triple(a, facts.tolerance)
            {
                return Self::Indefinite(Witness::Triple { rows });
            }
        }
        if a.shape().0 == 0 || tally.any_zero() {
            return Self::Unknown;
        }
        match (tally.positive_diagonal.count > 0, components.is_some_and(|c| dominates(a, facts, c))) {
            (true, true) => Self::Positive,
            (true, false) => Self::MaybePositive,
            (false, true) => Self::Negative,
            (false, false) => Self::MaybeNegative,
        }
    }
}

/// Whether every row is diagonally dominant and at least one row of each component strictly.
fn dominates<T: Real>(a: &Bsr<T>, facts: &Facts, components: &Classes) -> bool {
    let (tally, n, b) = (&facts.tally, a.shape().0, a.block().0);
    if tally.weak.count > 0 || tally.strict == 0 {
        return false;
    }
    // A component of blocks may consist of several unconnected scalar components. The proof then requires
    // strict dominance in every row.
    if b > 1 || components.count() == 1 || tally.strict == n {
        return b == 1 || tally.strict == n;
    }
    let mut strict = vec![false; components.count()];
    for (row, &component) in facts.rows(a).iter().zip(components.of()) {
        strict[component as usize] |= row.slack(facts.tolerance) > 0.0;
    }
    strict.into_iter().all(|s| s)
}

/// The nonzero off-diagonal entries of block row i, as (row, column, value).
fn off_diagonal<T: Real>(a: &Bsr<T>, i: usize) -> impl Iterator<Item = (usize, usize, f64)> {
    let b = a.block().0;
    let entries = a.row(i).flat_map(move |(j, block)| {
        block.iter().enumerate().map(move |(e, v)| (i * b + e / b, j * b + e % b, v.as_f64()))
    });
    entries.filter(|&(i, j, v)| i != j && v != 0.0)
}

/// The first pair (i, j) whose 2x2 minor vanishes although rows i and j are not proportional, and a column k
/// in which the rows differ.
fn tight_triple<T: Real>(a: &Bsr<T>, tolerance: f64) -> Option<(usize, usize, usize)> {
    let (b, diagonal) = (a.block().0, a.diagonal());
    let of_row = |i: usize| diagonal[i].as_f64();
    let of = |&(i, j, v): &(usize, usize, f64)| ratio(v, of_row(i), of_row(j));
    let tight = |e: &(usize, usize, f64)| e.0 < e.1 && (of(e) - 1.0).abs() <= tolerance;
    let witness = |(i, j, ij): (usize, usize, f64)| {
        let proportion = ij / of_row(j);
        let row = |i: usize| a.row(i / b).flat_map(move |(k, _)| k * b..(k + 1) * b);
        let differs = |k: usize| {
            let (ik, jk) = (a.get(i, k).as_f64(), proportion * a.get(j, k).as_f64());
            // Well above round-off, because the square of this difference makes the 3x3 minor negative.
            (ik - jk).abs() > tolerance.sqrt() * of_row(i).abs()
        };
        let k = row(i).chain(row(j)).find(|&k| k != i && k != j && differs(k));
        k.map(|k| (i, j, k))
    };
    // If row j is proportional to row i, both have the same tight pairs, so each row is compared only once. A
    // matrix of ones then takes one pass over its entries, not one pass per row.
    let mut settled = vec![false; diagonal.len()];
    (0..a.pattern().rows()).find_map(|i| {
        off_diagonal(a, i).filter(tight).find_map(|pair| {
            let (i, j, _) = pair;
            if settled[i] || std::mem::replace(&mut settled[j], true) { None } else { witness(pair) }
        })
    })
}
