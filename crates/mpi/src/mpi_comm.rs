//! The communicator over MPI.
//!
//! | call | MPI |
//! |---|---|
//! | `send` | `Isend`; the communicator owns the buffer until the message is gone |
//! | `receive` | `Irecv`, posted at once, so that a large message can come in before the wait |
//! | `test`, `wait` | `Test`, and a check for faults of other ranks; `test` at most every 50 µs for each message |
//! | `fail` | the error, sent to every rank under a tag of its own |
//!
//! Collective operations are those of `coarsen-distributed`, built from these messages. Unlike those of MPI they have
//! a deadline, name the rank that is missing, and give every rank the same bits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use coarsen_distributed::{Buffers, CommError, Communicator, Reduction, Stage, Tickets};
use mpi::traits::AsRaw;

use crate::ffi::{Fault, Group, Message, Progress};
use crate::session::{FAULT, Session};
use crate::waiting::until;
use crate::{MpiError, ffi};

/// The tag of an error that stops the group. Tags of stages have 16 bits.
const FAULTS: i32 = 1 << 16;

/// The shortest time between two tests of the same message. Products ask after every few rows, and a test of
/// sockets takes some 10 µs.
const BETWEEN: Duration = Duration::from_micros(50);

/// How long a rank waits for its error to be sent, when it ends after a fault.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// One process of a group that exchanges messages by MPI.
///
/// No wait lasts longer than the deadline, but that for the other ranks at the end of MPI: twice the longest deadline.
/// A rank that finds a fault tells it to all ranks, and from then on every operation of every rank fails with it. MPI cannot go on after a fault, so the end of [`world`](Self::world) then
/// aborts all processes with exit code 6, also those that hang. A program that has started MPI itself calls
/// [`abort`](Self::abort).
///
/// Clones are handles of the same rank, and any thread can use one: calls of MPI are made one after the other. In a
/// program that has started MPI itself, only those threads can that MPI permits. MPI ends in the thread that drops
/// the last handle, which should be the thread that started it.
///
/// ```no_run
/// use std::time::Duration;
/// use coarsen_distributed::Communicator;
/// use coarsen_mpi::MpiComm;
/// let comm = MpiComm::world(Duration::from_secs(60))?;
/// let mut ranks = [1.0];
/// comm.all_reduce(&mut ranks)?;
/// println!("rank {} of {}", comm.rank(), ranks[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MpiComm(Arc<Ranks>);

struct Ranks {
    group: Group,
    deadline: Duration,
    failure: Mutex<Option<CommError>>,
    /// The messages that MPI has not taken yet.
    sends: Mutex<Vec<Message>>,
    pool: Buffers,
    tickets: Tickets,
    /// The MPI that this crate started, or `None` if the program did.
    session: Option<Arc<Session>>,
}

/// Nothing panics while it holds a lock, so the data behind a poisoned one are valid.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A message under way; it keeps MPI running.
pub struct MpiRequest(Option<Receive>);

struct Receive {
    message: Message,
    from: usize,
    stage: Stage,
    bytes: usize,
    arrived: bool,
    /// When `test` was last called, in vain.
    tested: Option<Instant>,
    _ranks: Arc<Ranks>,
}

impl MpiComm {
    /// All processes that were started together. Starts MPI if it does not run; MPI then ends when the last
    /// communicator and the last message are dropped. All processes call it.
    ///
    /// # Errors
    /// [`MpiError`] if MPI has ended, or if not all processes make the call before the deadline.
    pub fn world(deadline: Duration) -> Result<Self, MpiError> {
        let session = Session::get()?;
        Self::with_session(ffi::world(), deadline, session)
    }

    /// The processes of a communicator of the program, which is duplicated: messages of both are never mixed up.
    /// All its processes call it.
    ///
    /// # Errors
    /// [`MpiError`] if MPI does not run, or if not all processes make the call before the deadline.
    pub fn over<C>(comm: &C, deadline: Duration) -> Result<Self, MpiError>
    where
        C: mpi::traits::Communicator + AsRaw<Raw = mpi::ffi::MPI_Comm>,
    {
        if !mpi::environment::is_initialized() || mpi::environment::is_finalized() {
            return Err(MpiError::NotRunning);
        }
        Self::with_session(comm.as_raw(), deadline, Session::running())
    }

    fn with_session(
        comm: mpi::ffi::MPI_Comm,
        deadline: Duration,
        session: Option<Arc<Session>>,
    ) -> Result<Self, MpiError> {
        let call = |reason| MpiError::Call { reason };
        session.iter().for_each(|session| session.allow(deadline));
        let mut copy = Group::duplicate(comm).map_err(call)?;
        let done = until(deadline, || copy.test()).map_err(call);
        let done = done.and_then(|group| group.ok_or(MpiError::Late { rank: copy.rank, deadline }));
        // The call may still be under way, and MPI cannot end before it.
        let stop = |error: &MpiError| session.iter().for_each(|session| session.stop(&error.to_string()));
        let group = done.inspect_err(stop)?;
        group.return_errors().map_err(call)?;
        let largest = ffi::largest_tag();
        if largest < i64::from(FAULTS) {
            return Err(MpiError::Tags { largest, needed: FAULTS });
        }
        session.iter().for_each(|session| session.set_rank(group.rank));
        let (failure, sends, pool) = (Mutex::default(), Mutex::default(), Buffers::default());
        let tickets = Tickets::default();
        Ok(Self(Arc::new(Ranks { group, deadline, failure, sends, pool, tickets, session })))
    }

    /// The time limit of a wait.
    pub fn deadline(&self) -> Duration {
        self.0.deadline
    }

    /// Ends all processes of the group at once, and this one with the exit code 6. *Use* after a fault in a program
    /// that has started MPI itself: MPI cannot end while a rank hangs.
    pub fn abort(&self) -> ! {
        ffi::abort(self.0.group.handle(), FAULT)
    }

    fn check(&self, peer: usize, stage: Stage) -> Result<(), CommError> {
        self.0.stop(self.0.listen(stage))?;
        let (rank, size) = (self.rank(), self.size());
        if peer < size && peer != rank {
            return Ok(());
        }
        self.0.stop(Err(CommError::Peer { rank, peer, stage: stage.name, size }))
    }
}

impl Ranks {
    fn fault(&self, stage: Stage, reason: Fault) -> CommError {
        CommError::Transport { rank: self.group.rank, stage: stage.name, reason }
    }

    /// The error that stopped the group, if another rank has sent one. Also lets go of messages that are sent.
    fn listen(&self, stage: Stage) -> Result<(), CommError> {
        self.known()?;
        let told = self.group.arrived(FAULTS).map_err(|reason| self.fault(stage, reason))?;
        if let Some(error) = told.and_then(|bytes| CommError::from_bytes(&bytes)) {
            return Err(self.keep(error));
        }
        self.let_go().map_err(|reason| self.fault(stage, reason))
    }

    /// The first failure that this rank knows of; the end of MPI aborts with it.
    fn keep(&self, error: CommError) -> CommError {
        let first = lock(&self.failure).get_or_insert(error).clone();
        self.session.iter().for_each(|session| session.stop(&first.to_string()));
        first
    }

    /// Drops the messages that are sent, and keeps their buffers within the limits of [`Buffers`].
    fn let_go(&self) -> Result<(), Fault> {
        let mut sends = lock(&self.sends);
        let mut k = 0;
        while k < sends.len() {
            match sends[k].test() {
                Ok(Progress::UnderWay) => k += 1,
                Ok(_) => self.pool.put(sends.swap_remove(k).into_data()),
                Err(reason) => {
                    drop(sends.swap_remove(k));
                    return Err(reason);
                }
            }
        }
        Ok(())
    }

    fn tell_all(&self, error: &CommError) {
        let bytes = error.to_bytes();
        for to in (0..self.group.size).filter(|to| *to != self.group.rank) {
            if let Some(Ok(message)) = self.group.send(to, FAULTS, bytes.clone()) {
                lock(&self.sends).push(message);
            }
        }
    }

    /// Stops the group after an error.
    fn stop<R>(&self, result: Result<R, CommError>) -> Result<R, CommError> {
        result.map_err(|error| {
            let known = lock(&self.failure).is_some();
            let first = self.keep(error);
            if !known {
                self.tell_all(&first);
            }
            first
        })
    }

    /// The error that this rank knows of already.
    fn known(&self) -> Result<(), CommError> {
        lock(&self.failure).clone().map_or(Ok(()), Err)
    }

    /// Whether a message has arrived.
    fn arrived(&self, receive: &mut Receive) -> Result<Option<()>, CommError> {
        let (rank, from, stage, expected) =
            (self.group.rank, receive.from, receive.stage.name, receive.bytes);
        match receive.message.test() {
            Ok(Progress::Complete) => Ok(Some(())),
            Ok(Progress::UnderWay) => self.listen(receive.stage).map(|()| None),
            Ok(Progress::OtherLength(found)) => Err(CommError::Length { rank, from, stage, expected, found }),
            Err(reason) => Err(self.fault(receive.stage, reason)),
        }
    }
}

impl Communicator for MpiComm {
    type Request = MpiRequest;
    type Sum = Reduction<MpiRequest>;

    fn rank(&self) -> usize {
        self.0.group.rank
    }

    fn size(&self) -> usize {
        self.0.group.size
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn failure(&self) -> Option<CommError> {
        lock(&self.0.failure).clone()
    }

    fn send(&self, to: usize, stage: Stage, data: Vec<u8>) -> Result<MpiRequest, CommError> {
        self.check(to, stage)?;
        let bytes = data.len();
        let sent = match self.0.group.send(to, i32::from(stage.tag), data) {
            Some(sent) => sent.map_err(|reason| self.0.fault(stage, reason)),
            None => Err(self.0.fault(stage, too_long(bytes))),
        };
        let message = self.0.stop(sent)?;
        lock(&self.0.sends).push(message);
        let gone = self.0.let_go().map_err(|reason| self.0.fault(stage, reason));
        self.0.stop(gone)?;
        Ok(MpiRequest(None))
    }

    fn receive(&self, from: usize, stage: Stage, bytes: usize) -> Result<MpiRequest, CommError> {
        self.check(from, stage)?;
        let mut buffer = self.0.pool.take(bytes);
        buffer.resize(bytes, 0);
        let posted = match self.0.group.receive(from, i32::from(stage.tag), buffer) {
            Some(posted) => posted.map_err(|reason| self.0.fault(stage, reason)),
            None => Err(self.0.fault(stage, too_long(bytes))),
        };
        let message = self.0.stop(posted)?;
        let (arrived, tested, _ranks) = (false, None, self.0.clone());
        Ok(MpiRequest(Some(Receive { message, from, stage, bytes, arrived, tested, _ranks })))
    }

    fn test(&self, request: &mut MpiRequest) -> Result<bool, CommError> {
        let Some(receive) = &mut request.0 else { return Ok(true) };
        self.0.known()?;
        if receive.arrived || receive.tested.is_some_and(|tested| tested.elapsed() < BETWEEN) {
            return Ok(receive.arrived);
        }
        let arrived = self.0.arrived(receive);
        receive.arrived = self.0.stop(arrived)?.is_some();
        receive.tested = Some(Instant::now());
        Ok(receive.arrived)
    }

    fn wait(&self, request: MpiRequest) -> Result<Vec<u8>, CommError> {
        let Some(mut receive) = request.0 else { return Ok(Vec::new()) };
        self.0.known()?;
        let arrived = until(self.0.deadline, || self.0.arrived(&mut receive)).and_then(|arrived| {
            let (rank, from, stage) = (self.rank(), receive.from, receive.stage.name);
            arrived.ok_or(CommError::Late { rank, from, stage, deadline: self.0.deadline })
        });
        self.0.stop(arrived)?;
        Ok(receive.message.into_data())
    }

    fn start_sum(&self, values: Vec<f64>) -> Result<Self::Sum, CommError> {
        Reduction::start(self, values, &self.0.tickets)
    }

    fn advance_sum(&self, sum: &mut Self::Sum) -> Result<(), CommError> {
        sum.advance(self)
    }

    fn finish_sum(&self, sum: Self::Sum) -> Result<Vec<f64>, CommError> {
        sum.finish(self)
    }

    fn fail(&self, error: CommError) {
        let _: Result<(), _> = self.0.stop(Err(error));
    }

    fn buffer(&self, bytes: usize) -> Vec<u8> {
        self.0.pool.take(bytes)
    }

    fn recycle(&self, buffer: Vec<u8>) {
        self.0.pool.put(buffer);
    }

    fn reserve(&self, count: usize, bytes: usize) {
        self.0.pool.reserve(count, bytes);
    }
}

fn too_long(bytes: usize) -> Fault {
    format!(
        "a message of {bytes} bytes is longer than one of MPI; use more ranks, so that each has fewer rows"
    )
}

impl Drop for Ranks {
    /// Waits for the last messages, and frees the communicator. After a fault both could wait for ever, so the
    /// communicator is then left to the end of the process.
    fn drop(&mut self) {
        if std::thread::panicking() && lock(&self.failure).is_none() {
            let panicked = CommError::Panicked { rank: self.group.rank };
            let _: Result<(), _> = self.stop(Err(panicked));
        }
        let failed = lock(&self.failure).is_some();
        let limit = if failed { self.deadline.min(LAST_WORDS) } else { self.deadline };
        let sent = until(limit, || -> Result<_, Fault> {
            self.let_go()?;
            Ok(lock(&self.sends).is_empty().then_some(()))
        });
        if sent == Ok(Some(())) && !failed {
            self.group.free();
        }
    }
}
