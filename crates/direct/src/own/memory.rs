//! Memory whose failed allocation is an error.

use crate::DirectError;

/// n zeros, or an error with the bytes requested.
pub(crate) fn zeros<T: Clone + Default>(n: usize) -> Result<Vec<T>, DirectError> {
    let mut values = Vec::new();
    fill(&mut values, n)?;
    Ok(values)
}

/// Sets `values` to n zeros, in its current memory if it is large enough.
pub(crate) fn fill<T: Clone + Default>(values: &mut Vec<T>, n: usize) -> Result<(), DirectError> {
    values.clear();
    let bytes = n.saturating_mul(size_of::<T>());
    values.try_reserve_exact(n).map_err(|_| DirectError::Memory { bytes })?;
    values.resize(n, T::default());
    Ok(())
}

/// Reserves memory for `more` additional values; the capacity at least doubles when it grows.
pub(crate) fn more<T>(values: &mut Vec<T>, more: usize) -> Result<(), DirectError> {
    let bytes = values.len().saturating_add(more.max(values.len())).saturating_mul(size_of::<T>());
    values.try_reserve(more).map_err(|_| DirectError::Memory { bytes })
}
