//! One coarsening step across ranks (Tamstorf 2015, Algorithm 3; step numbers at line ends).
//!
//! | message | between | bytes |
//! |---|---|---|
//! | rows of A, K and D⁻¹ of ghosts | neighbours | 8 b² + 8 per entry, and 8 b κ + 8 b² per node |
//! | counts and decisions | all | a few numbers |
//! | aggregates and rows of Q of ghosts | neighbours | 8 b κ per node |
//! | rows of P of ghosts, rows of PᵀAP and Pᵀ of other ranks | neighbours | in `galerkin` and `owners` |

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use coarsen_backend::DenseBlocks;
use coarsen_distributed::{CommError, Communicator, DistError, GlobalRows, Partition, agree, pack, unpack};
use coarsen_multigrid::{CoarseningEnd, Grid};
use coarsen_smoothed_aggregation::{Exchange, GhostNode, SmoothedAggregation};
use coarsen_sparse::{Bsr, NearKernel};

use super::agglomeration::{agglomerate, moved};
use super::extended::{Extended, trim};
use super::galerkin::Transfer;
use super::owners::to_owners;

/// The own rows of a level.
pub(crate) struct LevelRows<'a, C: Communicator> {
    pub(crate) partition: Arc<Partition<C>>,
    pub(crate) rows: Cow<'a, GlobalRows<f64>>,
    pub(crate) near_kernel: NearKernel,
    /// The number of finer levels.
    pub(crate) depth: usize,
    /// Whether weak couplings were left out on the finer level; true on the finest.
    pub(crate) filtered: bool,
}

/// The coarser level, and the transfers to it: P with the rows of the fine level, Pᵀ, and P with its ghosts.
pub(crate) struct Step<C: Communicator> {
    pub(crate) coarse: LevelRows<'static, C>,
    pub(crate) p: GlobalRows<f64>,
    pub(crate) transposed: GlobalRows<f64>,
    pub(crate) transfer: Transfer<C>,
}

/// A coarser level, or the end of coarsening, with the bound at which it ended if there is one.
pub(crate) type Coarsened<C> = ControlFlow<Option<CoarseningEnd>, Step<C>>;

/// Coarsens a level with a bound of ρ(D⁻¹A) and D⁻¹ of the own rows, unless that gives no level that is small enough. The coarser
/// level has on average at least `share` unknowns on each rank that has any. All ranks call it.
pub(crate) fn coarsen<C: Communicator>(
    parameters: &SmoothedAggregation,
    fine: &LevelRows<'_, C>,
    (radius, own_inverses): (f64, &DenseBlocks<f64>),
    share: usize,
) -> Result<Coarsened<C>, DistError> {
    let partition = &fine.partition;
    let local = Extended::new(partition, &fine.rows)?;
    let near_kernel = with_ghosts(partition, &local, &fine.near_kernel)?;
    let inverses = inverses(partition, &local, own_inverses)?;
    let grid = Grid {
        near_kernel: Some(&near_kernel),
        radius: Some(radius),
        inverses: Some(&inverses),
        depth: fine.depth,
        ..Grid::new(&local.a)
    };
    let lost = RefCell::new(Ok(())); // the first error of communication
    let keep = |result: Result<(), CommError>| {
        let mut lost = lost.borrow_mut();
        if lost.is_ok() {
            *lost = result;
        }
    };
    let ranks = Exchange {
        sum: &|values| keep(partition.comm().all_reduce(values)),
        of_owners: &|flags| keep(of_owners(partition, &local, flags)),
    };
    let found = parameters.aggregate_rank(&grid, local.own.clone(), fine.filtered, ranks); // 2 to 7, 11
    lost.into_inner()?;
    // `None` on ranks beside one with an error, which `agree` returns.
    let Some(found) = agree(partition.comm(), found.map_err(DistError::from))? else {
        return Ok(ControlFlow::Break(None));
    };

    let coarse_partition = Partition::of_counts(partition.comm().clone(), found.count(), found.vectors())?;
    let unknowns = coarse_partition.layout().unknowns(); // of all ranks
    let slow = CoarseningEnd::slow((partition.layout().unknowns(), unknowns));
    if unknowns == 0 || slow.is_some() {
        return Ok(ControlFlow::Break(slow));
    }
    let first = coarse_partition.first();
    let ghosts = local.fetch(partition, |k, to| {
        if let Some((aggregate, rows)) = found.node(local.own.start + k) {
            pack([first + u64::from(aggregate)], to);
            pack(rows.iter().copied(), to);
        }
    })?;
    let (columns, ghosts) = columns(&local, &coarse_partition, &ghosts);
    let before = columns.partition_point(|&column| column < first);
    let (without_basis, filtered, count) =
        (found.without_basis().to_vec(), found.is_filtered(), found.count());
    let coarse_kernel = agree(partition.comm(), found.near_kernel().map_err(DistError::from))?;
    let p = found.smooth(&grid, before as u32, columns.len(), &ghosts); // 8, 9
    let p = p.map_err(DistError::from).and_then(|p| Ok(trim(p, &local.own)?));
    let p = agree(partition.comm(), p)?;
    let agglomerated = agglomerate(&coarse_partition, share)?;
    let (coarse_kernel, without_basis) =
        moved(&coarse_partition, &agglomerated, coarse_kernel, without_basis)?;
    let coarse_partition = agglomerated;
    let transposed = transpose(partition, &coarse_partition, &p, &columns)?;
    let p = agree(partition.comm(), global(p, &columns, partition.first()))?;
    let own_columns = before..before + count;
    let (transfer, a) =
        Transfer::new((partition, &coarse_partition), local, &p, (columns, own_columns), without_basis)?;
    let rows = Cow::Owned(transfer.coarse(&a)?); // 10
    let coarse = LevelRows {
        partition: coarse_partition,
        rows,
        near_kernel: coarse_kernel,
        depth: fine.depth + 1,
        filtered,
    };
    Ok(ControlFlow::Continue(Step { coarse, p, transposed, transfer }))
}

/// Replaces the flags of ghosts by those of their owners.
fn of_owners<C: Communicator>(
    partition: &Partition<C>,
    local: &Extended,
    flags: &mut [bool],
) -> Result<(), CommError> {
    let width = flags.len() / local.nodes.len().max(1);
    let own = |k: usize| (local.own.start + k) * width..(local.own.start + k + 1) * width;
    let told = local.fetch(partition, |k, to| to.extend(flags[own(k)].iter().map(|&flag| u8::from(flag))))?;
    for (ghost, told) in local.ghosts().zip(told) {
        let flags = &mut flags[ghost * width..(ghost + 1) * width];
        flags.iter_mut().zip(told).for_each(|(flag, told)| *flag = told > 0);
    }
    Ok(())
}

/// The inverses of the diagonal blocks of own nodes and ghosts, from those of own nodes; ghosts have those of their owners.
fn inverses<C: Communicator>(
    partition: &Partition<C>,
    local: &Extended,
    own: &DenseBlocks<f64>,
) -> Result<DenseBlocks<f64>, DistError> {
    let ghosts = local.fetch(partition, |node, to| pack(own.block(node).iter().copied(), to))?; // 2
    let all = around(local, own.values(), &ghosts);
    agree(partition.comm(), DenseBlocks::new(own.size(), all).map_err(|error| DistError::Setup(error.into())))
}

/// Own values between those of the ghosts before and after the own nodes.
fn around(local: &Extended, own: &[f64], ghosts: &[Vec<u8>]) -> Vec<f64> {
    let values = |ghosts: &[Vec<u8>]| -> Vec<f64> { ghosts.iter().flat_map(|v| unpack::<f64>(v)).collect() };
    let (before, after) = ghosts.split_at(local.own.start);
    [&values(before)[..], own, &values(after)].concat()
}

/// K of own nodes and ghosts.
fn with_ghosts<C: Communicator>(
    partition: &Partition<C>,
    local: &Extended,
    own: &NearKernel,
) -> Result<NearKernel, DistError> {
    let (b, k) = (partition.layout().block(), own.vectors());
    let node = |node: usize| &own.values()[node * b * k..(node + 1) * b * k];
    let ghosts = local.fetch(partition, |at, to| pack(node(at).iter().copied(), to))?;
    let all = NearKernel::from_rows(k, around(local, own.values(), &ghosts))
        .map_err(|error| DistError::Setup(error.into()));
    agree(partition.comm(), all)
}

/// The global coarse nodes that occur in P̂ here, increasing, and the ghosts with their columns among these.
fn columns<C: Communicator>(
    local: &Extended,
    coarse_partition: &Partition<C>,
    ghosts: &[Vec<u8>],
) -> (Vec<u64>, Vec<GhostNode<f64>>) {
    let own = coarse_partition.layout().range(coarse_partition.rank());
    let aggregate = |ghost: &Vec<u8>| unpack::<u64>(ghost).next();
    let mut columns: Vec<u64> = own.chain(ghosts.iter().filter_map(aggregate)).collect();
    columns.sort_unstable();
    columns.dedup();
    let ghost = |(node, ghost): (usize, &Vec<u8>)| {
        let column = columns.binary_search(&aggregate(ghost)?).ok()? as u32;
        Some(GhostNode { node, column, rows: unpack(&ghost[8..]).collect() })
    };
    let ghosts = local.ghosts().zip(ghosts).filter_map(ghost).collect();
    (columns, ghosts)
}

/// The rows of P from row `first` on with global columns.
fn global(p: Bsr<f64>, columns: &[u64], first: u64) -> Result<GlobalRows<f64>, DistError> {
    let (pattern, block, values) = p.into_parts();
    let global = pattern.indices().iter().map(|&column| columns[column as usize]).collect();
    GlobalRows::new(first, block, pattern.offsets().to_vec(), global, values)
}

/// The own rows of Pᵀ. All ranks call it.
fn transpose<C: Communicator>(
    partition: &Partition<C>,
    coarse_partition: &Arc<Partition<C>>,
    p: &Bsr<f64>,
    columns: &[u64],
) -> Result<GlobalRows<f64>, DistError> {
    let transposed = agree(partition.comm(), p.transpose().map_err(DistError::from))?;
    let nodes: Vec<u64> = partition.layout().range(partition.rank()).collect();
    to_owners(coarse_partition, partition.layout().rows(), (columns, &nodes), transposed)
}
