//! Small dense systems that may be singular.

use std::sync::Arc;

use coarsen::backend::DenseBlocks;
use coarsen::direct::Dense;
use coarsen::sparse::{Bsr, Pattern};

/// Returns A⁺ of a row-major matrix of n x n: the inverse, or the pseudo-inverse of a singular matrix. A matrix with
/// entries that are not finite gives zeros.
pub(crate) fn pseudo_inverse(a: &[f64], n: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; n * n];
    if n == 1 {
        inverse[0] = if a[0] == 0.0 { 0.0 } else { 1.0 / a[0] };
        return inverse;
    }
    if DenseBlocks::invert_one(a, &mut inverse, n) {
        return inverse;
    }
    inverse.fill(0.0);
    let whole = Pattern::diagonal(1).ok().and_then(|p| Bsr::new(Arc::new(p), (n, n), a.to_vec()).ok());
    if let Some(found) = whole.and_then(|a| Dense::default().invert(&a).ok()) {
        // By columns.
        (0..n * n).for_each(|k| inverse[k % n * n + k / n] = found.values()[k]);
    }
    inverse
}

/// Overwrites b with A⁺ b.
pub(crate) fn pseudo_solve(a: &[f64], n: usize, b: &mut [f64]) {
    let inverse = pseudo_inverse(a, n);
    let x: Vec<f64> =
        inverse.chunks_exact(n).map(|row| row.iter().zip(&*b).map(|(a, b)| a * b).sum()).collect();
    b.copy_from_slice(&x);
}
