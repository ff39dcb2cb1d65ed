//! Factors and spectra by faer, behind the feature `faer`.
//!
//! | file | what |
//! |---|---|
//! | `cholesky` | A = L Lᵀ for symmetric positive definite A |
//! | `ldlt` | A = L D Lᵀ for symmetric A, pivots of order 1 and 2 |
//! | `lu` | A = L U with row exchanges, for all other matrices |
//! | `dense` | eigenvalues and singular values of small matrices |
//! | `columns` | block matrices as scalar columns, and their ordering |
//! | `products` | the buffer for dense products, allocated so that a failure is an error |
//! | `memory` | memory for factors and scratch |

mod cholesky;
mod columns;
mod dense;
mod ldlt;
mod lu;
mod memory;
mod products;

pub(crate) use cholesky::Cholesky;
pub(crate) use dense::Decompositions;
pub(crate) use ldlt::Ldlt;
pub(crate) use lu::Lu;

/// Whether this thread has the buffer for dense products, or memory for it.
pub(crate) fn has_buffer() -> bool {
    products::reserve().is_ok()
}
