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
const SMALL: f64 = 1e-16;

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
    let mut det = dot(&f[0], &turned[0]);
    let least = REGULAR * size * size.sqrt();
    if det < least || det.is_nan() || least.is_nan() {
        return None;
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
        det = dot(&x[0], &turned[0]);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_core::SplitMix64;

    /// Random stretches and turns, small ones, reflections and flat matrices: R is that of the singular values.
    #[test]
    fn the_rotation_is_that_of_the_singular_values() {
        let mut random = SplitMix64::new(7);
        let (mut newtons, mut others) = (0, 0);
        for k in 0..600 {
            let scale = [1e-9, 1e-3, 0.3, 3.0][k % 4];
            let f: [[f64; 3]; 3] = std::array::from_fn(|i| {
                std::array::from_fn(|j| f64::from(u8::from(i == j)) + scale * random.number())
            });
            let (r, svd) = (rotation(&f), Svd::of(&f));
            let known = mul_transposed(&svd.u, &svd.v);
            *if newton(&f).is_some() { &mut newtons } else { &mut others } += 1;
            // The rotation is badly conditioned where the two smallest singular values cancel.
            let tolerance = 1e-14 / (svd.sigma[1] + svd.sigma[2]).min(1.0);
            for (x, y) in r.as_flattened().iter().zip(known.as_flattened()) {
                assert!((x - y).abs() < tolerance, "{f:?}: {r:?} {known:?}");
            }
        }
        assert!(newtons > 400 && others > 50, "{newtons} {others}");
    }

    #[test]
    fn what_is_not_finite_ends() {
        for bad in [f64::NAN, f64::INFINITY, 1e200] {
            rotation(&[[bad, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        }
    }

    /// A turn by 90 degrees and a stretch of its axes.
    #[test]
    fn by_hand() {
        let r = rotation(&[[0.0, -2.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 1.5]]);
        let known = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        for (x, y) in r.as_flattened().iter().zip(known.as_flattened()) {
            assert!((x - y).abs() < 1e-15, "{r:?}");
        }
    }
}
