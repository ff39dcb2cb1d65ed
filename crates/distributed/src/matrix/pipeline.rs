//! The exchange of whole sub-vectors along a schedule.
//!
//! | symbol | here | |
//! |---|---|---|
//! | v_j | `held[j]` | the sub-vector of rank j, as bytes |
//! | (t, v) | `Node` | receive sub-vector v from rank t |
//!
//! Every rank sends its own sub-vector at once to all ranks that receive it from this rank, and passes on a
//! received one as soon as it finds it: in [`Pipeline::next`], or in [`Pipeline::poll`], which products call
//! between chunks of rows. Without polling, a rank with a long product would delay the ranks behind it. Each
//! sub-vector has its own tag, and receives keep the order of the queue.
//!
//! Deviations from Li et al. 2020, §3.1: stages are not synchronised among ranks, and sub-vectors are not
//! padded to equal length, since both sides know the length of each from the layout.

use std::collections::VecDeque;

use coarsen_core::Real;

use crate::{CommError, Communicator, Partition, Schedule, Stage, pack};

/// The stage of sub-vector v. Tags repeat after 4096 ranks; a rank then receives sub-vectors of equal tags
/// from one sender in the order of its queue, which is the order in which the sender has them.
fn stage_of(vector: usize) -> Stage {
    Stage::new(Stage::RESERVED + 0x1000 + (vector % 4096) as u16, "an exchange of sub-vectors")
}

/// The exchange of one product.
pub(super) struct Pipeline<'a, C: Communicator> {
    partition: &'a Partition<C>,
    schedule: &'a Schedule,
    queues: &'a mut Queues<C::Request>,
    /// The length of every buffer in bytes, so that each fits every sub-vector.
    longest: usize,
}

/// The messages of an exchange; empty between exchanges, with their memory.
pub(super) struct Queues<R> {
    /// The receives that are not complete, in the order of the queue.
    under_way: VecDeque<(usize, R)>,
    /// The sub-vectors that have arrived and were passed on, but are not multiplied.
    held: VecDeque<(usize, Vec<u8>)>,
}

impl<R> Default for Queues<R> {
    fn default() -> Self {
        Self { under_way: VecDeque::new(), held: VecDeque::new() }
    }
}

impl<'a, C: Communicator> Pipeline<'a, C> {
    /// Posts all receives and sends the own sub-vector x.
    pub(super) fn begin<T: Real>(
        partition: &'a Partition<C>,
        schedule: &'a Schedule,
        x: &[T],
        queues: &'a mut Queues<C::Request>,
    ) -> Result<Self, CommError> {
        let (rank, layout) = (partition.rank(), partition.layout());
        queues.under_way.clear();
        queues.held.clear();
        queues.held.reserve(schedule.stages());
        for node in schedule.queue(rank) {
            let bytes = layout.count(node.vector) * layout.block() * size_of::<T>();
            let request = partition.comm().receive(node.peer, stage_of(node.vector), bytes)?;
            queues.under_way.push_back((node.vector, request));
        }
        let pipeline = Self { partition, schedule, queues, longest: longest(partition, size_of::<T>()) };
        pipeline.pass_on(rank, |message| pack(x.iter().copied(), message))?;
        Ok(pipeline)
    }

    /// Sends sub-vector v, which `write` writes to each message, to all ranks that receive it from this one.
    fn pass_on(&self, v: usize, write: impl Fn(&mut Vec<u8>)) -> Result<(), CommError> {
        for stage in 0..self.schedule.stages() {
            for (to, _) in
                self.schedule.sends(self.partition.rank(), stage).filter(|&(_, vector)| vector == v)
            {
                let mut message = self.partition.comm().buffer(self.longest);
                write(&mut message);
                self.partition.comm().send(to, stage_of(v), message)?;
            }
        }
        Ok(())
    }

    /// Passes on the sub-vectors that have arrived; does not wait.
    pub(super) fn poll(&mut self) -> Result<(), CommError> {
        while let Some((_, request)) = self.queues.under_way.front_mut()
            && self.partition.comm().test(request)?
        {
            self.take()?;
        }
        Ok(())
    }

    /// Waits for the next receive, passes it on and holds it.
    fn take(&mut self) -> Result<(), CommError> {
        if let Some((vector, request)) = self.queues.under_way.pop_front() {
            let data = self.partition.comm().wait(request)?;
            self.pass_on(vector, |message| message.extend_from_slice(&data))?;
            self.queues.held.push_back((vector, data));
        }
        Ok(())
    }

    /// The next sub-vector of the queue, and its owner; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<(usize, Vec<u8>)>, CommError> {
        if self.queues.held.is_empty() {
            self.take()?;
        }
        Ok(self.queues.held.pop_front())
    }
}

/// The length in bytes of the longest sub-vector.
fn longest<C: Communicator>(partition: &Partition<C>, scalar: usize) -> usize {
    let layout = partition.layout();
    (0..partition.comm().size()).map(|rank| layout.count(rank)).max().unwrap_or(0) * layout.block() * scalar
}

/// Gives the communicator all buffers that an exchange can use at once: a rank may pass on every sub-vector before it
/// has multiplied any. How many it uses depends on the times of messages. Within the limits of
/// the communicator no later product allocates.
pub(super) fn reserve<C: Communicator, T: Real>(partition: &Partition<C>, schedule: &Schedule) {
    let sends = |stage| schedule.sends(partition.rank(), stage).count();
    let most = (0..schedule.stages()).map(sends).sum::<usize>();
    partition.comm().reserve(most, longest(partition, size_of::<T>()));
}

/// The number of block rows that a rank sends per exchange.
pub(super) fn sent<C: Communicator>(partition: &Partition<C>, schedule: &Schedule) -> usize {
    let of_stage =
        |stage| schedule.sends(partition.rank(), stage).map(|(_, vector)| partition.layout().count(vector));
    (0..schedule.stages()).flat_map(of_stage).sum()
}
