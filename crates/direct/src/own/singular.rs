//! A = U Σ Vᵀ of a full matrix by one-sided Jacobi rotations: pairs of columns are rotated until all are
//! orthogonal.
//!
//! | symbol | name here |
//! |---|---|
//! | G = A V, whose columns become σ u | `g` |
//! | α = ‖g_p‖², β = ‖g_q‖², γ = g_pᵀ g_q | `alpha`, `beta`, `gamma` |
//! | t, the tangent of the angle that makes γ = 0 | `t` |
//!
//! *Reference* Hestenes 1958, "Inversion of matrices by biorthogonalization and related results"; Golub and
//! Van Loan 2013, section 8.6.3.

use coarsen_core::power_of_two;

use super::eigen::{dot, sort};
use crate::DirectError;

/// The largest number of sweeps over all pairs; six to ten are usual.
const ROUNDS: usize = 60;

/// Computes singular values in descending order. `g` holds A and becomes U, with zero columns for zero
/// singular values. Matrices are stored by columns.
pub(super) fn rotate(g: &mut [f64], v: &mut [f64], sigma: &mut [f64]) -> Result<(), DirectError> {
    let n = sigma.len();
    // Scaled so that squares neither overflow nor underflow.
    let scale = power_of_two(g.iter().fold(0.0, |most, x| x.abs().max(most)));
    g.iter_mut().for_each(|x| *x /= scale);
    v.fill(0.0);
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    // A column with a squared norm below this value is round-off and is not rotated.
    let none = (f64::EPSILON * n as f64).powi(2) * dot(g, g);
    let mut rounds = 0;
    while round(g, v, n, none) {
        rounds += 1;
        if rounds > ROUNDS {
            return Err(DirectError::Spectrum { size: n });
        }
    }
    for (s, column) in sigma.iter_mut().zip(g.chunks_exact_mut(n)) {
        let length = dot(column, column).sqrt();
        column.iter_mut().for_each(|x| *x = if length > 0.0 { *x / length } else { 0.0 });
        *s = length * scale;
    }
    sort(sigma, &mut [g, v], |a, b| a > b);
    Ok(())
}

/// Rotates every pair of columns that is not orthogonal; returns whether there was such a pair.
fn round(g: &mut [f64], v: &mut [f64], n: usize, none: f64) -> bool {
    let mut turned = false;
    for p in 0..n {
        for q in p + 1..n {
            let (g_p, g_q) = pair(g, p, q, n);
            let (alpha, beta, gamma) = (dot(g_p, g_p), dot(g_q, g_q), dot(g_p, g_q));
            let orthogonal = gamma.abs() <= f64::EPSILON * n as f64 * (alpha * beta).sqrt();
            if orthogonal || alpha.min(beta) <= none {
                continue;
            }
            turned = true;
            let zeta = (beta - alpha) / (2.0 * gamma);
            let t = 1.0_f64.copysign(zeta) / (zeta.abs() + zeta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            turn(g_p, g_q, c, c * t);
            let (v_p, v_q) = pair(v, p, q, n);
            turn(v_p, v_q, c, c * t);
        }
    }
    turned
}

/// Columns p < q of a matrix.
fn pair(matrix: &mut [f64], p: usize, q: usize, n: usize) -> (&mut [f64], &mut [f64]) {
    let (head, tail) = matrix.split_at_mut(q * n);
    (&mut head[p * n..(p + 1) * n], &mut tail[..n])
}

/// Applies a plane rotation to (x, y).
fn turn(x: &mut [f64], y: &mut [f64], c: f64, s: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}
