//! Directions in which a coarse node moves no finer node: a stiffness for smoothers and the coarsest solve.

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::Bsr;

/// Adds s n nᵀ ⊗ I to the diagonal block of a node for every direction n, where s is the largest entry on the
/// diagonal of the block before. A direction is given with the number of its components.
///
/// # Errors
/// [`SetupError::ZeroDiagonal`] if the block is not stored.
pub fn stiffen<T: Real>(
    a: &mut Bsr<T>,
    node: usize,
    directions: impl Iterator<Item = ([f64; 4], usize)>,
    method: &'static str,
) -> Result<(), SetupError> {
    let k = a.block().0;
    let at = a.pattern().find(node, node).ok_or(SetupError::ZeroDiagonal { row: node * k, method })?;
    let block = &mut a.values_mut()[at * k * k..(at + 1) * k * k];
    let largest = block.iter().step_by(k + 1).fold(T::zero(), |m, &d| m.max(d));
    let size = if largest > T::zero() { largest } else { T::one() };
    for (n, m) in directions {
        let (n, copies) = (&n[..m], k / m);
        for (row, column) in (0..m).flat_map(|r| (0..m).map(move |c| (r, c))) {
            let value = size * T::from_f64(n[row] * n[column]);
            (0..copies).for_each(|e| block[(row * copies + e) * k + column * copies + e] += value);
        }
    }
    Ok(())
}
