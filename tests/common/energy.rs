//! What simulations keep, and how positions are compared.

#![allow(dead_code, reason = "each test file uses a part")]

/// Checks that energies are finite, and that from any frame on energy less work grows by no more than a share of the largest
/// kinetic and elastic energy. `of` gives energy less work, and kinetic and elastic energy, of a row.
pub(crate) fn check_energy<R: std::fmt::Display>(rows: &[R], share: f64, of: fn(&R) -> (f64, f64)) {
    let size = rows.iter().map(|row| of(row).1).fold(0.0, f64::max);
    let mut least = f64::INFINITY;
    for row in rows {
        let (balance, _) = of(row);
        assert!(balance.is_finite(), "{row}");
        assert!(balance <= least + share * size, "{balance:e} after {least:e}, of {size:e}\n{row}");
        least = least.min(balance);
    }
}

/// The largest distance between corresponding points.
pub(crate) fn distance(a: &[[f64; 3]], b: &[[f64; 3]]) -> f64 {
    assert_eq!(a.len(), b.len());
    let gap = |(a, b): (&f64, &f64)| (a - b).abs();
    a.as_flattened().iter().zip(b.as_flattened()).map(gap).fold(0.0, f64::max)
}
