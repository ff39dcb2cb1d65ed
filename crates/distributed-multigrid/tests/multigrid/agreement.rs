//! Arguments that differ between ranks.

use coarsen_distributed::{CommError, Communicator, Counted, DistError, GlobalRows, Partition};
use coarsen_distributed_multigrid::DistMultigrid;
use coarsen_multigrid::{Multigrid, SmoothedAggregation};
use coarsen_problems::cloth;
use coarsen_sparse::NearKernel;

use crate::laws::{layout, on_ranks};

/// One rank has another recipe, no near-kernel where others have one, or one of another number of vectors. Every rank
/// returns the same error, with no more messages than those of one comparison, and none waits.
#[test]
fn arguments_that_differ_are_an_error_on_every_rank() {
    let problem = cloth(25, 0.01).unwrap();
    let layout = layout(&problem, 3);
    let recipe = DistMultigrid { gather_below: 300, share: 0, ..DistMultigrid::default() };
    let of = |multigrid| DistMultigrid { multigrid, ..recipe };
    let tamstorf = Multigrid::tamstorf();
    let safer = SmoothedAggregation { safety: tamstorf.coarsening.safety * 1.01, ..tamstorf.coarsening };
    let others = [
        (DistMultigrid { gather_below: 10_000, ..recipe }, Some(3)),
        (DistMultigrid { share: 1000, ..recipe }, Some(3)),
        (of(Multigrid { levels: 1, ..tamstorf }), Some(3)),
        (of(Multigrid { coarsening: safer, ..tamstorf }), Some(3)),
        (recipe, None),
        (recipe, Some(1)),
    ];
    let stage = "the recipe of multigrid or the number of vectors of its near-kernel";
    let agreed = compared(3);
    for (recipe_of_other, vectors) in others {
        for odd in [0, 2] {
            let found = on_ranks(3, |comm| {
                let comm = Counted::new(comm);
                let on = Partition::new(comm.clone(), layout.clone()).unwrap();
                let own = layout.range(comm.rank());
                let rows = GlobalRows::of(&problem.matrix, own).unwrap();
                let (recipe, vectors) =
                    if comm.rank() == odd { (recipe_of_other, vectors) } else { (recipe, Some(3)) };
                let kernel = vectors.map(|k| NearKernel::constants(3 * on.count(), k).unwrap());
                comm.restart();
                let error = recipe.build(&on, &rows, kernel.as_ref()).map(drop).unwrap_err();
                (error, messages(&comm))
            });
            let other = if odd == 0 { 1 } else { odd };
            let expected = DistError::Comm(CommError::Disagree { rank: 0, other, stage });
            for ((error, sent), agreed) in found.iter().zip(&agreed) {
                assert_eq!(error, &expected, "rank {odd}: {recipe_of_other:?} {vectors:?}");
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
