//! A communicator with a virtual clock.
//!
//! | symbol | here | |
//! |---|---|---|
//! | α, β | `Machine::alpha`, `Machine::beta` | seconds per message, seconds per byte on a link of capacity 1 |
//! | T | `transfer` | α + β bytes / capacity of the path |
//! | C | `per_scalar` | seconds per stored scalar of a product |
//! | S | `clock` | the time on this rank |
//!
//! A message is received when the link of the receiver is free and the sender has sent it; it then takes T.
//! Receives of one rank follow one another in the order of waits, as in eq. 7 of Li et al. 2020. Transfers
//! run while the rank computes. A sum over all ranks runs beside later computations and transfers, as with hardware
//! or threads that carry it: it takes the time of its messages from its start on. Messages of
//! different receivers do not slow each other down; for contention,
//! see [`Topology::stages`].

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::Topology;
use crate::{CommError, Communicator, Stage, ThreadComm, ThreadRequest};

/// A machine to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Seconds per message, α.
    pub alpha: f64,
    /// Seconds per byte on a link of capacity 1, β.
    pub beta: f64,
    /// Seconds per stored scalar of a product. Other work takes no time.
    pub per_scalar: f64,
    /// Ranks, switches and links.
    pub topology: Topology,
}

/// One rank of a simulated machine: a thread that computes and sends messages, with the clock of the model.
///
/// [`test`](Communicator::test) waits for the message itself, and returns whether it has arrived on the
/// virtual clock. The clock is the same in every run.
///
/// ```
/// use coarsen_distributed::{Communicator, simulation::{Machine, SimComm, Topology}};
/// let machine = Machine { alpha: 1e-6, beta: 1e-9, per_scalar: 1e-9, topology: Topology::switch(2)? };
/// let clocks = SimComm::run(&machine, |comm| {
///     comm.barrier()?; // one message to rank 0, one message back
///     Ok::<_, coarsen_distributed::CommError>(comm.clock())
/// });
/// assert_eq!(clocks, [Ok(Ok(1e-6)), Ok(Ok(2e-6))]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
#[derive(Clone)]
pub struct SimComm {
    threads: ThreadComm,
    machine: Arc<Machine>,
    times: Rc<Times>,
}

#[derive(Default)]
struct Times {
    clock: Cell<f64>,
    /// The time from which the link of this rank is free to receive.
    free: Cell<f64>,
    computing: Cell<f64>,
}

/// A message under way on a simulated machine.
pub struct SimRequest {
    request: Option<ThreadRequest>,
    /// The sender, for a receive.
    from: Option<usize>,
    arrived: Option<(Vec<u8>, f64)>,
}

/// A sum under way on a simulated machine, where sums go on by themselves while ranks compute.
pub struct SimSum {
    values: Vec<f64>,
    /// The clock at the start.
    begun: f64,
    /// The time at the start from which the link was free.
    free: f64,
}

/// The real time limit of a simulated rank.
const DEADLINE: Duration = Duration::from_secs(600);

impl SimComm {
    /// Runs `f` on every rank of the machine and returns the results by rank.
    ///
    /// # Errors
    /// [`CommError::Panicked`] for a rank whose call of `f` panicked.
    pub fn run<R: Send>(machine: &Machine, f: impl Fn(Self) -> R + Sync) -> Vec<Result<R, CommError>> {
        let machine = Arc::new(machine.clone());
        ThreadComm::run(machine.topology.ranks(), DEADLINE, |threads| {
            f(Self { threads, machine: machine.clone(), times: Rc::default() })
        })
    }

    /// The time on the clock of this rank in seconds.
    pub fn clock(&self) -> f64 {
        self.times.clock.get()
    }

    /// The part of [`clock`](Self::clock) in which this rank computed; in the rest it waited.
    pub fn computing(&self) -> f64 {
        self.times.computing.get()
    }

    /// Waits for all ranks, in no virtual time, and sets all clocks to 0. *Use* before what is to be timed,
    /// when no message is under way. All ranks call it.
    ///
    /// # Errors
    /// As [`Communicator::barrier`].
    pub fn restart(&self) -> Result<(), CommError> {
        self.threads.barrier()?;
        for time in [&self.times.clock, &self.times.free, &self.times.computing] {
            time.set(0.0);
        }
        // No rank sends before the clocks of all ranks are 0.
        self.threads.barrier()
    }

    /// Completes the message and its time of arrival.
    fn complete(&self, request: &mut SimRequest) -> Result<(), CommError> {
        let Some(inner) = request.request.take() else { return Ok(()) };
        let (data, sent) = self.threads.wait_at(inner)?;
        let Some(from) = request.from else {
            request.arrived = Some((data, 0.0));
            return Ok(());
        };
        let bytes = data.len() as f64;
        let machine = &self.machine;
        let transfer = machine.alpha + machine.beta * machine.topology.load(from, self.rank(), bytes);
        let arrival = self.times.free.get().max(sent) + transfer; // Σ T
        self.times.free.set(arrival);
        request.arrived = Some((data, arrival));
        Ok(())
    }
}

impl Communicator for SimComm {
    type Request = SimRequest;
    type Sum = SimSum;

    fn rank(&self) -> usize {
        self.threads.rank()
    }

    fn size(&self) -> usize {
        self.threads.size()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.threads.is_same(&other.threads)
    }

    fn failure(&self) -> Option<CommError> {
        self.threads.failure()
    }

    fn send(&self, to: usize, stage: Stage, data: Vec<u8>) -> Result<SimRequest, CommError> {
        let request = self.threads.send_at(to, stage, data, self.clock())?;
        Ok(SimRequest { request: Some(request), from: None, arrived: None })
    }

    fn receive(&self, from: usize, stage: Stage, bytes: usize) -> Result<SimRequest, CommError> {
        let request = self.threads.receive(from, stage, bytes)?;
        Ok(SimRequest { request: Some(request), from: Some(from), arrived: None })
    }

    fn test(&self, request: &mut SimRequest) -> Result<bool, CommError> {
        self.complete(request)?;
        Ok(request.arrived.as_ref().is_none_or(|(_, arrival)| *arrival <= self.clock()))
    }

    fn wait(&self, mut request: SimRequest) -> Result<Vec<u8>, CommError> {
        self.complete(&mut request)?;
        let (data, arrival) = request.arrived.unwrap_or_default();
        self.times.clock.set(self.clock().max(arrival)); // max(S, Σ T), eq. 7
        Ok(data)
    }

    fn start_sum(&self, values: Vec<f64>) -> Result<SimSum, CommError> {
        Ok(SimSum { values, begun: self.clock(), free: self.times.free.get() })
    }

    /// Does nothing: a sum goes on by itself.
    fn advance_sum(&self, _: &mut SimSum) -> Result<(), CommError> {
        Ok(())
    }

    /// Exchanges the messages with the clocks of the start.
    fn finish_sum(&self, mut sum: SimSum) -> Result<Vec<f64>, CommError> {
        let Times { clock, free, .. } = &*self.times;
        let (now, busy) = (clock.replace(sum.begun), free.replace(sum.free));
        let summed = self.all_reduce(&mut sum.values);
        clock.set(clock.get().max(now));
        free.set(free.get().max(busy));
        summed.map(|()| sum.values)
    }

    fn fail(&self, error: CommError) {
        self.threads.fail(error);
    }

    fn buffer(&self, bytes: usize) -> Vec<u8> {
        self.threads.buffer(bytes)
    }

    fn recycle(&self, buffer: Vec<u8>) {
        self.threads.recycle(buffer);
    }

    fn reserve(&self, count: usize, bytes: usize) {
        self.threads.reserve(count, bytes);
    }

    fn worked(&self, scalars: usize) {
        let seconds = self.machine.per_scalar * scalars as f64;
        self.times.clock.set(self.clock() + seconds); // + C, eq. 7
        self.times.computing.set(self.computing() + seconds);
    }
}
