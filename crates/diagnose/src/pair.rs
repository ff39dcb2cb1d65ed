//! Pairs of rows with a large coupling, which may prove that the matrix is indefinite.

/// The ratio a_ij² / (a_ii a_jj), with i and j.
pub(super) type Pair = (f64, usize, usize);

/// Returns the pair with the larger ratio, or the first pair if the ratios are equal.
pub(super) fn worse(p: Option<Pair>, q: Option<Pair>) -> Option<Pair> {
    match (p, q) {
        (Some(a), Some(b)) => Some(if b.0 > a.0 { b } else { a }),
        (p, q) => p.or(q),
    }
}

/// The ratio v² / (p q).
pub(super) fn ratio(v: f64, p: f64, q: f64) -> f64 {
    // Two divisions, because the product of two diagonal entries may overflow or underflow.
    (v / p).abs() * (v / q).abs()
}
