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
/// use coarsen_distributed::{Layout, Partition, Relayout, ThreadComm};
/// let moved = ThreadComm::run(2, Duration::from_secs(10), |comm| {
///     let from = Partition::new(comm.clone(), Layout::new(vec![0, 1, 4], 1)?)?;
///     let to = Partition::new(comm, Layout::new(vec![0, 2, 4], 1)?)?;
///     let relayout = Relayout::new(&from, &to)?;
///     let mine = if from.rank() == 0 { vec![0.0] } else { vec![1.0, 2.0, 3.0] };
///     let mut here = vec![0.0; 2];
///     relayout.forward(&mine, &mut here)?;
///     Ok::<_, coarsen_distributed::DistError>(here)
/// });
/// assert_eq!(moved, [Ok(Ok(vec![0.0, 1.0])), Ok(Ok(vec![2.0, 3.0]))]);
/// ```
pub struct Relayout<C: Communicator> {
    on: Arc<Partition<C>>,
    to: Arc<Partition<C>>,
    /// Ranks that take rows of this rank, and ranks whose rows this rank takes, each with the rows.
    given: Vec<(usize, Range<u64>)>,
    taken: Vec<(usize, Range<u64>)>,
}

impl<C: Communicator> Relayout<C> {
    /// From the partition `on` to the partition `to`.
    ///
    /// # Errors
    /// [`DistError::Communicators`], [`DistError::Length`] for partitions of different numbers of unknowns.
    pub fn new(on: &Arc<Partition<C>>, to: &Arc<Partition<C>>) -> Result<Self, DistError> {
        if !on.comm().is_same(to.comm()) {
            return Err(DistError::Communicators);
        }
        for (what, expected, found) in [
            ("block rows of the other partition", on.layout().rows() as usize, to.layout().rows() as usize),
            ("unknowns of a block row of the other partition", on.layout().block(), to.layout().block()),
        ] {
            if expected != found {
                return Err(DistError::Length { what, expected, found });
            }
        }
        let common = |mine: &Layout, other: &Layout| {
            let own = mine.range(on.rank());
            let meet = |rank: usize| {
                let range = other.range(rank);
                (rank, own.start.max(range.start)..own.end.min(range.end))
            };
            (0..other.ranks()).map(meet).filter(|(_, rows)| rows.start < rows.end).collect()
        };
        let (given, taken) = (common(on.layout(), to.layout()), common(to.layout(), on.layout()));
        Ok(Self { on: on.clone(), to: to.clone(), given, taken })
    }

    /// The entries of this rank in the partition `to`, from those in the partition `on`. All ranks call it.
    /// *Panics* on a wrong length.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn forward(&self, from: &[f64], into: &mut [f64]) -> Result<(), CommError> {
        exchange(&self.on, &self.to, [&self.given, &self.taken], from, into)
    }

    /// The entries of this rank in the partition `on`, from those in the partition `to`. All ranks call it.
    /// *Panics* on a wrong length.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn back(&self, from: &[f64], into: &mut [f64]) -> Result<(), CommError> {
        exchange(&self.to, &self.on, [&self.taken, &self.given], from, into)
    }
}

fn exchange<C: Communicator>(
    on: &Partition<C>,
    to: &Partition<C>,
    [given, taken]: [&[(usize, Range<u64>)]; 2],
    from: &[f64],
    into: &mut [f64],
) -> Result<(), CommError> {
    let (comm, b) = (on.comm(), on.layout().block());
    let place = |of: &Partition<C>, rows: &Range<u64>| {
        (rows.start - of.first()) as usize * b..(rows.end - of.first()) as usize * b
    };
    for (rank, rows) in given {
        let own = &from[place(on, rows)];
        if *rank == comm.rank() {
            into[place(to, rows)].copy_from_slice(own);
        } else {
            let mut data = comm.buffer(size_of_val(own));
            pack(own.iter().copied(), &mut data);
            comm.send(*rank, ROWS, data)?;
        }
    }
    for (rank, rows) in taken.iter().filter(|(rank, _)| *rank != comm.rank()) {
        let into = &mut into[place(to, rows)];
        let data = comm.wait(comm.receive(*rank, ROWS, size_of_val(into))?)?;
        into.iter_mut().zip(unpack(&data)).for_each(|(to, v)| *to = v);
        comm.recycle(data);
    }
    Ok(())
}
