//! Impact zones over ranks: Li et al. 2020, "P-Cloth", §4.3, Fig. 8.
//!
//! | step | here | shared how |
//! |---|---|---|
//! | impacts of the step | [`ClothContact::impacts`] | equal tests per rank |
//! | zones | [`Zones::slow`] | the impacts are sent to a master, which slows the zones |
//! | positions | `by` | the master sends those of nodes in zones to all ranks |
//!
//! until no pair meets, at most [`ROUNDS`] times.

use coarsen_contact::{ClothContact, ContactError, Pair, Zones};
use coarsen_distributed::{CommError, Communicator, pack, unpack};

use crate::RankSearch;
use crate::search::{PAIR, kind, pair_of};

/// The most rounds of a step: §4.3.
pub const ROUNDS: usize = 5;

/// The rank that solves zones.
const MASTER: usize = 0;

/// The bytes of an impact and of a node in a zone.
const IMPACT: usize = 8 + PAIR;
const MOVED: usize = 4 + 24;

/// What became of the impacts of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The rounds in which zones were slowed.
    pub rounds: usize,
    /// The nodes that were slowed, counted in each round.
    pub nodes: usize,
    /// Whether pairs still meet after [`ROUNDS`] rounds.
    pub left: bool,
}

/// Changes the ways `by` of all nodes from x in a step, so that no pair comes nearer than contact keeps: the nodes of
/// pairs that would meet become zones, whose relative motion ends at the first impact. `mass` is that of a node, infinite
/// for held nodes, whose ways stay. If pairs are left ([`Resolved::left`]), the step must be shortened as a whole by
/// [`max_step`](coarsen_elastic::Potential::max_step). Momentum stays the same in zones without held nodes.
///
/// All ranks call it with the same arguments, and get the same bits at any number of ranks. *Cost* a search for pairs in
/// each round, and, where pairs meet, a gather of 28 bytes per impact and a broadcast of 28 bytes per node in zones.
/// *Panics* on wrong lengths.
///
/// # Errors
/// [`ContactError::Position`] for a node that is not finite, [`ContactError::Ranks`], those of the search.
pub fn resolve_impacts<C: Communicator>(
    comm: &C,
    contact: &mut ClothContact<RankSearch<C>>,
    x: &[f64],
    mass: impl Fn(u32) -> f64,
    by: &mut [[f64; 3]],
) -> Result<Resolved, ContactError> {
    let lost = |error: CommError| ContactError::Ranks { reason: error.to_string() };
    let (mut zones, mut done) = (Zones::new(by.len()), Resolved::default());
    loop {
        let own = contact.impacts(x, by)?;
        let slowed = if contact.search().shared {
            let mut message = Vec::with_capacity(IMPACT * own.len());
            for (t, pair) in &own {
                pack([*t], &mut message);
                pack([kind(pair)], &mut message);
                pack(pair.nodes(), &mut message);
            }
            let all = comm.gather(MASTER, &message).map_err(lost)?;
            let mut answer = Vec::new();
            if let Some(all) = all {
                let impacts: Vec<(f64, Pair)> =
                    all.iter().flat_map(|data| data.chunks_exact(IMPACT).map(impact_of)).collect();
                let left = done.rounds == ROUNDS;
                let nodes = if left { Vec::new() } else { zones.slow(&impacts, &mass, by) };
                pack([u64::from(left && !impacts.is_empty())], &mut answer);
                for node in nodes {
                    pack([node], &mut answer);
                    pack(by[node as usize], &mut answer);
                }
            }
            comm.broadcast(MASTER, &mut answer).map_err(lost)?;
            let (head, body) = answer.split_at(8);
            done.left = unpack::<u64>(head).any(|left| left > 0);
            for moved in body.chunks_exact(MOVED) {
                for node in unpack::<u32>(&moved[..4]) {
                    let to = &mut by[node as usize];
                    to.iter_mut().zip(unpack::<f64>(&moved[4..])).for_each(|(to, v)| *to = v);
                }
            }
            body.len() / MOVED
        } else if done.rounds == ROUNDS {
            done.left = !own.is_empty();
            0
        } else {
            zones.slow(&own, &mass, by).len()
        };
        if slowed == 0 {
            return Ok(done);
        }
        done.rounds += 1;
        done.nodes += slowed;
    }
}

/// An impact of a message.
fn impact_of(bytes: &[u8]) -> (f64, Pair) {
    let (t, pair) = bytes.split_at(8);
    (unpack::<f64>(t).next().unwrap_or_default(), pair_of(pair))
}
