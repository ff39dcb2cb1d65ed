//! The rotation nearest to a matrix, by Newton's method.
//!
//! > X₀ = F,    X ← ½ (X + X⁻ᵀ),    X⁻ᵀ = cof X / det X    (1)
//!
//! *Reference* Higham 1986, "Computing the polar decomposition, with applications", SIAM J. Sci. Stat. Comput. 7(4),
//! (3.1).

use crate::mat3::{Svd, cofactor, dot, mul_transposed, square};

/// Newton's method is used if det F is at least this fraction of ‖F‖³: it is then far from singular matrices.
const REGULAR: f64 = 1e-3;

/// Once a change has at most this square, the next iterate is exact to round-off, since convergence is quadratic.
const SMALL: f64 = f64::EPSILON;

/// The maximal number of iterations. Singular values from 1/2 to 2 need five.
const ITERATIONS: usize = 12;

/// Returns the rotation R nearest to F; for reflections as [`Svd`] defines it, U Vᵀ.
///
/// *Cost* two to five divisions and cofactors for bodies in use; [`Svd`] for reflected and nearly flat ones.
pub(crate) fn rotation(f: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    newton(f).unwrap_or_else(|| {
        let svd = Svd::of(f);
        mul_transposed(&svd.u, &svd.v)
    })
}

/// Iterates (1); `None` for matrices that are not [`REGULAR`].
fn newton(f: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let mut x = *f;
    let (mut turned, size) = (cofactor(f), square(f));
    let mut det = dot(f[0], turned[0]);
    if det.is_nan() || det < REGULAR * size * size.sqrt() {
        return None; // also NaN
    }
    for _ in 0..ITERATIONS {
        let over = 0.5 / det;
        let mut change = 0.0;
        for i in 0..3 {
            for j in 0..3 {
                let next = 0.5 * x[i][j] + over * turned[i][j]; // (1)
                change += (next - x[i][j]).powi(2);
                x[i][j] = next;
            }
        }
        if change <= SMALL {
            return Some(x);
        }
        turned = cofactor(&x);
        det = dot(x[0], turned[0]);
    }
    None
}
