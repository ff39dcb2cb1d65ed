//! Vectors, matrices and products that are split among ranks, over any communicator.
//!
//! | file | what |
//! |---|---|
//! | [`communicator`](Communicator) | messages between ranks; `collectives` builds sums and gathers from them |
//! | [`self_comm`](SelfComm) | a single rank |
//! | [`thread_comm`](ThreadComm) | ranks as threads of one process |
//! | `wire` | numbers as bytes of messages |
//! | [`error`](CommError) | errors of communication and of distributed objects |

mod collectives;
mod communicator;
mod error;
mod self_comm;
mod thread_comm;
mod wire;

pub use communicator::{Communicator, Stage, check_equal};
pub use error::{CommError, DistError};
pub use self_comm::SelfComm;
pub use thread_comm::{ThreadComm, ThreadRequest};
pub use wire::{Number, Wire, pack, unpack};
