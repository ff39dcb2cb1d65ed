//! The CPU as a place.
//!
//! | file | what |
//! |---|---|
//! | `place` | the type [`Cpu`] |
//! | `backend` | the operations of a place |
//! | `blocks`, `matrix`, `weights` | block diagonals, matrices, transfers by weights |
//! | `sweep` | Gauss-Seidel sweeps over whole rows |
//! | `half` | Gauss-Seidel that stores half of a symmetric matrix |

mod backend;
mod blocks;
mod half;
mod matrix;
mod place;
mod sweep;
mod weights;

pub use blocks::CpuBlocks;
pub use matrix::CpuMatrix;
pub use place::Cpu;
