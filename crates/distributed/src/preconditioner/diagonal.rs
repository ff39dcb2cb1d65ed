//! The diagonal blocks of the rows of this rank.

use std::sync::Arc;

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::Error;
use coarsen_sparse::{Bsr, Pattern};

use crate::{Communicator, DistError, DistMatrix, GlobalRows, Number};

/// The block diagonal of the own rows; a missing block is zero.
pub(super) fn block_diagonal<C: Communicator, T: Number>(a: &DistMatrix<C, T>) -> Result<Bsr<T>, DistError> {
    let size = a.rows().layout().block();
    if !a.is_square() {
        let [rows, columns] = a.unknowns();
        return Err(SetupError::NotSquare { rows, columns, block_rows: size, block_columns: size }.into());
    }
    of_blocks(a.rows().count(), size, |k| a.diagonal_block(k))
}

fn of_blocks<'a, T: Number>(
    count: usize,
    size: usize,
    block: impl Fn(usize) -> Option<&'a [T]>,
) -> Result<Bsr<T>, DistError> {
    let mut diagonal = Bsr::zeros(Arc::new(Pattern::diagonal(count)?), (size, size))?;
    for (k, to) in diagonal.values_mut().chunks_exact_mut(size * size).enumerate() {
        if let Some(block) = block(k) {
            to.copy_from_slice(block);
        }
    }
    Ok(diagonal)
}

impl<T: Number> GlobalRows<T> {
    /// The inverses of the diagonal blocks, whose diagonals are positive. Sends no message. `method` names the caller in
    /// errors.
    ///
    /// # Errors
    /// Those of [`DenseBlocks::inverse_diagonal`] and [`DenseBlocks::check_positive`] with global rows and nodes;
    /// [`SetupError::NotSquare`] for blocks that are not.
    pub fn inverse_diagonal(&self, method: &'static str) -> Result<DenseBlocks<T>, DistError> {
        let ((size, columns), first) = (self.block(), self.first());
        if size != columns {
            let rows = self.count() * size;
            let (block_rows, block_columns) = (size, columns);
            return Err(SetupError::NotSquare { rows, columns: rows, block_rows, block_columns }.into());
        }
        let own = |k: usize| self.row(k).find(|(j, _)| *j == first + k as u64).map(|(_, block)| block);
        let diagonal = of_blocks(self.count(), size, own)?;
        let inverses = DenseBlocks::inverse_diagonal(&diagonal, method)
            .and_then(|inverses| inverses.check_positive(&diagonal, method).map(|()| inverses));
        inverses.map_err(|error| DistError::of_rows(error, first as usize * size, size))
    }
}

/// Checks the damping.
pub(super) fn check_omega(name: &'static str, omega: f64) -> Result<(), DistError> {
    if omega > 0.0 && omega.is_finite() {
        return Ok(());
    }
    Err(SetupError::from(Error::Parameter { name, value: omega, range: "positive and finite" }).into())
}
