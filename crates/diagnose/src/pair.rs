//! Pairs of rows with a large coupling, which may prove that the matrix is indefinite.

use super::facts::Facts;

/// The ratio a_ij² / (a_ii a_jj), with i and j.
pub(super) type Pair = (f64, usize, usize);

/// Returns the pair with the larger ratio, or the first pair if the ratios are equal.
pub(super) fn worse(p: Option<Pair>, q: Option<Pair>) -> Option<Pair> {
    match (p, q) {
        (Some(a), Some(b)) => Some(if b.0 > a.0 { b } else { a }),
        (p, q) => p.or(q),
    }
}

/// The ratio a_ij² / (a_ii a_jj).
pub(super) fn ratio(facts: &Facts, (i, j, v): (usize, usize, f64)) -> f64 {
    ratio_of(v, facts.rows[i].diagonal, facts.rows[j].diagonal)
}

/// The ratio v² / (p q).
pub(super) fn ratio_of(v: f64, p: f64, q: f64) -> f64 {
    // Two divisions, because the product of two diagonal entries may overflow or underflow.
    (v / p).abs() * (v / q).abs()
}
