//! Vectors, matrices and products that are split among ranks, over any communicator.
//!
//! | file | what |
//! |---|---|
//! | [`communicator`](Communicator) | messages between ranks; `collectives` builds sums and gathers from them |
//! | [`self_comm`](SelfComm) | a single rank |
//! | [`thread_comm`](ThreadComm) | ranks as threads of one process |
//! | `wire`, [`buffers`](Buffers) | numbers as bytes of messages; buffers that are used again |
//! | [`layout`](Layout), [`partition`](Partition) | which rank has which block rows |
//! | [`vector`](DistVector) | the part of a vector that a rank has; reductions |
//! | [`scalar`](DistScalar), [`reduction`](Reduction) | sums that overlap with computation |
//! | [`schedule`](Schedule) | in which order ranks exchange sub-vectors: work queues, ring, pairwise |
//! | [`matrix`](DistMatrix) | the rows of a rank; products: blocking, pipelined, halo, reproducible |
//! | [`assembly`](Entries) | entries that any rank may add; elements that the owners of rows compute redundantly |
//! | [`fetch`](Partition::fetch) | data of rows of other ranks |
//! | [`redistribution`](Redistribution) | moves vectors between two partitions of the same rows |
//! | [`jacobi`](DistJacobi) | Jacobi and block Jacobi |
//! | [`rank_backend`](RankBackend) | where a rank keeps its share: the host, or a backend of another crate |
//! | [`simulation`] | a communicator with a virtual clock; topologies, also from measured links; the cost of schedules |
//! | [`agree`] | errors that one rank finds and all ranks return |
//! | [`counted`](Counted) | counts messages, bytes and waiting time of each stage |
//! | [`error`](CommError) | errors of communication and of distributed objects; `fault` sends them to other processes |

mod agree;
mod assembly;
mod buffers;
mod collectives;
mod communicator;
mod counted;
mod error;
mod fault;
mod fetch;
mod jacobi;
mod layout;
mod matrix;
mod partition;
mod rank_backend;
mod redistribution;
mod reduction;
mod scalar;
mod schedule;
mod self_comm;
pub mod simulation;
mod thread_comm;
mod vector;
mod wire;

pub use agree::agree;
pub use assembly::{Entries, OwnerFill};
pub use buffers::Buffers;
pub use communicator::{Communicator, Stage, check_equal};
pub use counted::{Counted, CountedRequest, Traffic};
pub use error::{CommError, DistError};
pub use jacobi::DistJacobi;
pub use layout::Layout;
pub use matrix::{Border, BorderMessages, DistMatrix, GlobalRows, Spmv};
pub use partition::Partition;
pub use rank_backend::{Host, RankBackend};
pub use redistribution::{Redistribution, RedistributionPlan};
pub use reduction::{Reduction, Tickets};
pub use scalar::DistScalar;
pub use schedule::{Node, Schedule};
pub use self_comm::SelfComm;
pub use thread_comm::{ThreadComm, ThreadRequest};
pub use vector::DistVector;
pub use wire::{pack, unpack};
