//! Ranks as processes: a communicator over MPI.
//!
//! Distributed vectors, matrices and solvers are those of `coarsen-distributed`; this crate transmits their
//! messages. `README.md` says how MPI is installed and how programs are started.
//!
//! | file | what |
//! |---|---|
//! | [`mpi_comm`](MpiComm) | the communicator: messages with a deadline; faults, which all ranks return |
//! | `session` | initialises and finalises MPI |
//! | `waiting` | loops until a call of MPI is complete, with a deadline |
//! | [`threads`](threads_per_rank) | the number of threads of a rank, at most one for each core |
//! | `ffi` | the calls of MPI; all `unsafe` code |
//! | [`error`](MpiError) | errors of the initialisation |
//!
//! The command `coarsen-mpi` is in `src/bin/coarsen-mpi`.

mod error;
mod ffi;
mod mpi_comm;
mod session;
mod threads;
mod waiting;

pub use error::MpiError;
pub use mpi;
pub use mpi_comm::{MpiComm, MpiRequest};
pub use threads::threads_per_rank;
