//! Data of block rows of other ranks, on demand.

use crate::{CommError, Communicator, Partition, Stage, pack, unpack};

const WANTED: Stage = Stage::new(Stage::RESERVED + 8, "the rows wanted of other ranks");
const LENGTH: Stage = Stage::new(Stage::RESERVED + 9, "the lengths of rows of other ranks");
const ROWS: Stage = Stage::new(Stage::RESERVED + 10, "the rows of other ranks");

impl<C: Communicator> Partition<C> {
    /// Data of block rows that other ranks own: `reply(row, bytes)` appends the data of an own row, and the result
    /// has the bytes of each of the `wanted` rows. These are increasing, and none is a row of this rank. All ranks
    /// call it.
    ///
    /// *Cost* one gather of n counts, and three messages between ranks of which one wants rows of the other.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn fetch(
        &self,
        wanted: &[u64],
        mut reply: impl FnMut(u64, &mut Vec<u8>),
    ) -> Result<Vec<Vec<u8>>, CommError> {
        let (comm, ranks) = (self.comm(), self.layout().ranks());
        let of_rank = |rank: usize| {
            let range = self.layout().range(rank);
            wanted.partition_point(|&row| row < range.start)..wanted.partition_point(|&row| row < range.end)
        };
        let mut counts = Vec::new();
        pack((0..ranks).map(|rank| of_rank(rank).len() as u64), &mut counts);
        let counts = comm.all_gather(&counts)?;
        for rank in (0..ranks).filter(|&rank| !of_rank(rank).is_empty()) {
            let mut list = Vec::new();
            pack(wanted[of_rank(rank)].iter().copied(), &mut list);
            comm.send(rank, WANTED, list)?;
        }
        for (rank, counts) in counts.iter().enumerate() {
            let count = unpack::<u64>(counts).nth(self.rank()).unwrap_or_default() as usize;
            if count > 0 {
                let list = comm.wait(comm.receive(rank, WANTED, 8 * count)?)?;
                let (mut message, mut row) = (Vec::new(), Vec::new());
                for wanted in unpack::<u64>(&list) {
                    row.clear();
                    reply(wanted, &mut row);
                    pack([row.len() as u64], &mut message);
                    message.extend_from_slice(&row);
                }
                let mut length = Vec::new();
                pack([message.len() as u64], &mut length);
                comm.send(rank, LENGTH, length)?;
                comm.send(rank, ROWS, message)?;
            }
        }
        let mut rows = Vec::with_capacity(wanted.len());
        for rank in (0..ranks).filter(|&rank| !of_rank(rank).is_empty()) {
            let length = comm.wait(comm.receive(rank, LENGTH, 8)?)?;
            let bytes = unpack::<u64>(&length).next().unwrap_or_default() as usize;
            let message = comm.wait(comm.receive(rank, ROWS, bytes)?)?;
            let mut rest = &message[..];
            while let Some((head, after)) = rest.split_at_checked(8) {
                let (row, after) = after.split_at(unpack::<u64>(head).next().unwrap_or_default() as usize);
                rows.push(row.to_vec());
                rest = after;
            }
        }
        Ok(rows)
    }
}
