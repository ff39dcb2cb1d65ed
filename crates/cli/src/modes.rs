//! The near-kernel of a matrix that comes without one.
//!
//! Constants, or rigid-body modes where points are known, are what a discretisation has; a matrix whose unknowns were scaled
//! afterwards, D A D, has D⁻¹ times that. The scale of a node is seen in its diagonal block, so each candidate v is tried as it is and
//! with each node divided by the root of its mean diagonal, and the one with less energy, vᵀ A v / vᵀ diag(A) v, is taken.

use coarsen::Error;
use coarsen::sparse::{Bsr, NearKernel};

/// How much less energy the scaled modes must have: where nothing is scaled, modes are exact as they are.
const CLEARLY: f64 = 0.5;

/// The modes with the least energy.
pub(crate) fn best(a: &Bsr<f64>, positions: Option<&[[f64; 3]]>) -> Result<NearKernel, Error> {
    let (n, b) = (a.shape().0, a.block().0);
    let plain = match positions {
        Some(points) if b == 2 || b == 3 => NearKernel::rigid_body_modes(points, b)?,
        _ => NearKernel::constants(n, b)?,
    };
    let diagonal = a.diagonal();
    let scales: Vec<f64> = diagonal.chunks_exact(b).map(scale).collect();
    let columns: Vec<Vec<f64>> = (0..plain.vectors())
        .map(|j| plain.column(j).iter().enumerate().map(|(i, v)| v * scales[i / b]).collect())
        .collect();
    let views: Vec<&[f64]> = columns.iter().map(|c| &c[..]).collect();
    let scaled = NearKernel::from_columns(&views)?;
    let clearly = energy(a, &diagonal, &scaled) < CLEARLY * energy(a, &diagonal, &plain);
    Ok(if clearly { scaled } else { plain })
}

/// 1 / √(mean diagonal) of a node; 1 where that says nothing.
fn scale(diagonal: &[f64]) -> f64 {
    let mean = diagonal.iter().map(|d| d.abs()).sum::<f64>() / diagonal.len() as f64;
    if mean > 0.0 && mean.is_finite() { 1.0 / mean.sqrt() } else { 1.0 }
}

/// The mean of vᵀ A v / vᵀ diag(A) v over the vectors.
fn energy(a: &Bsr<f64>, diagonal: &[f64], modes: &NearKernel) -> f64 {
    let k = modes.vectors();
    let mut product = vec![0.0; modes.values().len()];
    a.apply_columns(k, modes.values(), &mut product);
    let mut sums = vec![(0.0, 0.0); k];
    let rows = modes.values().chunks_exact(k).zip(product.chunks_exact(k)).zip(diagonal);
    for ((v, av), d) in rows {
        for (sum, (v, av)) in sums.iter_mut().zip(v.iter().zip(av)) {
            sum.0 += v * av;
            sum.1 += v * v * d.abs();
        }
    }
    sums.iter().map(|(energy, size)| if *size > 0.0 { energy / size } else { 0.0 }).sum::<f64>() / k as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::problems::{elasticity3d, poisson2d};

    /// D A D with D = 10^(k mod 5 - 2) at node k.
    fn rescaled(a: &Bsr<f64>) -> Bsr<f64> {
        let (pattern, block, mut values) = a.clone().into_parts();
        let d = |k: usize| 10.0_f64.powi(k as i32 % 5 - 2);
        let size = block.0 * block.1;
        for i in 0..pattern.rows() {
            for k in pattern.range(i) {
                let factor = d(i) * d(pattern.indices()[k] as usize);
                values[k * size..(k + 1) * size].iter_mut().for_each(|v| *v *= factor);
            }
        }
        Bsr::new(pattern, block, values).unwrap()
    }

    #[test]
    fn modes_follow_the_scale_of_the_matrix() {
        for problem in [poisson2d(12).unwrap(), elasticity3d(5, 1.0).unwrap()] {
            let (a, points) = (&problem.matrix, &problem.positions[..]);
            let b = a.block().0;
            let plain = best(a, Some(points)).unwrap();
            let scaled = best(&rescaled(a), Some(points)).unwrap();
            assert_eq!(plain.vectors(), if b == 3 { 6 } else { 1 });
            // Neighbours 0 and 1 have scales of 10^-2 and 10^-1: their modes are as 10 to 1.
            let ratio = |m: &NearKernel, i: usize| m.row(i * b)[0] / m.row((i + 1) * b)[0];
            assert_eq!(ratio(&plain, 40), 1.0);
            assert!((ratio(&scaled, 40) / 10.0 - 1.0).abs() < 0.5, "{}", ratio(&scaled, 40));
        }
    }
}
