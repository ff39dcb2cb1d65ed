//! Simulated machines: real arithmetic and real messages between threads, with the clock of a model. And models of real
//! machines, from the measured costs of their links.
//!
//! | file | what |
//! |---|---|
//! | [`sim_comm`](SimComm) | a communicator with a virtual clock |
//! | [`links`](Links) | the costs of messages between each two ranks, measured |
//! | [`topology`](Topology) | ranks, switches and links as data; the time of a stage with contention |
//! | [`model`](blocking) | the time of a product by eq. 6 and 7 of Li et al. 2020 |

mod links;
mod model;
mod sim_comm;
mod topology;

pub use links::Links;
pub use model::{blocking, pipelined};
pub use sim_comm::{Machine, SimComm, SimRequest, SimSum};
pub use topology::Topology;
