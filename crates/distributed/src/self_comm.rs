//! The communicator of a single rank.

use std::convert::Infallible;

use crate::{CommError, Communicator, Stage};

/// A group of one rank. There is no other rank, so no message can be sent, and nothing can fail.
///
/// *Use* to run distributed code in one process without threads.
///
/// ```
/// use coarsen_distributed::{Communicator, SelfComm};
/// let mut sum = [2.0];
/// SelfComm.all_reduce(&mut sum)?;
/// assert_eq!((SelfComm.rank(), SelfComm.size(), sum), (0, 1, [2.0]));
/// # Ok::<(), coarsen_distributed::CommError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SelfComm;

fn no_peer(peer: usize, stage: Stage) -> CommError {
    CommError::Peer { rank: 0, peer, stage: stage.name, size: 1 }
}

impl Communicator for SelfComm {
    type Request = Infallible;
    type Sum = Vec<f64>;

    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn is_same(&self, _: &Self) -> bool {
        true
    }
    fn failure(&self) -> Option<CommError> {
        None
    }
    fn send(&self, to: usize, stage: Stage, _: Vec<u8>) -> Result<Infallible, CommError> {
        Err(no_peer(to, stage))
    }
    fn receive(&self, from: usize, stage: Stage, _: usize) -> Result<Infallible, CommError> {
        Err(no_peer(from, stage))
    }
    fn test(&self, request: &mut Infallible) -> Result<bool, CommError> {
        match *request {}
    }
    fn wait(&self, request: Infallible) -> Result<Vec<u8>, CommError> {
        match request {}
    }
    fn start_sum(&self, values: Vec<f64>) -> Result<Vec<f64>, CommError> {
        Ok(values)
    }
    fn advance_sum(&self, _: &mut Vec<f64>) -> Result<(), CommError> {
        Ok(())
    }
    fn finish_sum(&self, values: Vec<f64>) -> Result<Vec<f64>, CommError> {
        Ok(values)
    }
    /// Does nothing: the caller already has the error, and no other rank waits.
    fn fail(&self, _: CommError) {}
}
