//! A matrix with shuffled nodes and scaled unknowns.

use coarsen_core::Error;
use coarsen_sparse::{Bsr, Permutation, SparseError};

use crate::{ProblemError, random_vector};

/// Returns the matrix P D A D Pᵀ, where D scales all unknowns of a node by 10⁻² to 10² and P shuffles the
/// nodes.
///
/// Definiteness, number of entries and the scaled couplings a_ij / √(a_ii a_jj) stay the same; the order and
/// the units of A are hidden. *Use* to test a solver on a matrix without other information. *Cost*: two
/// passes over the matrix.
///
/// ```
/// use coarsen_problems::{poisson2d, scrambled};
/// let a = poisson2d(4)?.matrix;
/// let b = scrambled(&a, 1)?;
/// assert_eq!(a.nnz(), b.nnz());
/// assert_ne!(a, b);
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Core`] for a matrix that is not square, [`ProblemError::Sparse`] for blocks that are not.
pub fn scrambled(a: &Bsr<f64>, seed: u64) -> Result<Bsr<f64>, ProblemError> {
    let (rows, columns) = a.shape();
    if rows != columns {
        return Err(Error::NotSquare { rows, columns }.into());
    }
    let (expected, found) = (a.pattern().rows(), a.pattern().columns());
    if expected != found {
        let what = "block columns of a scrambled matrix (blocks must be square)";
        return Err(SparseError::Shape { what, expected, found }.into());
    }
    let (pattern, block, mut values) = a.clone().into_parts();
    let scales: Vec<f64> = random_vector(pattern.rows(), seed)
        .iter()
        .map(|v| 10.0_f64.powi(v.clamp(-2.0, 2.0).round() as i32))
        .collect();
    let size = block.0 * block.1;
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let factor = scales[i] * scales[pattern.indices()[k] as usize];
            values[k * size..(k + 1) * size].iter_mut().for_each(|v| *v *= factor);
        }
    }
    let keys = random_vector(pattern.rows(), seed.wrapping_add(1));
    let mut order: Vec<u32> = (0..pattern.rows() as u32).collect();
    order.sort_by(|&i, &j| keys[i as usize].total_cmp(&keys[j as usize]));
    let order = Permutation::new(order).expect("sorted numbers are a permutation");
    Ok(Bsr::new(pattern, block, values)?.permute(&order)?)
}

#[cfg(test)]
mod tests {
    use coarsen_sparse::assembly;

    use super::*;
    use crate::poisson2d;

    #[test]
    fn scrambling_keeps_the_signs_of_the_eigenvalues_and_the_sparsity() {
        let a = poisson2d(7).unwrap().matrix;
        let b = scrambled(&a, 3).unwrap();
        assert_eq!(a.nnz(), b.nnz());
        assert_ne!(a.pattern().indices(), b.pattern().indices());
        let coupling = |a: &Bsr<f64>, i: usize, j: usize| a.get(i, j) / (a.get(i, i) * a.get(j, j)).sqrt();
        let sum = |a: &Bsr<f64>| {
            (0..49).flat_map(|i| (0..49).map(move |j| (i, j))).map(|(i, j)| coupling(a, i, j)).sum::<f64>()
        };
        assert!((sum(&a) - sum(&b)).abs() < 1e-10);
    }

    #[test]
    fn matrices_that_are_not_square_are_refused_and_any_seed_is_taken() {
        let wide = assembly::from_triplets(1, 2, &[(0, 1, 1.0)]).unwrap();
        let refused = scrambled(&wide, 3).unwrap_err();
        assert!(matches!(refused, ProblemError::Core(Error::NotSquare { rows: 1, columns: 2 })), "{refused}");
        let flat = assembly::from_blocks(2, 2, (2, 1), &[(0, 0), (0, 1)], &[1.0; 4]).unwrap();
        let refused = scrambled(&flat, 3).unwrap_err();
        assert!(
            matches!(refused, ProblemError::Sparse(SparseError::Shape { expected: 1, found: 2, .. })),
            "{refused}"
        );
        let a = poisson2d(3).unwrap().matrix;
        assert_eq!(scrambled(&a, u64::MAX).unwrap().nnz(), a.nnz());
    }
}
