//! The diagonal blocks of the rows of this rank.

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::Error;
use coarsen_sparse::{Bsr, Pattern};

use crate::{Communicator, DistError, DistMatrix, Number};

/// The block diagonal of the own rows; a missing block is zero.
pub(super) fn block_diagonal<C: Communicator, T: Number>(a: &DistMatrix<C, T>) -> Result<Bsr<T>, DistError> {
    let (count, size) = (a.rows().count(), a.rows().layout().block());
    if !a.is_square() {
        let [rows, columns] = a.unknowns();
        return Err(SetupError::NotSquare { rows, columns, block_rows: size, block_columns: size }.into());
    }
    let mut diagonal = Bsr::zeros(Arc::new(Pattern::diagonal(count)?), (size, size))?;
    for (k, to) in diagonal.values_mut().chunks_exact_mut(size * size).enumerate() {
        if let Some(block) = a.diagonal_block(k) {
            to.copy_from_slice(block);
        }
    }
    Ok(diagonal)
}

/// Checks the damping.
pub(super) fn check_omega(name: &'static str, omega: f64) -> Result<(), DistError> {
    if omega > 0.0 && omega.is_finite() {
        return Ok(());
    }
    Err(SetupError::from(Error::Parameter { name, value: omega, range: "positive and finite" }).into())
}
