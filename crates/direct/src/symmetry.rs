//! Whether A = Aᵀ, up to the rounding of an assembly.

use coarsen_core::Real;
use coarsen_sparse::Bsr;

use crate::DirectError;

/// Units of round-off that aᵢⱼ and aⱼᵢ may differ by, relative to √(‖aᵢ‖∞ ‖aⱼ‖∞): entries of a stiffness matrix are sums of a
/// few dozen contributions of that size, added in any order.
const ROUND_OFF: f64 = 64.0;

/// Checks |aᵢⱼ − aⱼᵢ| ≤ 64 ε √(‖aᵢ‖∞ ‖aⱼ‖∞), ε of the type the matrix came in, for all stored entries.
///
/// # Errors
/// [`DirectError::NotSymmetric`] names the first pair that fails.
pub(crate) fn check<T: Real>(a: &Bsr<T>) -> Result<(), DirectError> {
    let (r, c) = a.block();
    let (nodes, pattern) = (a.pattern().rows(), a.pattern());
    let mut sizes = vec![0.0_f64; nodes * r];
    for i in 0..nodes {
        for (_, block) in a.row(i) {
            for (size, row) in sizes[i * r..(i + 1) * r].iter_mut().zip(block.chunks_exact(c)) {
                *size = row.iter().fold(*size, |m, v| m.max(v.wide().abs()));
            }
        }
    }
    let tolerance = ROUND_OFF * T::EPSILON.wide();
    for i in 0..nodes {
        for (j, block) in a.row(i) {
            let mirror = pattern.find(j, i).map(|k| a.value(k));
            for (p, row) in block.chunks_exact(c).enumerate() {
                for (q, v) in row.iter().enumerate() {
                    let (here, there) = (v.wide(), mirror.map_or(0.0, |m| m[q * c + p].wide()));
                    let (row, column) = (i * r + p, j * c + q);
                    if (here - there).abs() > tolerance * sizes[row].sqrt() * sizes[column].sqrt() {
                        return Err(DirectError::NotSymmetric { row, column, here, there });
                    }
                }
            }
        }
    }
    Ok(())
}
