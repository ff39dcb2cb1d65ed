//! Sums over all ranks that go on while ranks compute.
//!
//! The messages and the order of additions are those of `collectives::all_reduce`, so the bits are the same. Each sum
//! in flight has a tag of its own, so that several may be under way.

use std::sync::atomic::{AtomicU16, Ordering};

use crate::collectives::{above, add_numbers, below, copy_numbers, send_numbers};
use crate::{CommError, Communicator, Stage};

/// The first tag of sums under way, and the number of such tags.
const FIRST: u16 = Stage::RESERVED + 0x400;
const TAGS: u16 = 0x400;

/// Numbers the sums of a communicator. All ranks start sums in the same order, so they give a sum the same number.
#[derive(Debug, Default)]
pub struct Tickets(AtomicU16);

impl Tickets {
    fn next(&self) -> Stage {
        let ticket = self.0.fetch_add(1, Ordering::Relaxed);
        Stage::new(FIRST + ticket % TAGS, "a sum over all ranks")
    }
}

/// A sum over all ranks by messages, under way. It moves when [`advance`](Self::advance) is called.
///
/// *Use* to implement [`Communicator::start_sum`] for a communicator with real messages.
pub struct Reduction<R> {
    values: Vec<f64>,
    stage: Stage,
    /// The number of ranks below whose sums have arrived.
    reported: usize,
    /// Whether the sum of the ranks below and of this one has been sent to the rank above.
    sent: bool,
    /// The message that is expected next; `None` at the end.
    request: Option<R>,
}

impl<R> Reduction<R> {
    /// Begins to sum each entry of `values`. Every rank calls it.
    ///
    /// # Errors
    /// As [`Communicator::send`].
    pub fn start<C>(comm: &C, values: Vec<f64>, tickets: &Tickets) -> Result<Self, CommError>
    where
        C: Communicator<Request = R>,
    {
        let mut sum = Self { values, stage: tickets.next(), reported: 0, sent: false, request: None };
        sum.go_on(comm)?;
        Ok(sum)
    }

    /// Handles the messages that have arrived, without a wait.
    ///
    /// # Errors
    /// As [`Communicator::test`].
    pub fn advance<C: Communicator<Request = R>>(&mut self, comm: &C) -> Result<(), CommError> {
        while let Some(mut request) = self.request.take() {
            if !comm.test(&mut request)? {
                self.request = Some(request);
                return Ok(());
            }
            self.receive(comm, request)?;
        }
        Ok(())
    }

    /// Waits for the sums.
    ///
    /// # Errors
    /// As [`Communicator::wait`].
    pub fn finish<C: Communicator<Request = R>>(mut self, comm: &C) -> Result<Vec<f64>, CommError> {
        while let Some(request) = self.request.take() {
            self.receive(comm, request)?;
        }
        Ok(self.values)
    }

    fn receive<C: Communicator<Request = R>>(&mut self, comm: &C, request: R) -> Result<(), CommError> {
        let data = comm.wait(request)?;
        if self.sent {
            copy_numbers(&data, &mut self.values);
            comm.recycle(data);
            return self.spread(comm);
        }
        add_numbers(&data, &mut self.values);
        comm.recycle(data);
        self.reported += 1;
        self.go_on(comm)
    }

    /// Waits for the next rank below, or else sends to the rank above. Rank 0 then has the sum.
    fn go_on<C: Communicator<Request = R>>(&mut self, comm: &C) -> Result<(), CommError> {
        let (v, bytes) = (comm.rank(), size_of_val(&self.values[..]));
        if let Some(from) = below(v, comm.size()).nth(self.reported) {
            self.request = Some(comm.receive(from, self.stage, bytes)?);
            return Ok(());
        }
        let Some(to) = above(v) else { return self.spread(comm) };
        send_numbers(comm, to, self.stage, &self.values)?;
        self.sent = true;
        self.request = Some(comm.receive(to, self.stage, bytes)?);
        Ok(())
    }

    fn spread<C: Communicator<Request = R>>(&self, comm: &C) -> Result<(), CommError> {
        below(comm.rank(), comm.size())
            .rev()
            .try_for_each(|to| send_numbers(comm, to, self.stage, &self.values))
    }
}
