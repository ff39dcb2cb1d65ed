//! Ranks as threads of one process.
//!
//! Each rank has a mailbox. A send moves the buffer into the mailbox of the receiver, so a message is never
//! copied. The receiver keeps the buffer for its own next message. An error is written into all mailboxes and wakes every rank that waits.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use coarsen_core::parallel;

use crate::{Buffers, CommError, Communicator, Reduction, Stage, Tickets};

/// The number of messages that a mailbox can hold at first.
const QUEUE: usize = 64;

struct Message {
    from: usize,
    tag: u16,
    data: Vec<u8>,
    /// The time on the clock of a simulated sender; 0 otherwise.
    sent: f64,
}

/// The messages to one rank, and its knowledge of the group.
struct Mail {
    queue: VecDeque<Message>,
    failure: Option<CommError>,
    /// Whether each rank has ended.
    ended: Vec<bool>,
}

struct Mailbox {
    mail: Mutex<Mail>,
    changed: Condvar,
}

impl Mailbox {
    /// No code panics while it holds the lock, so a poisoned lock protects valid data.
    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, f: impl FnOnce(&mut Mail)) {
        f(&mut self.lock());
        self.changed.notify_all();
    }
}

struct Group {
    mailboxes: Vec<Mailbox>,
    deadline: Duration,
    first: Mutex<Option<CommError>>,
}

impl Group {
    /// Stops the group with an error, and returns it.
    fn stop(&self, error: CommError) -> CommError {
        self.fail(error.clone());
        error
    }

    /// Writes the first error of the group into all mailboxes.
    fn fail(&self, error: CommError) {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error).clone();
        for mailbox in &self.mailboxes {
            mailbox.change(|mail| mail.failure = Some(first.clone()));
        }
    }
}

/// The presence of a rank: ends when the last clone of its communicator is dropped.
struct Presence {
    group: Arc<Group>,
    rank: usize,
    buffers: Buffers,
    tickets: Tickets,
}

impl Drop for Presence {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.group.fail(CommError::Panicked { rank: self.rank });
        }
        for mailbox in &self.group.mailboxes {
            mailbox.change(|mail| mail.ended[self.rank] = true);
        }
    }
}

/// One rank of a group of threads.
///
/// A rank that panics, ends too early or misses the deadline gives a typed error on every rank; no rank
/// waits for a message longer than the deadline.
///
/// ```
/// use std::time::Duration;
/// use coarsen_distributed::{CommError, Communicator, Stage, ThreadComm};
/// const HELLO: Stage = Stage::new(1, "a greeting");
/// let received = ThreadComm::run(2, Duration::from_secs(10), |comm| {
///     let other = 1 - comm.rank();
///     comm.send(other, HELLO, vec![comm.rank() as u8])?;
///     let request = comm.receive(other, HELLO, 1)?;
///     comm.wait(request)
/// });
/// assert_eq!(received, [Ok(Ok(vec![1])), Ok(Ok(vec![0]))]);
/// ```
#[derive(Clone)]
pub struct ThreadComm(Arc<Presence>);

/// A message under way between threads.
pub struct ThreadRequest(Option<Receive>);

struct Receive {
    from: usize,
    stage: Stage,
    bytes: usize,
}

impl ThreadComm {
    /// The communicators of a new group, one per rank.
    fn group(ranks: usize, deadline: Duration) -> Vec<Self> {
        let mailbox = |_| Mailbox {
            mail: Mutex::new(Mail {
                queue: VecDeque::with_capacity(QUEUE + ranks),
                failure: None,
                ended: vec![false; ranks],
            }),
            changed: Condvar::new(),
        };
        let mailboxes = (0..ranks).map(mailbox).collect();
        let group = Arc::new(Group { mailboxes, deadline, first: Mutex::new(None) });
        let rank = |rank| {
            let (buffers, tickets) = (Buffers::default(), Tickets::default());
            Self(Arc::new(Presence { group: group.clone(), rank, buffers, tickets }))
        };
        (0..ranks).map(rank).collect()
    }

    /// Runs `f` on every rank of a new group and returns the results by rank. No wait lasts longer than `deadline`. Each rank
    /// has a thread pool of one thread, so that the loops of all ranks together use as many threads as there are ranks.
    ///
    /// *Use* [`parallel::threads`] inside `f` if there are more cores than ranks.
    ///
    /// It returns when `f` has returned on every rank. The deadline ends waits for messages, after which the other ranks
    /// have an error; but no thread can be ended from outside, so a rank that computes for ever keeps the call from
    /// returning. Processes under MPI are aborted in this case.
    ///
    /// # Errors
    /// [`CommError::Panicked`] for a rank whose call of `f` panicked, [`CommError::Threads`] for a rank whose
    /// thread cannot be started. Operations of the other ranks then fail with the same error.
    pub fn run<R: Send>(
        ranks: usize,
        deadline: Duration,
        f: impl Fn(Self) -> R + Sync,
    ) -> Vec<Result<R, CommError>> {
        let f = &f;
        std::thread::scope(|scope| {
            let start = |comm: Self| {
                let rank = comm.rank();
                // A rank that cannot start is present until all others know the reason.
                let (give, take) = mpsc::channel::<Self>();
                let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                    let comm = take.recv().map_err(|_| CommError::Threads { rank })?;
                    let present = comm.clone();
                    parallel::threads(1, || f(comm))
                        .map_err(|_| present.0.group.stop(CommError::Threads { rank }))
                });
                match started {
                    Ok(thread) => give.send(comm).map(|()| thread).map_err(|_| CommError::Threads { rank }),
                    Err(_) => Err(comm.0.group.stop(CommError::Threads { rank })),
                }
            };
            let threads: Vec<_> = Self::group(ranks, deadline).into_iter().map(start).collect();
            let end =
                |(rank, thread): (usize, Result<ScopedJoinHandle<'_, Result<R, CommError>>, CommError>)| {
                    thread?.join().unwrap_or(Err(CommError::Panicked { rank }))
                };
            threads.into_iter().enumerate().map(end).collect()
        })
    }

    fn mailbox(&self) -> &Mailbox {
        &self.0.group.mailboxes[self.0.rank]
    }

    fn check(&self, peer: usize, stage: Stage) -> Result<(), CommError> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let (rank, size) = (self.rank(), self.size());
        if peer >= size || peer == rank {
            return Err(self.0.group.stop(CommError::Peer { rank, peer, stage: stage.name, size }));
        }
        Ok(())
    }

    /// The position of the message, `None` while it is under way, or the reason why it will not arrive.
    fn find(&self, mail: &Mail, of: &Receive) -> Result<Option<usize>, CommError> {
        if let Some(error) = &mail.failure {
            return Err(error.clone());
        }
        let at = mail.queue.iter().position(|m| m.from == of.from && m.tag == of.stage.tag);
        let (rank, stage) = (self.rank(), of.stage.name);
        match at {
            Some(at) if mail.queue[at].data.len() != of.bytes => {
                let found = mail.queue[at].data.len();
                Err(CommError::Length { rank, from: of.from, stage, expected: of.bytes, found })
            }
            None if mail.ended[of.from] => Err(CommError::Lost { rank, lost: of.from, stage }),
            at => Ok(at),
        }
    }

    /// Sends a message with the time at which it was sent.
    pub(crate) fn send_at(
        &self,
        to: usize,
        stage: Stage,
        data: Vec<u8>,
        sent: f64,
    ) -> Result<ThreadRequest, CommError> {
        self.check(to, stage)?;
        let message = Message { from: self.rank(), tag: stage.tag, data, sent };
        self.0.group.mailboxes[to].change(|mail| mail.queue.push_back(message));
        Ok(ThreadRequest(None))
    }

    /// Waits for a message and returns it with the time at which it was sent.
    pub(crate) fn wait_at(&self, request: ThreadRequest) -> Result<(Vec<u8>, f64), CommError> {
        let Some(receive) = request.0 else { return Ok((Vec::new(), 0.0)) };
        let waits = |mail: &mut Mail| matches!(self.find(mail, &receive), Ok(None));
        let (mailbox, deadline) = (self.mailbox(), self.0.group.deadline);
        let (mut mail, _) = mailbox
            .changed
            .wait_timeout_while(mailbox.lock(), deadline, waits)
            .unwrap_or_else(PoisonError::into_inner);
        let found = match self.find(&mail, &receive) {
            Ok(Some(at)) => {
                Ok(mail.queue.remove(at).map(|message| (message.data, message.sent)).unwrap_or_default())
            }
            Ok(None) => {
                let (rank, from, stage) = (self.rank(), receive.from, receive.stage.name);
                Err(CommError::Late { rank, from, stage, deadline })
            }
            Err(error) => Err(error),
        };
        drop(mail); // `stop` writes to all mailboxes
        self.stop(found)
    }

    fn stop<T>(&self, result: Result<T, CommError>) -> Result<T, CommError> {
        if let Err(error) = &result {
            self.0.group.fail(error.clone());
            // Another rank may have found an error before; all ranks return the same one.
            return Err(self.failure().unwrap_or_else(|| error.clone()));
        }
        result
    }
}

impl Communicator for ThreadComm {
    type Request = ThreadRequest;
    type Sum = Reduction<ThreadRequest>;

    fn rank(&self) -> usize {
        self.0.rank
    }

    fn size(&self) -> usize {
        self.0.group.mailboxes.len()
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn failure(&self) -> Option<CommError> {
        self.mailbox().lock().failure.clone()
    }

    fn send(&self, to: usize, stage: Stage, data: Vec<u8>) -> Result<ThreadRequest, CommError> {
        self.send_at(to, stage, data, 0.0)
    }

    fn receive(&self, from: usize, stage: Stage, bytes: usize) -> Result<ThreadRequest, CommError> {
        self.check(from, stage)?;
        Ok(ThreadRequest(Some(Receive { from, stage, bytes })))
    }

    fn test(&self, request: &mut ThreadRequest) -> Result<bool, CommError> {
        let Some(receive) = &request.0 else { return Ok(true) };
        let found = self.find(&self.mailbox().lock(), receive);
        Ok(self.stop(found)?.is_some())
    }

    fn wait(&self, request: ThreadRequest) -> Result<Vec<u8>, CommError> {
        self.wait_at(request).map(|(data, _)| data)
    }

    fn fail(&self, error: CommError) {
        self.0.group.fail(error);
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

    fn buffer(&self, bytes: usize) -> Vec<u8> {
        self.0.buffers.take(bytes)
    }

    fn recycle(&self, buffer: Vec<u8>) {
        self.0.buffers.put(buffer);
    }

    fn reserve(&self, count: usize, bytes: usize) {
        self.0.buffers.reserve(count, bytes);
    }
}
