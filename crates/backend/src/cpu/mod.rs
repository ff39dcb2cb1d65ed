//! The CPU as a backend.
//!
//! | file | what |
//! |---|---|
//! | `precisions` | the type [`Cpu`] |
//! | `backend` | the operations of a backend |
//! | `matrix`, `weights` | matrices, transfers by weights |
//! | [`interleave`] | between vectors and the columns of one vector that interleaves them |
//! | `sweep` | Gauss-Seidel sweeps over whole rows |
//! | `half` | Gauss-Seidel that stores half of a symmetric matrix |

mod backend;
mod half;
mod interleave;
mod matrix;
mod precisions;
mod sweep;
mod weights;

pub(crate) use interleave::columns_of;
pub use interleave::{interleave, separate};
pub use matrix::CpuMatrix;
pub use precisions::Cpu;
