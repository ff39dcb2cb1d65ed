//! Rows that are divided again where ranks differ in work.

use coarsen_distributed::{Communicator, Layout, Partition, pack, unpack};
use examples_common::Failure;

use super::step::LEAF;

/// Rows are divided again if a rank has this share of work above the mean.
const IMBALANCE: f64 = 0.1;

/// The layout for later steps, and the imbalance before and after: a new layout if the imbalance is above a tenth and a new one
/// has less. `work` has the stored blocks of each row of this rank, or nothing before the first step. All ranks call it.
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
    let new = Layout::balanced(&weights, now.block(), now.ranks(), LEAF)?;
    let [before, after] = [now, &new].map(|layout| layout.imbalance(&weights));
    match before > IMBALANCE && after < before {
        true => Ok((new, [before, after])),
        false => Ok((now.clone(), [before; 2])),
    }
}
