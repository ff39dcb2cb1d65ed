//! A layout on the ranks of a communicator.

use std::sync::Arc;

use crate::{Communicator, DistError, DistVector, Layout, Number, check_equal, pack};

/// The ranks that share vectors, and the block rows of each.
///
/// All vectors and matrices that are combined refer to equal partitions.
#[derive(Debug)]
pub struct Partition<C> {
    comm: C,
    layout: Layout,
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
        Ok(Arc::new(Self { comm, layout }))
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
    pub fn vector<T: Number>(self: &Arc<Self>, own: Vec<T>) -> Result<DistVector<C, T>, DistError> {
        DistVector::new(self.clone(), own)
    }

    /// The part of this rank of a vector that every rank holds completely. *Use* in tests and small programs.
    ///
    /// # Errors
    /// [`DistError::Length`] if `all` has another length than the layout.
    pub fn part_of<T: Number>(self: &Arc<Self>, all: &[T]) -> Result<DistVector<C, T>, DistError> {
        let (expected, found) = (self.layout.unknowns(), all.len());
        if found != expected {
            return Err(DistError::Length { what: "the whole vector", expected, found });
        }
        let first = self.first() as usize * self.layout.block();
        self.vector(all[first..first + self.count() * self.layout.block()].to_vec())
    }
}
