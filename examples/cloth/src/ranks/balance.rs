//! Rows that are divided again where ranks differ in work.

use coarsen_distributed::{Communicator, Layout, Partition, pack, unpack};
use examples_run::Failure;

/// The layout for later steps, by [`Layout::rebalanced`], and the imbalance before and after. `work` has the stored blocks of
/// each row of this rank, or nothing before the first step. All ranks call it.
///
/// # Errors
/// Errors of communication.
pub(super) fn divided<C: Communicator>(
    on: &Partition<C>,
    work: &[u64],
) -> Result<(Layout, [f64; 2]), Failure> {
    let (mut own, now) = (Vec::with_capacity(8 * work.len()), on.layout());
    pack(work.iter().copied(), &mut own);
    let weights: Vec<u64> = on.comm().all_gather(&own)?.iter().flat_map(|part| unpack::<u64>(part)).collect();
    if weights.len() as u64 != now.rows() {
        return Ok((now.clone(), [0.0; 2]));
    }
    let before = now.imbalance(&weights);
    Ok(match now.rebalanced(&weights)? {
        Some(new) => {
            let after = new.imbalance(&weights);
            (new, [before, after])
        }
        None => (now.clone(), [before; 2]),
    })
}
