//! A communicator that counts its messages and the time it waits, stage by stage.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::{CommError, Communicator, Reduction, Stage, Tickets};

/// The messages of one rank in one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// The name of the stage.
    pub stage: &'static str,
    /// The number of messages that this rank has sent.
    pub messages: u64,
    /// The number of bytes in them.
    pub bytes: u64,
    /// The seconds that this rank has waited for messages of others.
    pub waited: f64,
}

/// Another communicator, with counts. Collective operations are built from messages, and count as these.
///
/// ```
/// use std::time::Duration;
/// use coarsen_distributed::{Communicator, Counted, ThreadComm};
/// let bytes = ThreadComm::run(2, Duration::from_secs(10), |comm| {
///     let comm = Counted::new(comm);
///     comm.all_reduce(&mut [1.0, 2.0]).unwrap();
///     comm.traffic().iter().map(|stage| stage.bytes).sum::<u64>()
/// });
/// assert_eq!(bytes, [Ok(16), Ok(16)]);
/// ```
///
/// Sums under way are counted as messages, also of a communicator that has sums of its own. *Use* one counter for a
/// communicator: two, or one beside sums of the communicator itself, would mix up sums that are under way together.
#[derive(Clone)]
pub struct Counted<C> {
    comm: C,
    traffic: Arc<Mutex<Vec<Traffic>>>,
    tickets: Arc<Tickets>,
}

/// A message under way, and its stage.
pub struct CountedRequest<R> {
    request: R,
    stage: &'static str,
}

impl<C: Communicator> Counted<C> {
    /// No messages yet.
    pub fn new(comm: C) -> Self {
        Self { comm, traffic: Arc::default(), tickets: Arc::default() }
    }

    /// The communicator that is counted.
    pub fn inner(&self) -> &C {
        &self.comm
    }

    /// The messages since the creation or the last [`restart`](Self::restart), in the order in which the stages
    /// first occurred.
    pub fn traffic(&self) -> Vec<Traffic> {
        self.all().clone()
    }

    /// Sets all counts to zero.
    pub fn restart(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, Vec<Traffic>> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, stage: &'static str, add: impl FnOnce(&mut Traffic)) {
        let mut all = self.all();
        let at = all.iter().position(|traffic| traffic.stage == stage).unwrap_or_else(|| {
            all.push(Traffic { stage, messages: 0, bytes: 0, waited: 0.0 });
            all.len() - 1
        });
        add(&mut all[at]);
    }
}

impl<C: Communicator> Communicator for Counted<C> {
    type Request = CountedRequest<C::Request>;
    type Sum = Reduction<Self::Request>;

    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.comm.size()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.comm.is_same(&other.comm)
    }

    fn failure(&self) -> Option<CommError> {
        self.comm.failure()
    }

    fn send(&self, to: usize, stage: Stage, data: Vec<u8>) -> Result<Self::Request, CommError> {
        self.count(stage.name, |traffic| {
            traffic.messages += 1;
            traffic.bytes += data.len() as u64;
        });
        Ok(CountedRequest { request: self.comm.send(to, stage, data)?, stage: stage.name })
    }

    fn receive(&self, from: usize, stage: Stage, bytes: usize) -> Result<Self::Request, CommError> {
        Ok(CountedRequest { request: self.comm.receive(from, stage, bytes)?, stage: stage.name })
    }

    fn test(&self, request: &mut Self::Request) -> Result<bool, CommError> {
        self.comm.test(&mut request.request)
    }

    fn wait(&self, request: Self::Request) -> Result<Vec<u8>, CommError> {
        let begun = Instant::now();
        let data = self.comm.wait(request.request);
        self.count(request.stage, |traffic| traffic.waited += begun.elapsed().as_secs_f64());
        data
    }

    fn fail(&self, error: CommError) {
        self.comm.fail(error);
    }

    fn start_sum(&self, values: Vec<f64>) -> Result<Self::Sum, CommError> {
        Reduction::start(self, values, &self.tickets)
    }

    fn advance_sum(&self, sum: &mut Self::Sum) -> Result<(), CommError> {
        sum.advance(self)
    }

    fn finish_sum(&self, sum: Self::Sum) -> Result<Vec<f64>, CommError> {
        sum.finish(self)
    }

    fn buffer(&self, bytes: usize) -> Vec<u8> {
        self.comm.buffer(bytes)
    }

    fn recycle(&self, buffer: Vec<u8>) {
        self.comm.recycle(buffer);
    }

    fn reserve(&self, count: usize, bytes: usize) {
        self.comm.reserve(count, bytes);
    }

    fn worked(&self, scalars: usize) {
        self.comm.worked(scalars);
    }
}
