//! Memory, asked for before it is taken.

use crate::DirectError;

/// n zeros, or the bytes that are not to be had.
pub(super) fn zeros<T: Clone + Default>(n: usize) -> Result<Vec<T>, DirectError> {
    let mut values = Vec::new();
    fill(&mut values, n)?;
    Ok(values)
}

/// Makes `values` n zeros, in the memory they have where that is enough.
pub(super) fn fill<T: Clone + Default>(values: &mut Vec<T>, n: usize) -> Result<(), DirectError> {
    values.clear();
    let bytes = n.saturating_mul(size_of::<T>());
    values.try_reserve_exact(n).map_err(|_| DirectError::Memory { bytes })?;
    values.resize(n, T::default());
    Ok(())
}

/// Makes room for `more` values behind those that are there, twice as much as there was at least.
pub(super) fn more<T>(values: &mut Vec<T>, more: usize) -> Result<(), DirectError> {
    let bytes = values.len().saturating_add(more.max(values.len())).saturating_mul(size_of::<T>());
    values.try_reserve(more).map_err(|_| DirectError::Memory { bytes })
}
