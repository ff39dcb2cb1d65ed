//! Errors of the start of MPI.

use std::time::Duration;

/// The reason why a communicator cannot be created.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// MPI was not started, or has ended.
    #[error("MPI is not running; call MpiComm::world, or start MPI before MpiComm::over")]
    NotRunning,
    /// The tags of this MPI are too few for the stages of messages.
    #[error("this MPI has message tags up to {largest}, but {needed} are needed; use another MPI library")]
    Tags {
        /// The largest tag.
        largest: i64,
        /// The largest tag that is needed.
        needed: i32,
    },
    /// This MPI can be called by its first thread only.
    #[error(
        "this MPI can be called by its first thread only, but solves run in threads of a pool; use one that was built with MPI_THREAD_SERIALIZED"
    )]
    OneThread,
    /// Not all ranks made the call before the deadline.
    #[error(
        "rank {rank} waited {} s for the other ranks to create a communicator; all ranks must call it",
        .deadline.as_secs_f64()
    )]
    Late {
        /// The rank that waited.
        rank: usize,
        /// The time limit of a wait.
        deadline: Duration,
    },
    /// A call of MPI failed.
    #[error("MPI reports: {reason}")]
    Call {
        /// The text of MPI.
        reason: String,
    },
}

coarsen_core::debug_as_display!(MpiError);
