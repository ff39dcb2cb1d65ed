//! A backend that is chosen at run time.
//!
//! | file | contents |
//! |---|---|
//! | `place` | the place |
//! | `backend` | the operations of the place as a backend |
//! | `choice` | the choice of the place, by name, machine and environment |
//! | `vector` | vectors and scalars on any backend |
//! | `matrix` | matrices, blocks and row sets on any backend |
//! | `smoother`, `transfer` | smoothers and transfers of the CPU, for vectors of any place |
//! | `domains` | multilevel domains on any backend |

mod backend;
mod choice;
mod domains;
mod matrix;
mod place;
mod smoother;
mod transfer;
mod vector;

pub use choice::{BackendChoice, Unavailable};
pub use matrix::{AnyBlocks, AnyMatrix, AnyRows};
pub use place::AnyBackend;
pub use vector::{AnyScalar, AnyVector};
