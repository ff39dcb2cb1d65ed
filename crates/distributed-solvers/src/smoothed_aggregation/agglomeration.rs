//! A coarse level on fewer ranks: the first of each group of consecutive ranks takes the rows of its group.
//!
//! Rows keep their numbers, so that prolongation, Galerkin product and transpose need no message for it: they send their
//! entries to the new owners.

use std::sync::Arc;

use coarsen_distributed::{Communicator, DistError, Layout, Partition, agree, pack, unpack};
use coarsen_sparse::NearKernel;

/// The rows of `partition` with on average at least `share` scalar unknowns for each rank that has any, if there are as many.
pub(crate) fn agglomerate<C: Communicator>(
    partition: &Arc<Partition<C>>,
    share: usize,
) -> Result<Arc<Partition<C>>, DistError> {
    let (layout, ranks) = (partition.layout(), partition.layout().ranks());
    let active = (layout.unknowns() / share.max(1)).clamp(1, ranks);
    let group = ranks.div_ceil(active);
    if group == 1 {
        return Ok(partition.clone());
    }
    // The first rank of a group begins where the group does, the others where it ends.
    let start = |rank: usize| match rank.next_multiple_of(group) {
        first if first < ranks => layout.range(first).start,
        _ => layout.rows(),
    };
    let starts = (0..ranks).map(start).chain([layout.rows()]).collect();
    Partition::new(partition.comm().clone(), Layout::new(starts, layout.block())?)
}

/// The near-kernel and the numbers of the unknowns without a basis function of the rows `to`, from those of the rows `from`.
/// All ranks call it.
pub(crate) fn moved<C: Communicator>(
    from: &Partition<C>,
    to: &Partition<C>,
    near_kernel: NearKernel,
    without_basis: Vec<u32>,
) -> Result<(NearKernel, Vec<u32>), DistError> {
    if from.layout() == to.layout() {
        return Ok((near_kernel, without_basis));
    }
    let (mine, wanted, b) =
        (from.layout().range(from.rank()), to.layout().range(to.rank()), from.layout().block());
    let width = b * near_kernel.vectors();
    let reply = |row: u64, bytes: &mut Vec<u8>| {
        let k = (row - mine.start) as usize;
        pack(near_kernel.values()[k * width..(k + 1) * width].iter().copied(), bytes);
        bytes
            .extend((k * b..(k + 1) * b).map(|i| u8::from(without_basis.binary_search(&(i as u32)).is_ok())));
    };
    let others: Vec<u64> = wanted.clone().filter(|row| !mine.contains(row)).collect();
    let mut told = from.fetch(&others, reply)?.into_iter();
    let (mut values, mut without) = (Vec::new(), Vec::new());
    for (k, row) in wanted.enumerate() {
        let mut bytes = Vec::new();
        match mine.contains(&row) {
            true => reply(row, &mut bytes),
            false => bytes = told.next().unwrap_or_default(),
        }
        let (kernel, flags) = bytes.split_at(8 * width);
        values.extend(unpack::<f64>(kernel));
        let flagged = flags.iter().enumerate().filter(|(_, flag)| **flag > 0);
        without.extend(flagged.map(|(i, _)| (k * b + i) as u32));
    }
    let moved = NearKernel::from_rows(near_kernel.vectors(), values);
    let moved = agree(to.comm(), moved.map_err(|error| DistError::Setup(error.into())))?;
    Ok((moved, without))
}
