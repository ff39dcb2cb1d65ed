//! The matrices of levels, and the error of what is computed with them.

use coarsen::sparse::{BlockRows, Bsr};

pub(super) type Sparse = Bsr<f64>;

/// An error of these modules: of the library, or in words.
pub(super) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Calls `body(i, values of block row i)` for all rows, in parallel.
pub(super) fn rows_of(a: &mut Sparse, body: impl Fn(usize, &mut [f64]) + Sync) {
    let (pattern, (r, c), work) = (a.pattern().clone(), a.block(), 4 * a.nnz());
    BlockRows::new(pattern.offsets(), r * c, a.values_mut()).for_each(work, body);
}
