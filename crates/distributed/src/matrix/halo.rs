//! Halo lists: which entries of x each rank sends to each neighbour.

use std::ops::Range;

use coarsen_core::Real;

use super::split::Ghosts;
use crate::{CommError, Communicator, Partition, Stage, pack, unpack};

const LISTS: Stage = Stage::new(Stage::RESERVED + 5, "the halo lists");
const HALO: Stage = Stage::new(Stage::RESERVED + 6, "a halo exchange");

/// The neighbours of a rank, in increasing order.
pub(super) struct Halo {
    /// Each neighbour from which this rank receives, and the ghosts that it receives from it.
    pub(super) receives: Vec<(usize, Range<usize>)>,
    /// Each neighbour to which this rank sends, and the block rows of this rank that it sends.
    pub(super) sends: Vec<(usize, Vec<u32>)>,
}

impl Halo {
    /// Every rank asks the owners for its ghosts. All ranks call it.
    pub(super) fn new<C: Communicator>(partition: &Partition<C>, ghosts: &Ghosts) -> Result<Self, CommError> {
        let mut halo = Self { receives: Vec::new(), sends: Vec::new() };
        halo.renew(partition, &Ghosts::none(partition.layout().ranks()), ghosts)?;
        Ok(halo)
    }

    /// Changes the lists for the ghosts `before` to those for `ghosts`: every rank tells which of its lists have changed
    /// and how long they are, and sends those alone. All ranks call it.
    pub(super) fn renew<C: Communicator>(
        &mut self,
        partition: &Partition<C>,
        before: &Ghosts,
        ghosts: &Ghosts,
    ) -> Result<(), CommError> {
        let (comm, ranks) = (partition.comm(), 0..partition.layout().ranks());
        let changed = || ranks.clone().filter(|rank| before.of_rank(*rank) != ghosts.of_rank(*rank));
        let mut news = Vec::new();
        pack(changed().flat_map(|rank| [rank as u64, ghosts.of_rank(rank).len() as u64]), &mut news);
        let news = comm.all_gather(&news)?;
        for rank in changed().filter(|rank| !ghosts.of_rank(*rank).is_empty()) {
            let mut list = Vec::new();
            pack(ghosts.of_rank(rank).iter().copied(), &mut list);
            comm.send(rank, LISTS, list)?;
        }
        let with_any = ghosts.of_rank.iter().cloned().enumerate().filter(|(_, range)| !range.is_empty());
        self.receives = with_any.collect();
        for (rank, news) in news.iter().enumerate() {
            let news: Vec<u64> = unpack(news).collect();
            let Some(pair) = news.chunks_exact(2).find(|pair| pair[0] == partition.rank() as u64) else {
                continue;
            };
            self.sends.retain(|(to, _)| *to != rank);
            if pair[1] > 0 {
                let list = comm.wait(comm.receive(rank, LISTS, 8 * pair[1] as usize)?)?;
                let rows = unpack::<u64>(&list).map(|row| (row - partition.first()) as u32).collect();
                self.sends.push((rank, rows));
            }
        }
        self.sends.sort_unstable_by_key(|(to, _)| *to);
        Ok(())
    }

    /// Begins the exchange: sends the entries of x, in blocks of `c`, and makes one receive per neighbour.
    pub(super) fn begin<C: Communicator, T: Real>(
        &self,
        comm: &C,
        x: &[T],
        c: usize,
        requests: &mut Vec<C::Request>,
    ) -> Result<(), CommError> {
        self.receive::<C, T>(comm, c, requests)?;
        for (rank, rows) in &self.sends {
            let mut data = comm.buffer(rows.len() * c * size_of::<T>());
            pack(rows.iter().flat_map(|&row| &x[row as usize * c..][..c]).copied(), &mut data);
            comm.send(*rank, HALO, data)?;
        }
        Ok(())
    }

    fn receive<C: Communicator, T: Real>(
        &self,
        comm: &C,
        c: usize,
        requests: &mut Vec<C::Request>,
    ) -> Result<(), CommError> {
        requests.clear();
        for (rank, range) in &self.receives {
            requests.push(comm.receive(*rank, HALO, range.len() * c * size_of::<T>())?);
        }
        Ok(())
    }

    /// Begins the exchange with the entries that this rank sends, neighbour after neighbour.
    pub(super) fn begin_gathered<C: Communicator, T: Real>(
        &self,
        comm: &C,
        entries: &[T],
        c: usize,
        requests: &mut Vec<C::Request>,
    ) -> Result<(), CommError> {
        self.receive::<C, T>(comm, c, requests)?;
        let mut rest = entries;
        for (rank, rows) in &self.sends {
            let (of_rank, after) = rest.split_at(rows.len() * c);
            let mut data = comm.buffer(size_of_val(of_rank));
            pack(of_rank.iter().copied(), &mut data);
            comm.send(*rank, HALO, data)?;
            rest = after;
        }
        Ok(())
    }

    /// The number of block rows that this rank sends per exchange.
    pub(super) fn sent(&self) -> usize {
        self.sends.iter().map(|(_, rows)| rows.len()).sum()
    }
}
