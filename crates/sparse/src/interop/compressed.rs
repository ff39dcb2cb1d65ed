//! Conversions between compressed rows and block matrices.

use std::sync::Arc;

use crate::{Bsr, Pattern, TransposePlan, Zeros, assembly};
use coarsen_core::Real;

use super::InteropError;

/// Returns the offsets, columns and values of the scalar rows of a matrix. The arrays are moved if blocks are
/// 1x1 and the pattern is not shared.
pub(super) fn into_rows<T: Real>(a: Bsr<T>) -> Result<(Vec<usize>, Vec<u32>, Vec<T>), InteropError> {
    let scalars = if a.block() == (1, 1) { a } else { a.reblock((1, 1), Zeros::Keep)? };
    let (pattern, _, values) = scalars.into_parts();
    let (offsets, indices) = Arc::unwrap_or_clone(pattern).into_parts();
    Ok((offsets, indices, values))
}

/// Returns the offsets, rows and values of the scalar columns of a matrix, which are the rows of its
/// transpose.
pub(super) fn into_columns<T: Real>(a: &Bsr<T>) -> Result<(Vec<usize>, Vec<u32>, Vec<T>), InteropError> {
    into_rows(transpose(a)?)
}

/// Returns the transpose Aᵀ.
pub(super) fn transpose<T: Real>(a: &Bsr<T>) -> Result<Bsr<T>, InteropError> {
    Ok(TransposePlan::new(a.pattern())?.build(a)?)
}

/// Returns a matrix from compressed rows with the array types of [`Bsr`].
pub(super) fn from_parts<T: Real>(
    columns: usize,
    (offsets, indices, values): (Vec<usize>, Vec<u32>, Vec<T>),
) -> Result<Bsr<T>, InteropError> {
    Ok(Bsr::new(Arc::new(Pattern::new(columns, offsets, indices)?), (1, 1), values)?)
}

/// Returns the matrix whose row i has the columns and values `row(i)`. Columns are converted to `u32` in one
/// pass.
///
/// Unsorted rows are sorted, and duplicates are summed in the given order.
pub(super) fn from_rows<'a, T: Real, C: Iterator<Item = usize>>(
    (rows, columns): (usize, usize),
    row: impl Fn(usize) -> (C, &'a [T]),
) -> Result<Bsr<T>, InteropError> {
    let limit = u32::MAX as usize;
    for (what, count) in [("rows", rows), ("columns", columns)] {
        if count > limit {
            return Err(InteropError::TooLarge { what, count, limit });
        }
    }
    let (mut offsets, mut indices, mut values) = (Vec::with_capacity(rows + 1), Vec::new(), Vec::new());
    let mut sorted = true;
    offsets.push(0);
    for i in 0..rows {
        let start = indices.len();
        let (at, v) = row(i);
        for column in at {
            let j = narrow("column", column)?;
            sorted &= indices.len() == start || indices[indices.len() - 1] < j;
            indices.push(j);
        }
        values.extend_from_slice(v);
        offsets.push(indices.len());
    }
    if sorted {
        return from_parts(columns, (offsets, indices, values));
    }
    let entries: Vec<_> = (0..rows)
        .flat_map(|i| (offsets[i]..offsets[i + 1]).map(move |k| (i as u32, k)))
        .map(|(i, k)| (i, indices[k], values[k]))
        .collect();
    Ok(assembly::from_triplets(rows, columns, &entries)?)
}

/// Converts a count or index to `u32`.
pub(super) fn narrow(what: &'static str, count: usize) -> Result<u32, InteropError> {
    u32::try_from(count).map_err(|_| InteropError::TooLarge { what, count, limit: u32::MAX as usize })
}

/// Converts columns to `usize`, in one pass.
#[cfg(any(feature = "nalgebra-sparse", feature = "faer"))]
pub(super) fn widen(indices: Vec<u32>) -> Vec<usize> {
    indices.into_iter().map(|j| j as usize).collect()
}

/// Checks for 1x1 blocks.
#[cfg(any(feature = "sprs", feature = "faer"))]
pub(super) fn check_scalar<T: Real>(a: &Bsr<T>) -> Result<(), InteropError> {
    match a.block() {
        (1, 1) => Ok(()),
        (rows, columns) => Err(InteropError::Blocks { rows, columns }),
    }
}
