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
