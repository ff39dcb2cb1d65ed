//! Checks of a matrix before its factorisation.

use coarsen_core::Real;
use coarsen_sparse::Bsr;

use crate::DirectError;

/// Returns an error with row and column for the first NaN or infinite value.
pub(crate) fn check_finite<T: Real>(a: &Bsr<T>) -> Result<(), DirectError> {
    a.check_finite().map_err(|error| match error {
        coarsen_sparse::SparseError::NotFinite { row, column } => DirectError::NotFinite { row, column },
        _ => DirectError::Pattern,
    })
}

/// Checks that the halves of A agree to round-off, since the factorisation reads one of them.
pub(crate) fn check_symmetric<T: Real>(a: &Bsr<T>) -> Result<(), DirectError> {
    let Some((row, column)) = a.asymmetric_pair(Bsr::<T>::symmetry_round_off()) else {
        return Ok(());
    };
    let (here, there) = (a.get(row, column).as_f64(), a.get(column, row).as_f64());
    Err(DirectError::NotSymmetric { row, column, here, there })
}
