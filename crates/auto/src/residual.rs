//! Residuals in f64, and their part that is round-off.

use std::ops::Range;

use coarsen_core::parallel::{self, LEAF, tree};
use coarsen_core::{LinearOperator, largest, power_of_two};
use coarsen_sparse::Bsr;

use crate::Ending;

/// Returns ‖b − A x‖ / ‖b‖ in the 2-norm, or ‖A x‖ if b = 0; NaN if x is not finite. b and x have the sizes of A.
pub fn relative_residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    assert_eq!((b.len(), x.len()), a.shape(), "the lengths of b and x");
    let most = largest(x);
    if most.is_nan() {
        return f64::NAN;
    }
    let size = norm(b);
    let unit = if size > 0.0 { size } else { 1.0 };
    if most == 0.0 {
        return size / unit;
    }
    let square = residual_square(a, b, x);
    if square.is_normal() && square < f64::MAX / 2.0 {
        return square.sqrt() / unit;
    }
    let mut r = vec![0.0; b.len()]; // the squares leave the range of f64
    a.residual(&b.to_vec(), &x.to_vec(), &mut r);
    norm(&r) / unit
}

/// ‖b − A x‖² in one pass over A.
fn residual_square(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let size = a.block().0;
    let squares = |rows: Range<usize>| {
        let (first, mut sum) = (rows.start * size, 0.0);
        a.row_products(rows, x, &mut |at, ax| {
            let b = &b[first + at..];
            sum += b.iter().zip(ax).map(|(b, ax)| (b - ax) * (b - ax)).sum::<f64>();
        });
        sum
    };
    tree(0..a.pattern().rows(), (LEAF / size).max(1), parallel::worth(a.nnz()), &squares, &|left, right| {
        left + right
    })
}

/// The residual that round-off in x and in b − A x causes: ε ‖ |A| |x| + |b| ‖₂ / ‖b‖₂, divided by 1 if b = 0.
///
/// With any method, a residual that is computed in f64 is only round-off below this value. The value is large
/// if A is so ill-conditioned that x = A⁻¹ b is larger than b by many orders of magnitude. b and x have
/// the sizes of A. *Cost*: one product with |A|. *Source*: Higham 2002, "Accuracy and Stability of Numerical Algorithms", §7.1 and
/// §12.1.
///
/// ```
/// let a = coarsen_sparse::assembly::from_triplets(1, 1, &[(0, 0, 1e-3)])?;
/// let bound = coarsen_auto::attainable(&a, &[1.0], &[1000.0]);
/// assert!((bound / f64::EPSILON - 2.0).abs() < 1e-12);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
pub fn attainable(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let mut sums = absolute_product(a, x);
    sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += b.abs());
    f64::EPSILON * norm(&sums) / unit(b)
}

/// |A| |x|.
pub(crate) fn absolute_product(a: &Bsr<f64>, x: &[f64]) -> Vec<f64> {
    let (rows, columns) = a.block();
    let mut sums = vec![0.0; a.shape().0];
    for i in 0..a.pattern().rows() {
        for (j, block) in a.row(i) {
            for (k, value) in block.iter().enumerate() {
                sums[i * rows + k / columns] += (value * x[j * columns + k % columns]).abs();
            }
        }
    }
    sums
}

/// ‖v‖₂, without overflow or underflow of the squares; not finite if v is not.
pub(crate) fn norm(v: &[f64]) -> f64 {
    /// The number of independent sums.
    const LANES: usize = 8;
    let scale = power_of_two(largest(v));
    let reciprocal = scale.recip(); // exact for a power of two
    let squares = |part: &[f64]| {
        let (chunks, rest) = part.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for chunk in chunks {
            sums.iter_mut().zip(chunk).for_each(|(sum, v)| *sum += (v * reciprocal) * (v * reciprocal));
        }
        sums.iter_mut().zip(rest).for_each(|(sum, v)| *sum += (v * reciprocal) * (v * reciprocal));
        sums.iter().sum::<f64>()
    };
    scale * tree(v, LEAF, parallel::worth(v.len()), &squares, &|left, right| left + right).sqrt()
}

/// ‖b‖₂, or 1 if b = 0.
fn unit(b: &[f64]) -> f64 {
    let size = norm(b);
    if size > 0.0 { size } else { 1.0 }
}

/// The ending if a residual above the tolerance is about as small as f64 allows: the bound is at or above the tolerance,
/// and the residual is near it.
pub(crate) fn round_off(bound: f64, tolerance: f64, reached: f64) -> Option<Ending> {
    /// Iterations stagnate at this multiple of the bound.
    const NEAR: f64 = 1e3;
    (bound >= tolerance && reached <= NEAR * bound).then_some(Ending::RoundOff { bound, reached, tolerance })
}
