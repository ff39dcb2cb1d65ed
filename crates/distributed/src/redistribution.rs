//! Vectors between two divisions of the same rows.

use std::ops::Range;
use std::sync::Arc;

use crate::{CommError, Communicator, DistError, Layout, Partition, Stage, pack, unpack};

const ROWS: Stage = Stage::new(Stage::RESERVED + 13, "entries in another division of the rows");

/// The rows that change their rank between two partitions of the same rows.
///
/// *Use* for a method that needs whole pieces of a vector on one rank, such as blocks of 1024 rows, whatever the
/// layout of the program is. *Cost* one message for each pair of ranks that exchange rows; no setup message.
///
/// ```
/// use std::time::Duration;
/// use coarsen_distributed::{Layout, Partition, Redistribution, ThreadComm};
/// let moved = ThreadComm::run(2, Duration::from_secs(10), |comm| {
///     let from = Partition::new(comm.clone(), Layout::new(vec![0, 1, 4], 1)?)?;
///     let to = Partition::new(comm, Layout::new(vec![0, 2, 4], 1)?)?;
///     let redistribution = Redistribution::new(&from, &to)?;
///     let mine = if from.rank() == 0 { vec![0.0] } else { vec![1.0, 2.0, 3.0] };
///     let mut here = vec![0.0; 2];
///     redistribution.forward(&mine, &mut here)?;
///     Ok::<_, coarsen_distributed::DistError>(here)
/// });
/// assert_eq!(moved, [Ok(Ok(vec![0.0, 1.0])), Ok(Ok(vec![2.0, 3.0]))]);
/// ```
pub struct Redistribution<C: Communicator> {
    forward: RedistributionPlan<C>,
    back: RedistributionPlan<C>,
}

/// One direction of a [`Redistribution`]. *Use* if the entries are elsewhere than in the memory of the host: the rows of
/// [`kept`](Self::kept) are moved there, those of [`sent`](Self::sent) go through [`send`](Self::send), and
/// [`receive`](Self::receive) gives the others.
pub struct RedistributionPlan<C: Communicator> {
    from: Arc<Partition<C>>,
    /// Own rows that stay on this rank, and where they begin afterwards.
    kept: (Range<usize>, usize),
    /// Ranks that take rows of this rank, and ranks whose rows this rank takes, each with the own rows.
    given: Vec<(usize, Range<usize>)>,
    taken: Vec<(usize, Range<usize>)>,
}

impl<C: Communicator> Redistribution<C> {
    /// From the partition `from` to the partition `to`.
    ///
    /// # Errors
    /// [`DistError::Communicators`], [`DistError::Length`] for partitions of different numbers of unknowns.
    pub fn new(from: &Arc<Partition<C>>, to: &Arc<Partition<C>>) -> Result<Self, DistError> {
        if !from.comm().is_same(to.comm()) {
            return Err(DistError::Communicators);
        }
        for (what, expected, found) in [
            ("block rows of the other partition", from.layout().rows() as usize, to.layout().rows() as usize),
            ("unknowns of a block row of the other partition", from.layout().block(), to.layout().block()),
        ] {
            if expected != found {
                return Err(DistError::Length { what, expected, found });
            }
        }
        Ok(Self {
            forward: RedistributionPlan::new(from, to.layout()),
            back: RedistributionPlan::new(to, from.layout()),
        })
    }

    /// The directions: from the first partition to the second, and back.
    pub fn plans(&self) -> [&RedistributionPlan<C>; 2] {
        [&self.forward, &self.back]
    }

    /// The entries of this rank in the second partition, from those in the first. All ranks call it.
    /// *Panics* on a wrong length.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn forward(&self, from: &[f64], into: &mut [f64]) -> Result<(), CommError> {
        self.forward.carry(from, into)
    }

    /// The entries of this rank in the first partition, from those in the second. All ranks call it.
    /// *Panics* on a wrong length.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn back(&self, from: &[f64], into: &mut [f64]) -> Result<(), CommError> {
        self.back.carry(from, into)
    }
}

impl<C: Communicator> RedistributionPlan<C> {
    fn new(from: &Arc<Partition<C>>, to: &Layout) -> Self {
        let rank = from.rank();
        let common = |mine: &Layout, other: &Layout| -> Vec<(usize, Range<usize>)> {
            let own = mine.range(rank);
            let meet = |rank: usize| {
                let range = other.range(rank);
                let [start, end] = [own.start.max(range.start), own.end.min(range.end)];
                (rank, start.saturating_sub(own.start) as usize..end.saturating_sub(own.start) as usize)
            };
            (0..other.ranks()).map(meet).filter(|(_, rows)| !rows.is_empty()).collect()
        };
        let (mut given, mut taken) = (common(from.layout(), to), common(to, from.layout()));
        let own = |all: &[(usize, Range<usize>)]| {
            all.iter().find(|(of, _)| *of == rank).map(|(_, rows)| rows.clone())
        };
        let kept = (own(&given).unwrap_or_default(), own(&taken).unwrap_or_default().start);
        [&mut given, &mut taken].into_iter().for_each(|all| all.retain(|(of, _)| *of != rank));
        Self { from: from.clone(), kept, given, taken }
    }

    /// The block rows of this rank that stay, and the block row that the first of them is afterwards.
    pub fn kept(&self) -> (Range<usize>, usize) {
        self.kept.clone()
    }

    /// The block rows of this rank that other ranks take, rank by rank.
    pub fn sent(&self) -> Vec<u32> {
        self.given.iter().flat_map(|(_, rows)| rows.clone()).map(|row| row as u32).collect()
    }

    /// Sends the entries of [`sent`](Self::sent). *Panics* on another length.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn send(&self, entries: &[f64]) -> Result<(), CommError> {
        let (mut rest, b) = (entries, self.from.layout().block());
        let expected = self.given.iter().map(|(_, rows)| rows.len() * b).sum::<usize>();
        assert_eq!(entries.len(), expected, "send: entries of the rows that other ranks take");
        for (rank, rows) in &self.given {
            let (of_rank, after) = rest.split_at(rows.len() * b);
            self.post(*rank, of_rank)?;
            rest = after;
        }
        Ok(())
    }

    fn post(&self, rank: usize, entries: &[f64]) -> Result<(), CommError> {
        let mut data = self.from.comm().buffer(size_of_val(entries));
        pack(entries.iter().copied(), &mut data);
        self.from.comm().send(rank, ROWS, data).map(drop)
    }

    /// Waits for the rows of each rank, and calls `with` on where their entries begin among the own ones, and on the
    /// entries as [`pack`] puts them in a message.
    ///
    /// # Errors
    /// Those of `with`, and errors of communication.
    pub fn receive(
        &self,
        mut with: impl FnMut(usize, &[u8]) -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        let (comm, b) = (self.from.comm(), self.from.layout().block());
        for (rank, rows) in &self.taken {
            let data = comm.wait(comm.receive(*rank, ROWS, rows.len() * b * size_of::<f64>())?)?;
            with(rows.start * b, &data)?;
            comm.recycle(data);
        }
        Ok(())
    }

    fn carry(&self, from: &[f64], into: &mut [f64]) -> Result<(), CommError> {
        let b = self.from.layout().block();
        for (rank, rows) in &self.given {
            self.post(*rank, &from[rows.start * b..rows.end * b])?;
        }
        let (rows, at) = &self.kept;
        into[at * b..(at + rows.len()) * b].copy_from_slice(&from[rows.start * b..rows.end * b]);
        self.receive(|first, data| {
            into[first..].iter_mut().zip(unpack(data)).for_each(|(to, v)| *to = v);
            Ok(())
        })
    }
}
