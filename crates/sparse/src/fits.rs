//! Short checks that operands fit together.

use std::sync::Arc;

use crate::{Pattern, SparseError};

/// Compares each (what, expected, found) in order and returns an error for the first mismatch.
pub(crate) fn sizes<const N: usize>(list: [(&'static str, usize, usize); N]) -> Result<(), SparseError> {
    match list.into_iter().find(|(_, expected, found)| expected != found) {
        Some((what, expected, found)) => Err(SparseError::Shape { what, expected, found }),
        None => Ok(()),
    }
}

/// Compares each (what, planned pattern, given pattern) in order and returns an error for the first
/// mismatch.
pub(crate) fn patterns<const N: usize>(
    list: [(&'static str, &Arc<Pattern>, &Arc<Pattern>); N],
) -> Result<(), SparseError> {
    match list.into_iter().find(|(_, planned, given)| !Pattern::same(planned, given)) {
        Some((what, ..)) => Err(SparseError::Pattern { what }),
        None => Ok(()),
    }
}
