//! A backend that is chosen at run time.
//!
//! | file | contents |
//! |---|---|
//! | `any_backend` | the backend |
//! | `backend` | the operations of the backend as a backend |
//! | `choice` | the choice of the backend, by name, machine and environment |
//! | `vector` | vectors and scalars on any backend |
//! | `matrix` | matrices, blocks and row sets on any backend |
//! | `smoother`, `transfer` | smoothers and transfers of the CPU, for vectors of any backend |
//! | `domains` | multilevel domains on any backend |

mod any_backend;
mod backend;
mod choice;
mod domains;
mod matrix;
mod smoother;
mod transfer;
mod vector;

pub use any_backend::AnyBackend;
pub use choice::{BackendChoice, Unavailable};
pub use matrix::{AnyBlocks, AnyMatrix, AnyRows};
pub use vector::{AnyScalar, AnyVector};
