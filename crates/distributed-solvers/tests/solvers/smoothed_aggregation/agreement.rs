//! Arguments that differ between ranks, and errors of one rank.

use coarsen_smoothed_aggregation::tamstorf;
use std::cell::RefCell;

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_distributed::{CommError, Communicator, Counted, DistError, GlobalRows, Partition};
use coarsen_distributed_solvers::DistMultigrid;
use coarsen_multigrid::{Grid, Multigrid};
use coarsen_problems::{cloth, poisson2d};
use coarsen_smoothed_aggregation::{Exchange, Modes, SmoothedAggregation};
use coarsen_sparse::NearKernel;

use super::invariants::layout;
use crate::common::on_ranks;

/// One rank has other parameters, no near-kernel where others have one, or one of another number of vectors. Every rank
/// returns the same error, with no more messages than those of one comparison, and none waits.
#[test]
fn arguments_that_differ_are_an_error_on_every_rank() {
    let problem = cloth(25, 0.01).unwrap();
    let layout = layout(&problem, 3);
    let parameters = DistMultigrid { gather_below: 300, share: 0, ..DistMultigrid::default() };
    let of = |multigrid| DistMultigrid { multigrid, ..parameters };
    let tamstorf = tamstorf();
    let safer = SmoothedAggregation { safety: tamstorf.coarsening.safety * 1.01, ..tamstorf.coarsening };
    let others = [
        (DistMultigrid { gather_below: 10_000, ..parameters }, Some(3)),
        (DistMultigrid { share: 1000, ..parameters }, Some(3)),
        (of(Multigrid { levels: 1, ..tamstorf }), Some(3)),
        (of(Multigrid { coarsening: safer, ..tamstorf }), Some(3)),
        (parameters, None),
        (parameters, Some(1)),
    ];
    let stage = "the parameters of multigrid or the number of vectors of its near-kernel";
    let agreed = compared(3);
    for (parameters_of_other, vectors) in others {
        for odd in [0, 2] {
            let found = on_ranks(3, |comm| {
                let comm = Counted::new(comm);
                let partition = Partition::new(comm.clone(), layout.clone()).unwrap();
                let own = layout.range(comm.rank());
                let rows = GlobalRows::of(&problem.matrix, own).unwrap();
                let (parameters, vectors) =
                    if comm.rank() == odd { (parameters_of_other, vectors) } else { (parameters, Some(3)) };
                let kernel = vectors.map(|k| NearKernel::constants(3 * partition.count(), k).unwrap());
                comm.restart();
                let error = parameters.build(&partition, &rows, kernel.as_ref()).map(drop).unwrap_err();
                (error, messages(&comm))
            });
            let other = if odd == 0 { 1 } else { odd };
            let expected = DistError::Comm(CommError::Disagree { rank: 0, other, stage });
            for ((error, sent), agreed) in found.iter().zip(&agreed) {
                assert_eq!(error, &expected, "rank {odd}: {parameters_of_other:?} {vectors:?}");
                // A rank that hears of the fault sends no more, so it may have sent less.
                assert!(sent <= agreed, "rank {odd}: {sent} messages, {agreed} of a comparison");
            }
        }
    }
}

/// The messages that each rank sends in a gather on all ranks.
fn compared(ranks: usize) -> Vec<u64> {
    on_ranks(ranks, |comm| {
        let comm = Counted::new(comm);
        comm.all_gather(b"equal").unwrap();
        messages(&comm)
    })
}

fn messages<C: Communicator>(comm: &Counted<C>) -> u64 {
    comm.traffic().iter().map(|stage| stage.messages).sum()
}

/// A rank whose values, diagonal blocks or near-kernel are refused says so at the next exchange, where all ranks leave the
/// step: no rank waits for it.
#[test]
fn an_error_of_one_rank_ends_the_aggregation_of_all() {
    let a = poisson2d(20).unwrap().matrix;
    let parameters = tamstorf().coarsening;
    let inverses = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
    let negative = DenseBlocks::new(1, inverses.values().iter().map(|v| -v).collect()).unwrap();
    let mut infinite = a.clone();
    infinite.values_mut()[700] = f64::INFINITY;
    let mut huge = a.clone();
    huge.values_mut().iter_mut().for_each(|v| *v *= 2e307); // A K overflows
    let kernel = NearKernel::constants(400, 1).unwrap();
    for fault in ["values", "diagonal", "near-kernel"] {
        for odd in 0..3 {
            let found = on_ranks(3, |comm| {
                let faulty = |what: &str| comm.rank() == odd && fault == what;
                let a = if faulty("values") { &infinite } else { &a };
                let a = if faulty("near-kernel") { &huge } else { a };
                let inverses = if faulty("diagonal") { &negative } else { &inverses };
                let grid = Grid {
                    near_kernel: Some(&kernel),
                    radius: Some(2.0),
                    inverses: Some(inverses),
                    ..Grid::new(a)
                };
                let parameters = SmoothedAggregation { modes: Modes::Found(1), ..parameters };
                let lost = RefCell::new(None); // the error of the first sum that a rank has left
                let sum = |values: &mut [f64]| {
                    if let Err(error) = comm.all_reduce(values) {
                        lost.borrow_mut().get_or_insert(error);
                    }
                };
                let ranks = Exchange { sum: &sum, of_owners: &|_| {} }; // without ghosts
                let found = parameters.aggregate_rank(&grid, 0..400, true, ranks).map(drop);
                (found, lost.take())
            });
            for (rank, (found, lost)) in found.iter().enumerate() {
                assert_eq!(lost, &None, "{fault} of rank {odd}: rank {rank} waits for one that has left");
                assert_eq!(found.is_err(), rank == odd, "{fault} of rank {odd}: {found:?}");
            }
            let error = found[odd].0.as_ref().unwrap_err();
            assert_eq!(matches!(error, SetupError::NotPositive { .. }), fault == "diagonal", "{error}");
        }
    }
}
