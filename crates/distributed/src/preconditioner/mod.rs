//! Distributed preconditioners.
//!
//! | file | what |
//! |---|---|
//! | [`jacobi`](DistJacobi) | ω D⁻¹ on scalars |
//! | [`block_jacobi`](DistBlockJacobi) | ω D⁻¹ on the blocks of the matrix |
//! | `diagonal` | the diagonal blocks of the own rows, and their errors |

mod block_jacobi;
mod diagonal;
mod jacobi;

pub use block_jacobi::DistBlockJacobi;
pub use jacobi::DistJacobi;
