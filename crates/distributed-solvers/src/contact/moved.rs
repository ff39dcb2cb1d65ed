//! Positions that changed, from their owners to all ranks.

use coarsen_distributed::{CommError, Communicator, Partition, pack, unpack};

/// Gives the new positions of own nodes to all ranks; only nodes that moved are sent. `all` has the positions of all
/// block rows, three scalars each and equal on all ranks, and `own` those of this rank. Afterwards `all` is the same on
/// all ranks. Returns the number of nodes of this rank that moved. All ranks call it.
///
/// *Cost* one gather of 28 bytes per node that moved. *Panics* on wrong lengths. *Reference* Li et al. 2020, "P-Cloth",
/// §4.3.
///
/// # Errors
/// Errors of communication. `all` is then unchanged.
///
/// ```
/// use coarsen_distributed::{Layout, Partition, SelfComm};
/// let partition = Partition::new(SelfComm, Layout::even(2, 3, 1)?)?;
/// let mut all = [0.0; 6];
/// assert_eq!(coarsen_distributed_solvers::share_moved(&partition, &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0], &mut all)?, 1);
/// assert_eq!(all[3..], [1.0, 2.0, 3.0]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub fn share_moved<C: Communicator>(
    partition: &Partition<C>,
    own: &[f64],
    all: &mut [f64],
) -> Result<usize, CommError> {
    assert_eq!(own.len(), 3 * partition.count(), "share_moved: wrong length of own positions");
    assert_eq!(
        all.len(),
        3 * partition.layout().rows() as usize,
        "share_moved: wrong length of all positions"
    );
    let first = 3 * partition.first() as usize;
    let before = all[first..first + own.len()].chunks_exact(3);
    // Bits, so that a NaN is sent and a changed sign of 0 too.
    let differ = |a: &[f64], b: &[f64]| a.iter().zip(b).any(|(a, b)| a.to_bits() != b.to_bits());
    let moved: Vec<u32> = own
        .chunks_exact(3)
        .zip(before)
        .enumerate()
        .filter(|(_, (now, before))| differ(now, before))
        .map(|(row, _)| row as u32)
        .collect();
    let mut message = Vec::with_capacity(8 + 28 * moved.len());
    pack([moved.len() as u64], &mut message);
    pack(moved.iter().flat_map(|&row| [0, 1, 2].map(|c| own[3 * row as usize + c])), &mut message);
    pack(moved.iter().copied(), &mut message);
    let parts = partition.comm().all_gather(&message)?;
    for (rank, part) in parts.iter().enumerate() {
        let (head, rest) = part.split_at(8);
        let count = unpack::<u64>(head).next().unwrap_or_default() as usize;
        let (numbers, rows) = rest.split_at(24 * count);
        let first = 3 * partition.layout().range(rank).start as usize;
        let mut numbers = unpack::<f64>(numbers);
        for row in unpack::<u32>(rows) {
            let to = &mut all[first + 3 * row as usize..][..3];
            to.iter_mut().zip(&mut numbers).for_each(|(to, v)| *to = v);
        }
    }
    Ok(moved.len())
}
