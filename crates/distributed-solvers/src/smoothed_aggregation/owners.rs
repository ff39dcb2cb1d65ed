//! Rows to which several ranks contribute, for their owners.

use std::sync::Arc;

use coarsen_distributed::{Communicator, DistError, Entries, GlobalRows, Partition};
use coarsen_sparse::Bsr;

/// The own rows of the sum of the matrices of all ranks, which has `width` block columns. The rows and columns of the matrix
/// `a` of this rank have the increasing numbers `rows` and `columns`. All ranks call it.
///
/// *Cost* a copy of the rows to which other ranks contribute; messages hold rows of other ranks alone.
pub(crate) fn to_owners<C: Communicator>(
    partition: &Arc<Partition<C>>,
    width: u64,
    (rows, columns): (&[u64], &[u64]),
    a: Bsr<f64>,
) -> Result<GlobalRows<f64>, DistError> {
    let range = partition.layout().range(partition.rank());
    let own = rows.partition_point(|&row| row < range.start)..rows.partition_point(|&row| row < range.end);
    let mut of_others = Entries::new(partition, width, a.block().1);
    for i in (0..own.start).chain(own.end..rows.len()) {
        for (j, block) in a.row(i) {
            of_others.add(rows[i], columns[j], block)?;
        }
    }
    let from_others = of_others.finish()?;
    let (pattern, block, mut values) = a.into_parts();
    let first = pattern.offsets()[own.start];
    let entries = first..pattern.offsets()[own.end];
    let mut offsets = Vec::with_capacity(partition.count() + 1);
    offsets.push(0);
    for i in own {
        // Rows that do not occur here are empty.
        let before = (rows[i] - range.start) as usize + 1;
        offsets.resize(before, offsets[offsets.len() - 1]);
        offsets.push(pattern.offsets()[i + 1] - first);
    }
    offsets.resize(partition.count() + 1, entries.len());
    let global = pattern.indices()[entries.clone()].iter().map(|&j| columns[j as usize]).collect();
    let size = block.0 * block.1;
    values.truncate(entries.end * size);
    values.drain(..entries.start * size);
    let here = GlobalRows::new(range.start, block, offsets, global, values)?;
    if from_others.columns().is_empty() { Ok(here) } else { here.plus(&from_others) }
}
