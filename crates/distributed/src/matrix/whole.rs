//! The exchange of whole sub-vectors along a schedule.
//!
//! | symbol | here | |
//! |---|---|---|
//! | v_j | `held[j]` | the sub-vector of rank j, as bytes |
//! | (t, v) | `Node` | receive sub-vector v from rank t |
//!
//! Deviation from Li et al. 2020, §3.1: sub-vectors are not padded to equal length, since both sides know the
//! length of each from the layout.

use crate::{CommError, Communicator, Number, Partition, Schedule, Stage, pack};

const WHOLE: Stage = Stage::new(3, "an exchange of sub-vectors");

/// Exchanges x. Calls `step(None)` once the first stage is under way, and `step(Some((j, bytes)))` for each
/// sub-vector that arrives, when the next stage is under way.
pub(super) fn exchange<C: Communicator, T: Number>(
    on: &Partition<C>,
    schedule: &Schedule,
    x: &[T],
    mut step: impl FnMut(Option<(usize, &[u8])>),
) -> Result<(), CommError> {
    let (comm, rank, layout) = (on.comm(), on.rank(), on.layout());
    let mut held: Vec<Vec<u8>> = vec![Vec::new(); layout.ranks()];
    pack(x.iter().copied(), &mut held[rank]);
    let begin = |stage: usize, held: &[Vec<u8>]| {
        if stage == schedule.stages() {
            return Ok(None);
        }
        for (to, vector) in schedule.sends(rank, stage) {
            comm.send(to, WHOLE, held[vector].clone())?;
        }
        let node = schedule.queue(rank)[stage];
        let bytes = layout.count(node.vector) * layout.block() * T::BYTES;
        comm.receive(node.peer, WHOLE, bytes).map(|request| Some((node.vector, request)))
    };
    let mut next = begin(0, &held)?;
    step(None);
    let mut stage = 0;
    while let Some((vector, request)) = next {
        held[vector] = comm.wait(request)?;
        stage += 1;
        next = begin(stage, &held)?;
        step(Some((vector, &held[vector])));
    }
    Ok(())
}

/// The number of block rows that a rank sends per exchange.
pub(super) fn sent<C: Communicator>(on: &Partition<C>, schedule: &Schedule) -> usize {
    let of_stage = |stage| schedule.sends(on.rank(), stage).map(|(_, vector)| on.layout().count(vector));
    (0..schedule.stages()).flat_map(of_stage).sum()
}
