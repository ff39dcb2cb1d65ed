//! The smallest residual that f64 allows.

use std::fmt;

use coarsen_sparse::Bsr;

/// Returns the residual that round-off in x and in b − A x causes: ε ‖ |A| |x| + |b| ‖₂ / ‖b‖₂, divided by 1
/// if b = 0.
///
/// With any method, a residual that is computed in f64 is only round-off below this value. The value is large
/// if A is so ill-conditioned that x = A⁻¹ b is larger than b by many orders of magnitude. *Cost*: one
/// product with |A|. *Source*: Higham 2002, "Accuracy and Stability of Numerical Algorithms", §7.1 and §12.1.
///
/// ```
/// let a = coarsen_sparse::assembly::from_triplets(1, 1, &[(0, 0, 1e-3)])?;
/// let floor = coarsen_auto::attainable(&a, &[1.0], &[1000.0]);
/// assert!((floor / f64::EPSILON - 2.0).abs() < 1e-12);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
pub fn attainable(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let largest = |v: &[f64]| v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let (rows, columns) = a.block();
    let mut sums: Vec<f64> = b.iter().map(|v| v.abs()).collect();
    for i in 0..a.pattern().rows() {
        for (j, block) in a.row(i) {
            for (k, value) in block.iter().enumerate() {
                sums[i * rows + k / columns] += value.abs() * x[j * columns + k % columns].abs();
            }
        }
    }
    let norm = |v: &[f64], scale: f64| v.iter().map(|v| (v / scale).powi(2)).sum::<f64>().sqrt() * scale;
    let (top, size) = (largest(&sums), largest(b));
    if top == 0.0 {
        return 0.0;
    }
    f64::EPSILON * norm(&sums, top) / if size > 0.0 { norm(b, size) } else { 1.0 }
}

/// A tolerance that cannot be reached in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundOff {
    /// The residual that round-off alone may cause: [`attainable`].
    pub bound: f64,
    /// The residual that was reached.
    pub reached: f64,
    /// The requested tolerance.
    pub tolerance: f64,
}

impl RoundOff {
    /// The largest residual of a system that is not ill-conditioned.
    const ORDINARY: f64 = 1e-12;

    /// Whether a residual above `tolerance` is about as small as f64 allows: the bound is at or above the tolerance,
    /// and the residual is near it.
    pub fn limits(bound: f64, tolerance: f64, reached: f64) -> bool {
        /// Iterations stagnate at this multiple of the bound.
        const NEAR: f64 = 1e3;
        bound >= tolerance && reached <= NEAR * bound
    }
}

impl fmt::Display for RoundOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, reached, tolerance } = *self;
        write!(
            f,
            "the tolerance {tolerance:.0e} is not reached in f64: with A, x and b of this size, rounding alone can give a relative \
             residual of {bound:.0e}, and {reached:.1e} was reached"
        )?;
        let looser = 2.0 * reached;
        match reached > Self::ORDINARY {
            true => write!(
                f,
                "; A is so ill-conditioned that x is much larger than b; loosen the tolerance to {looser:.0e}, or scale, constrain or \
                 regularise the system"
            ),
            false => write!(f, "; loosen the tolerance to {looser:.0e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_binds_above_the_tolerance_and_near_the_residual() {
        assert!(RoundOff::limits(2e-8, 1e-8, 1e-6));
        assert!(!RoundOff::limits(9e-9, 1e-8, 1e-6), "the tolerance is above it");
        assert!(!RoundOff::limits(2e-8, 1e-8, 1e-3), "the residual is far from it");
    }

    #[test]
    fn the_floor_grows_with_the_solution_alone() {
        let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 1.0), (1, 1, -1e-12)]).unwrap();
        let floor = attainable(&a, &[1.0, 1.0], &[1.0, -1e12]);
        assert!((floor / f64::EPSILON - 2.0).abs() < 1e-9, "A x = b row by row: {floor}");
        let cancelling = coarsen_sparse::assembly::from_triplets(1, 2, &[(0, 0, 1.0), (0, 1, -1.0)]).unwrap();
        let floor = attainable(&cancelling, &[1.0], &[1e12 + 1.0, 1e12]);
        assert!((floor / f64::EPSILON - 2e12).abs() < 1e3);
        assert_eq!(attainable(&a, &[0.0, 0.0], &[0.0, 0.0]), 0.0);
        assert!(attainable(&a, &[1e300, 1e300], &[1e300, 0.0]).is_finite());
    }
}
