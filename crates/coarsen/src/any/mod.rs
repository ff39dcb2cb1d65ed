//! A backend that is chosen when a program starts.
//!
//! | file | what |
//! |---|---|
//! | `place` | the place |
//! | `backend` | what it does |
//! | `choice` | which place a name, the machine and the environment lead to |
//! | `vector` | vectors and scalars of whatever place |
//! | `matrix` | matrices, blocks and row sets of whatever place |
//! | `smoother` | smoothers that the CPU alone has |
//! | `domains` | multilevel domains of whatever place |

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
