//! Messages between ranks: the contract that every transport implements.

use crate::{CommError, collectives};

/// The purpose of a message. Messages of different stages are never mixed up, and errors name the stage.
///
/// Tags from [`Stage::RESERVED`] on belong to this crate: collective operations, halos, sub-vectors and entries.
/// A program that sends messages of its own takes smaller tags; with a tag of this crate, its message could be
/// taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The number by which a receiver selects messages; all ranks use the same number for a stage.
    pub tag: u16,
    /// The name in error messages.
    pub name: &'static str,
}

impl Stage {
    /// The first tag of this crate.
    pub const RESERVED: u16 = 0x7000;

    /// A stage with its tag and its name.
    pub const fn new(tag: u16, name: &'static str) -> Self {
        Self { tag, name }
    }
}

/// A group of ranks that exchange messages: threads of one process, processes, or a simulation.
///
/// A clone is another handle of the same rank. All ranks call the collective operations in the same order.
/// Messages between two ranks in one stage arrive in the order in which they were sent; receives for the same
/// sender and stage are waited for in the order in which they were posted. Buffers are owned by the request,
/// so that a transport may write to them at any time.
///
/// After a [`CommError`] every later operation fails on every rank, and [`failure`](Self::failure) returns the
/// error. No operation waits without a time limit.
///
/// ```
/// use std::time::Duration;
/// use coarsen_distributed::{Communicator, ThreadComm};
/// let sums = ThreadComm::run(3, Duration::from_secs(10), |comm| {
///     let mut sum = [comm.rank() as f64, 1.0];
///     comm.all_reduce(&mut sum)?;
///     Ok::<_, coarsen_distributed::CommError>(sum)
/// });
/// assert!(sums.into_iter().all(|sum| sum == Ok(Ok([3.0, 3.0]))));
/// ```
pub trait Communicator: Clone + 'static {
    /// A message under way.
    type Request;

    /// A sum over all ranks under way.
    type Sum;

    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Whether both are handles of the same rank of the same group.
    fn is_same(&self, other: &Self) -> bool;

    /// The first error of the group that this rank knows of.
    fn failure(&self) -> Option<CommError>;

    /// Begins to send `data` to another rank; returns without waiting for the receiver.
    ///
    /// # Errors
    /// [`CommError::Peer`], or the error that stopped the group.
    fn send(&self, to: usize, stage: Stage, data: Vec<u8>) -> Result<Self::Request, CommError>;

    /// Begins to receive a message of `bytes` bytes; returns without waiting for it.
    ///
    /// # Errors
    /// [`CommError::Peer`], or the error that stopped the group.
    fn receive(&self, from: usize, stage: Stage, bytes: usize) -> Result<Self::Request, CommError>;

    /// Whether the message is complete; [`wait`](Self::wait) then returns at once.
    ///
    /// # Errors
    /// As [`wait`](Self::wait), except [`CommError::Late`].
    fn test(&self, request: &mut Self::Request) -> Result<bool, CommError>;

    /// Waits for the message. Returns the data of a receive. For a send it returns a buffer of any content.
    ///
    /// # Errors
    /// [`CommError::Late`] after the deadline, [`CommError::Lost`], [`CommError::Panicked`],
    /// [`CommError::Length`], or the error that stopped the group.
    fn wait(&self, request: Self::Request) -> Result<Vec<u8>, CommError>;

    /// Stops the group with an error: every waiting or later operation of every rank fails with it, unless
    /// an earlier error has stopped the group.
    fn fail(&self, error: CommError);

    /// An empty buffer with a capacity of at least `bytes`, for a message to be sent. By default a new one.
    fn buffer(&self, bytes: usize) -> Vec<u8> {
        Vec::with_capacity(bytes)
    }

    /// Takes back the buffer of a message that has been read, for a later [`buffer`](Self::buffer). By default
    /// it is freed.
    fn recycle(&self, buffer: Vec<u8>) {
        drop(buffer);
    }

    /// Announces an exchange that uses up to `count` buffers of `bytes` at once, as a hint: a communicator that keeps
    /// buffers makes them now, as far as its limits permit, so that no later message allocates. By default nothing.
    fn reserve(&self, count: usize, bytes: usize) {
        let _ = (count, bytes);
    }

    /// Called after `scalars` stored scalars of a matrix were computed or multiplied. A simulated
    /// communicator advances its clock; others do nothing.
    fn worked(&self, scalars: usize) {
        let _ = scalars;
    }

    /// Sums each entry of `values` over all ranks. Every rank receives the same bits; they depend on the
    /// number of ranks.
    ///
    /// *Cost* by default 2 log₂ n messages along a binomial tree.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn all_reduce(&self, values: &mut [f64]) -> Result<(), CommError> {
        collectives::all_reduce(self, values)
    }

    /// Begins to sum each entry of `values` over all ranks, with the bits of [`all_reduce`](Self::all_reduce);
    /// returns without waiting for others. Every rank calls it, and finishes the sum.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn start_sum(&self, values: Vec<f64>) -> Result<Self::Sum, CommError>;

    /// Handles messages of the sum that have arrived, without a wait. *Use* between computations: transports by
    /// messages go on with a sum only in this call and in [`finish_sum`](Self::finish_sum).
    ///
    /// # Errors
    /// As [`test`](Self::test).
    fn advance_sum(&self, sum: &mut Self::Sum) -> Result<(), CommError>;

    /// Waits for the sums.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn finish_sum(&self, sum: Self::Sum) -> Result<Vec<f64>, CommError>;

    /// Collects the data of all ranks, which may differ in length, on rank `root`. Returns them in the order
    /// of ranks there, and `None` on other ranks.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn gather(&self, root: usize, data: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        collectives::gather(self, root, data)
    }

    /// Replaces `data` on every rank by the data of rank `root`.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn broadcast(&self, root: usize, data: &mut Vec<u8>) -> Result<(), CommError> {
        collectives::broadcast(self, root, data)
    }

    /// Collects the data of all ranks on all ranks.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn all_gather(&self, data: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        collectives::all_gather(self, data)
    }

    /// Waits until all ranks have made this call.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn barrier(&self) -> Result<(), CommError> {
        self.all_reduce(&mut [])
    }
}

/// Checks that all ranks pass the same `data`. Ranks that disagree would wait for different messages, so a difference
/// stops the group, as any [`CommError`].
///
/// # Errors
/// [`CommError::Disagree`] names the first rank that differs from rank 0; also the errors of a gather.
pub fn check_equal<C: Communicator>(comm: &C, what: &'static str, data: &[u8]) -> Result<(), CommError> {
    let all = comm.all_gather(data)?;
    match all.iter().position(|other| *other != all[0]) {
        Some(other) => {
            let error = CommError::Disagree { rank: 0, other, stage: what };
            comm.fail(error.clone());
            Err(error)
        }
        None => Ok(()),
    }
}
