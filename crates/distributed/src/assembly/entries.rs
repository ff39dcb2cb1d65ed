//! Assembly from entries that any rank sets.

use std::sync::Arc;

use coarsen_core::Real;

use crate::agree::agree;
use crate::{Communicator, DistError, GlobalRows, Partition, Stage, pack, unpack};

const ENTRIES: Stage = Stage::new(Stage::RESERVED + 7, "the entries of other ranks");

/// Entries of a matrix for the owners of their rows.
///
/// ```
/// use coarsen_distributed::{Entries, Layout, Partition, SelfComm};
/// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let mut entries = Entries::new(&partition, 2, 1);
/// entries.add(1, 0, &[2.0])?;
/// entries.add(1, 0, &[3.0])?;
/// let rows = entries.finish()?;
/// assert_eq!(rows.row(1).collect::<Vec<_>>(), [(0, &[5.0][..])]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct Entries<C: Communicator, T = f64> {
    partition: Arc<Partition<C>>,
    columns: u64,
    block: (usize, usize),
    /// The block positions and values for each owner, in the order of calls.
    places: Vec<Vec<[u64; 2]>>,
    values: Vec<Vec<T>>,
}

impl<C: Communicator, T: Real> Entries<C, T> {
    /// No entries yet, of a matrix with the rows of `partition` and `columns` block columns of `c` unknowns.
    pub fn new(partition: &Arc<Partition<C>>, columns: u64, c: usize) -> Self {
        let ranks = partition.layout().ranks();
        let (places, values) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
        Self { partition: partition.clone(), columns, block: (partition.layout().block(), c), places, values }
    }

    /// Adds a row-major block to block (i, j), whichever rank owns row i.
    ///
    /// # Errors
    /// [`DistError::Row`] or [`DistError::Column`] outside the matrix, [`DistError::Length`] for a block of
    /// another size. The entries are then unchanged.
    pub fn add(&mut self, i: u64, j: u64, block: &[T]) -> Result<(), DistError> {
        let layout = self.partition.layout();
        if i >= layout.rows() {
            return Err(DistError::Row { row: i, rank: self.partition.rank(), first: 0, end: layout.rows() });
        }
        if j >= self.columns {
            return Err(DistError::Column { row: i, column: j, columns: self.columns });
        }
        let (expected, found) = (self.block.0 * self.block.1, block.len());
        if found != expected {
            return Err(DistError::Length { what: "a block of an entry", expected, found });
        }
        let owner = layout.owner(i);
        self.places[owner].push([i, j]);
        self.values[owner].extend_from_slice(block);
        Ok(())
    }

    /// Sends the entries to the owners and returns the rows of this rank. Duplicates are summed by rank, then
    /// in the order of calls. All ranks call it.
    ///
    /// *Cost* one gather of n counts, and a message to each rank for which there are entries.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn finish(self) -> Result<GlobalRows<T>, DistError> {
        let (comm, rank) = (self.partition.comm(), self.partition.rank());
        let (block, size) = (self.block, self.block.0 * self.block.1);
        let mut counts = Vec::new();
        pack(self.places.iter().map(|places| places.len() as u64), &mut counts);
        let counts = comm.all_gather(&counts)?;
        for (to, (places, values)) in self.places.iter().zip(&self.values).enumerate() {
            if to != rank && !places.is_empty() {
                let mut message = Vec::with_capacity(size_of_val(&places[..]) + size_of_val(&values[..]));
                pack(places.as_flattened().iter().copied(), &mut message);
                pack(values.iter().copied(), &mut message);
                comm.send(to, ENTRIES, message)?;
            }
        }
        let (mut places, mut values) = (Vec::new(), Vec::new());
        for (from, counts) in counts.iter().enumerate() {
            let count = unpack::<u64>(counts).nth(rank).unwrap_or_default() as usize;
            if from == rank {
                places.extend_from_slice(&self.places[rank]);
                values.extend_from_slice(&self.values[rank]);
            } else if count > 0 {
                let bytes = count * (16 + size * size_of::<T>());
                let message = comm.wait(comm.receive(from, ENTRIES, bytes)?)?;
                let (head, body) = message.split_at(16 * count);
                places.extend_from_slice(unpack::<u64>(head).collect::<Vec<_>>().as_chunks::<2>().0);
                values.extend(unpack::<T>(body));
            }
        }
        agree(comm, compress(self.partition.first(), self.partition.count(), block, &places, &values))
    }
}

/// Sorts the entries by row and column and sums duplicates in their order.
fn compress<T: Real>(
    first: u64,
    count: usize,
    block: (usize, usize),
    places: &[[u64; 2]],
    values: &[T],
) -> Result<GlobalRows<T>, DistError> {
    let size = block.0 * block.1;
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&k| places[k]); // stable
    let (mut offsets, mut columns, mut sums) = (vec![0; count + 1], Vec::new(), Vec::<T>::new());
    let mut last = None;
    for k in order {
        let (place, block) = (places[k], &values[k * size..(k + 1) * size]);
        if last == Some(place) {
            let start = sums.len() - size;
            sums[start..].iter_mut().zip(block).for_each(|(sum, v)| *sum += *v);
            continue;
        }
        last = Some(place);
        columns.push(place[1]);
        sums.extend_from_slice(block);
        offsets[(place[0] - first) as usize + 1] = columns.len();
    }
    for k in 0..count {
        offsets[k + 1] = offsets[k + 1].max(offsets[k]); // rows without entries
    }
    GlobalRows::new(first, block, offsets, columns, sums)
}
