//! The rows of all ranks on one rank.

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern};

use crate::agree::agree;
use crate::{Communicator, DistError, GlobalRows, Partition, pack, unpack};

impl<T: Real> GlobalRows<T> {
    /// The whole matrix on rank 0, and `None` on other ranks. It has `columns` block columns. All ranks call it.
    ///
    /// *Use* for a coarse level that one rank solves. *Cost* all entries pass along a binomial tree. *Panics* if ranks
    /// call it for different types `T`.
    ///
    /// # Errors
    /// On every rank: a column outside the matrix, or more rows or columns than `u32` numbers; errors of
    /// communication.
    pub fn collect<C: Communicator>(
        &self,
        partition: &Partition<C>,
        columns: u64,
    ) -> Result<Option<Bsr<T>>, DistError> {
        let mut message = Vec::new();
        pack([self.count() as u64, self.columns().len() as u64], &mut message);
        pack((0..self.count()).map(|k| self.row(k).count() as u64), &mut message);
        pack(self.columns().iter().copied(), &mut message);
        pack(self.values().iter().copied(), &mut message);
        let parts = partition.comm().gather(0, &message)?;
        agree(partition.comm(), parts.map(|parts| join(&parts, self.block(), columns)).transpose())
    }

    /// The values of [`collect`](Self::collect) alone, in its order. All ranks call it.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn collect_values<C: Communicator>(
        &self,
        partition: &Partition<C>,
    ) -> Result<Option<Vec<T>>, DistError> {
        let mut message = Vec::new();
        pack(self.values().iter().copied(), &mut message);
        let parts = partition.comm().gather(0, &message)?;
        Ok(parts.map(|parts| parts.iter().flat_map(|part| unpack::<T>(part)).collect()))
    }
}

fn join<T: Real>(parts: &[Vec<u8>], block: (usize, usize), columns: u64) -> Result<Bsr<T>, DistError> {
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for part in parts {
        let (head, rest) = part.split_at(16);
        let counts: Vec<u64> = unpack(head).collect();
        let (lengths, rest) = rest.split_at(8 * counts[0] as usize);
        let (places, rest) = rest.split_at(8 * counts[1] as usize);
        for length in unpack::<u64>(lengths) {
            offsets.push(offsets[offsets.len() - 1] + length as usize);
        }
        // A column that does not fit u32 is above `columns`, which `Pattern::new` then refuses.
        indices.extend(unpack::<u64>(places).map(|j| u32::try_from(j).unwrap_or(u32::MAX)));
        values.extend(unpack::<T>(rest));
    }
    Ok(Bsr::new(Arc::new(Pattern::new(columns as usize, offsets, indices)?), block, values)?)
}
