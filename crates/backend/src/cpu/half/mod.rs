//! Sweeps over half of a symmetric matrix.
//!
//! A = L + D + Lᵀ. A row of L that is in the cache serves twice: L_i x takes what rows before it give to row
//! i, and L_iᵀ x_i is what it gives to them. So a forward sweep from x = 0 and its residual read half of A
//! once, and so does a backward sweep.
//!
//! | symbol | here |
//! |---|---|
//! | L inside chunks, between chunks | `inner`, `outer` |
//! | D, D⁻¹ | `diagonal`, `inverses` |
//! | ω | `omega` |
//! | r, t | residual; b less what rows done before give, `room` |
//!
//! | file | |
//! |---|---|
//! | `layout` | which couplings are kept, and where |
//! | `matrix` | the arrays of half a matrix |
//! | `kernel` | the rows of a chunk: passes of a sweep |
//! | `product` | the same for products |
//! | `sweep` | passes over all chunks: sweeps and products |
//! | `smoother` | the smoother that is made of them |
//! | `couplings` | what the couplings of a row take and give |

mod couplings;
mod kernel;
mod layout;
mod matrix;
mod product;
mod smoother;
mod sweep;

pub(super) use smoother::HalfGaussSeidel;

#[cfg(test)]
mod tests;
