//! Common functions of the tests of relaxation: a right-hand side, M applied to it, and a comparison.

use coarsen_core::Preconditioner;

pub(crate) fn right_hand_side(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7) % 11) as f64 - 4.5).collect()
}

pub(crate) fn applied(m: &mut dyn Preconditioner<Vec<f64>>, r: &Vec<f64>) -> Vec<f64> {
    let mut z = vec![f64::NAN; r.len()];
    m.apply(r, &mut z);
    assert_eq!(m.size(), Some(r.len()));
    z
}

pub(crate) fn near(x: &[f64], y: &[f64]) -> bool {
    let size = y.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
    x.len() == y.len() && x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-12 * size)
}
