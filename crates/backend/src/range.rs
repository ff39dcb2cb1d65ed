//! Whether values survive being stored in another precision.

use coarsen_core::parallel::{self, tree};
use coarsen_core::{Error, Real};

/// Values that one task looks at.
const LEAF: usize = 1 << 15;

/// What every storage holds, and its reciprocal.
const WITHIN: f64 = 1e37;

/// Refuses finite values whose largest becomes infinite or zero in storage.
///
/// What a place checks before it stores, as a function of its own: a method of several parts asks before it hands on the first.
///
/// # Errors
/// [`Error::Range`] names `what` and its largest value.
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
    // Without a branch, at the speed of memory: nothing is near the limits of f32, and something is well inside them.
    let inside = |[none, some]: [bool; 2], v: &T| {
        let size = v.abs().to::<f64>();
        [none & (size <= WITHIN), some | (size > 1.0 / WITHIN)]
    };
    let leaf = |part: &[T]| part.iter().fold([true, false], inside);
    let both = |[a, b]: [bool; 2], [c, d]: [bool; 2]| [a & c, b | d];
    if tree(values, LEAF, parallel::worth(values.len()), &leaf, &both) == [true; 2] {
        return Ok(());
    }
    let leaf = |part: &[T]| part.iter().fold(T::zero(), |m, v| if v.abs() > m { v.abs() } else { m });
    let largest = tree(values, LEAF, parallel::worth(values.len()), &leaf, &T::max);
    let stored = largest.to::<S>();
    if largest.is_finite() && (stored.is_infinite() || (stored == S::zero() && largest > T::zero())) {
        return Err(Error::Range { what, value: largest.wide(), storage: S::NAME });
    }
    Ok(())
}
