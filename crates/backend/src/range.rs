//! Checks of lengths, and of values that are stored in another precision.

use coarsen_core::parallel::{self, Groups, tree};
use coarsen_core::{Error, Real, largest};
use coarsen_sparse::Bsr;

use crate::{DenseBlocks, SetupError};

/// Returns an error if the largest value is finite, but becomes infinite or zero in storage. Values that are
/// not finite are left to other checks.
///
/// A backend calls this function before it stores values. A method that stores several parts checks all of them
/// before it stores the first.
///
/// # Errors
/// [`Error::Range`] with `what` and the largest value.
///
/// ```
/// use coarsen_backend::check_range;
/// assert!(check_range::<f64, f32>("the matrix", &[1.0, 1e38]).is_ok());
/// assert!(check_range::<f64, f32>("the matrix", &[1.0, 1e39]).is_err());
/// ```
pub fn check_range<T: Real, S: Real>(what: &'static str, values: &[T]) -> Result<(), Error> {
    if T::NAME == S::NAME {
        return Ok(());
    }
    within::<T, S>(what, largest(values))
}

/// Applies [`check_range`] to a matrix, and also refuses values that are not finite. *Cost* one pass for both
/// checks.
///
/// # Errors
/// [`Error::Range`] and [`SparseError::NotFinite`](coarsen_sparse::SparseError::NotFinite).
///
/// ```
/// use coarsen_backend::check_storable;
/// let with = |v: f64| coarsen_sparse::assembly::from_triplets(1, 1, &[(0, 0, v)]).unwrap();
/// assert!(check_storable::<f64, f32>("the matrix", &with(1e38)).is_ok());
/// assert!(check_storable::<f64, f32>("the matrix", &with(1e39)).is_err());
/// assert!(check_storable::<f64, f64>("the matrix", &with(f64::NAN)).is_err());
/// ```
pub fn check_storable<T: Real, S: Real>(what: &'static str, a: &Bsr<T>) -> Result<(), SetupError> {
    largest_storable::<T, S>(what, a).map(drop)
}

/// As [`check_storable`], and returns the largest absolute value.
pub(crate) fn largest_storable<T: Real, S: Real>(what: &'static str, a: &Bsr<T>) -> Result<T, SetupError> {
    let largest = largest(a.values());
    if largest.is_nan() {
        a.check_finite()?;
    }
    within::<T, S>(what, largest)?;
    Ok(largest)
}

/// Applies [`check_range`] to every row of every block: a row that becomes zero in storage would never change
/// its unknown.
///
/// *Cost* one pass, or none if both precisions are the same.
///
/// # Errors
/// [`Error::Range`] with `what` and the largest value of the first row that storage cannot hold.
///
/// ```
/// use coarsen_backend::{DenseBlocks, check_blocks};
/// let inverses = DenseBlocks::new(1, vec![1.0, 1e-50])?;
/// assert!(check_blocks::<f64, f64>("the inverse of the diagonal", &inverses).is_ok());
/// assert!(check_blocks::<f64, f32>("the inverse of the diagonal", &inverses).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_blocks<T: Real, S: Real>(what: &'static str, blocks: &DenseBlocks<T>) -> Result<(), Error> {
    if T::NAME == S::NAME {
        return Ok(());
    }
    let (values, size) = (blocks.values(), blocks.size());
    let largest = |row: &[T]| row.iter().fold(T::zero(), |most, v| most.max(v.abs()));
    let fit = |rows: Groups<&[T]>| {
        if size == 1 && all_within::<T, S>(rows.0) {
            return Ok(());
        }
        rows.0.chunks_exact(size).try_for_each(|row| within::<T, S>(what, largest(row)))
    };
    let first = |left: Result<(), Error>, right| left.and(right);
    tree(Groups(values, size), 1024, parallel::worth(values.len()), &fit, &first)
}

/// Whether storage can hold all values that are numbers, and none of them is 0.
fn all_within<T: Real, S: Real>(values: &[T]) -> bool {
    let ends = [T::infinity(), T::zero()];
    let [least, most] = values.iter().fold(ends, |[least, most], v| {
        let size = v.abs();
        [if size < least { size } else { least }, if size > most { size } else { most }]
    });
    let stored = [least, most].map(|size| size.to::<S>());
    stored[0] > S::zero() && stored[1].is_finite()
}

/// Returns an error if `found` is not `expected`.
pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// Returns an error if the largest value becomes infinite or zero in storage. NaN is accepted: it means that
/// some value is not finite.
pub(crate) fn within<T: Real, S: Real>(what: &'static str, largest: T) -> Result<(), Error> {
    let stored = largest.to::<S>();
    if largest.is_finite() && (stored.is_infinite() || (stored == S::zero() && largest > T::zero())) {
        return Err(Error::Range { what, value: largest.as_f64(), storage: S::NAME });
    }
    Ok(())
}
