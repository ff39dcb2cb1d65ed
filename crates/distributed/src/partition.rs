//! A layout on the ranks of a communicator.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coarsen_core::Real;

use crate::scalar::Pending;
use crate::{CommError, Communicator, DistError, DistVector, Layout, check_equal, collectives, pack, unpack};

/// The ranks that share vectors, and the block rows of each.
///
/// All vectors and matrices that are combined refer to equal partitions.
#[derive(Debug)]
pub struct Partition<C: Communicator> {
    comm: C,
    layout: Layout,
    scratch: Mutex<Scratch<C>>,
    /// Whether a sum may be under way, so that products without one ask for none.
    summing: AtomicBool,
}

/// Memory of reductions, kept for the next one.
#[derive(Debug)]
pub(crate) struct Scratch<C: Communicator> {
    /// The sums of all leaves of all ranks, rank by rank.
    pub(crate) sums: Vec<[f64; 2]>,
    /// The sums of the leaves of one pair.
    pub(crate) leaves: Vec<[f64; 2]>,
    /// The sums of several pairs.
    pub(crate) found: Vec<[f64; 2]>,
    /// The sums that scalars refer to, or that are free for others.
    pending: Vec<Arc<Pending<C>>>,
    /// One number of each rank.
    pub(crate) of_ranks: Vec<f64>,
}

impl<C: Communicator> Default for Scratch<C> {
    fn default() -> Self {
        let (sums, leaves, found) = Default::default();
        Self { sums, leaves, found, pending: Vec::new(), of_ranks: Vec::new() }
    }
}

impl<C: Communicator> Partition<C> {
    /// Divides block rows among the ranks of `comm`. All ranks call it with the same layout.
    ///
    /// # Errors
    /// [`DistError::Ranks`] if the layout is for another number of ranks, `CommError::Disagree` if two ranks
    /// pass different layouts, and other errors of communication.
    pub fn new(comm: C, layout: Layout) -> Result<Arc<Self>, DistError> {
        let mut bytes = Vec::new();
        pack(layout.numbers(), &mut bytes);
        check_equal(&comm, "the layout of block rows", &bytes)?;
        if layout.ranks() != comm.size() {
            return Err(DistError::Ranks { parts: layout.ranks(), ranks: comm.size() });
        }
        let (scratch, summing) = (Mutex::new(Scratch::default()), AtomicBool::new(false));
        Ok(Arc::new(Self { comm, layout, scratch, summing }))
    }

    /// Divides block rows of `block` scalars among the ranks of `comm`, `count` of them to this rank. Ranks have
    /// consecutive rows, in the order of their numbers. All ranks call it.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) and of [`Layout::new`].
    pub fn of_counts(comm: C, count: usize, block: usize) -> Result<Arc<Self>, DistError> {
        let mut bytes = Vec::new();
        pack([count as u64], &mut bytes);
        let mut starts = vec![0];
        for part in comm.all_gather(&bytes)? {
            starts.push(starts[starts.len() - 1] + unpack::<u64>(&part).next().unwrap_or_default());
        }
        Self::new(comm, Layout::new(starts, block)?)
    }

    /// Every reduction clears what it uses, so a poisoned lock protects valid data.
    pub(crate) fn scratch(&self) -> MutexGuard<'_, Scratch<C>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the sums over all ranks of the numbers that `fill` writes.
    pub(crate) fn start_sums(&self, count: usize, fill: impl FnOnce(&mut [f64])) -> Arc<Pending<C>> {
        let pending = &mut self.scratch().pending;
        // All ranks drop scalars in the same order, so all find the same one.
        let free = pending.iter().position(|sums| Arc::strong_count(sums) == 1).unwrap_or_else(|| {
            pending.push(Arc::new(Pending::new(self.comm.clone())));
            pending.len() - 1
        });
        let sums = pending[free].clone();
        sums.start(count, fill);
        self.summing.store(true, Ordering::Relaxed);
        sums
    }

    /// Lets sums under way go on. Called between the chunks of a product.
    pub(crate) fn advance_sums(&self) {
        if self.summing.load(Ordering::Relaxed) {
            let under_way = self.scratch().pending.iter().filter(|sums| sums.advance()).count();
            self.summing.store(under_way > 0, Ordering::Relaxed);
        }
    }

    /// The communicator.
    pub fn comm(&self) -> &C {
        &self.comm
    }

    /// The block rows of each rank.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.comm.rank()
    }

    /// The first block row of this rank.
    pub fn first(&self) -> u64 {
        self.layout.range(self.rank()).start
    }

    /// The number of block rows of this rank.
    pub fn count(&self) -> usize {
        self.layout.count(self.rank())
    }

    /// Whether both describe the same division of rows among the same ranks.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || (self.comm.is_same(&other.comm) && self.layout == other.layout)
    }

    /// A vector from the entries of this rank.
    ///
    /// # Errors
    /// [`DistError::Length`] if the number of entries is not that of this rank.
    pub fn vector<T: Real>(self: &Arc<Self>, own: Vec<T>) -> Result<DistVector<C, T>, DistError> {
        DistVector::new(self.clone(), own)
    }

    /// Writes the whole vector to `all` on rank 0, and parts of it on other ranks. All ranks call it; `all` has the
    /// length of the whole vector on every rank.
    ///
    /// *Use* for a level that one rank solves. *Cost* log₂ n messages in sequence along a binomial tree. If calls
    /// alternate with [`distribute`](Self::distribute), they allocate nothing from the second pair on. Alone, each call
    /// allocates buffers on threads that send, since these get none back. *Panics* on a wrong length.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn collect(&self, own: &[f64], all: &mut [f64]) -> Result<(), CommError> {
        let b = self.layout.block();
        let first = self.first() as usize * b;
        all[first..first + own.len()].copy_from_slice(own);
        collectives::collect(&self.comm, |rank| self.layout.start(rank) as usize * b, all)
    }

    /// Writes the entries of each rank of the vector `all` of rank 0 to `own`; the reverse of
    /// [`collect`](Self::collect). `all` of other ranks is overwritten. *Panics* on a wrong length.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn distribute(&self, all: &mut [f64], own: &mut [f64]) -> Result<(), CommError> {
        let b = self.layout.block();
        let first = self.first() as usize * b;
        collectives::scatter(&self.comm, |rank| self.layout.start(rank) as usize * b, all)?;
        own.copy_from_slice(&all[first..first + own.len()]);
        Ok(())
    }

    /// The part of this rank of a vector that every rank holds completely. *Use* in tests and small programs.
    ///
    /// # Errors
    /// [`DistError::Length`] if `all` has another length than the layout.
    pub fn part_of<T: Real>(self: &Arc<Self>, all: &[T]) -> Result<DistVector<C, T>, DistError> {
        let (expected, found) = (self.layout.unknowns(), all.len());
        if found != expected {
            return Err(DistError::Length { what: "the whole vector", expected, found });
        }
        let first = self.first() as usize * self.layout.block();
        self.vector(all[first..first + self.count() * self.layout.block()].to_vec())
    }
}
