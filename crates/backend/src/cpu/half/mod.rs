//! Sweeps over half of a symmetric matrix.
//!
//! A = L + D + Lᵀ. A row L_i in the cache is used twice: L_i x is the contribution of earlier rows to row i,
//! and L_iᵀ x_i is the contribution of row i to earlier rows. So a forward sweep from x = 0 with its residual
//! reads half of A once, and so does a backward sweep.
//!
//! | symbol | here |
//! |---|---|
//! | L inside chunks, between chunks | `inner`, `outer` |
//! | D, D⁻¹ | `diagonal`, `inverses` |
//! | ω | `omega` |
//! | r, the residual | `r` |
//! | t, b minus the contributions of finished rows | `workspace` |
//!
//! | file | |
//! |---|---|
//! | `layout` | the couplings that are stored, and their positions |
//! | `matrix` | the arrays of half a matrix |
//! | `kernel` | the rows of a chunk: passes of a sweep |
//! | `product` | the rows of a chunk: products |
//! | `sweep` | passes over all chunks: sweeps and products |
//! | `smoother` | the smoother |
//! | `couplings` | the couplings and the diagonal of a row |
//! | `columns` | what they do with one column, or with eight interleaved columns |

mod columns;
mod couplings;
mod kernel;
mod layout;
mod matrix;
mod product;
mod smoother;
mod sweep;

pub(super) use smoother::HalfGaussSeidel;
