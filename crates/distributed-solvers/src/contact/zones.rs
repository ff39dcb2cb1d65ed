//! Impact zones over ranks: Li et al. 2020, "P-Cloth", §4.3, Fig. 8.
//!
//! | step | here | shared how |
//! |---|---|---|
//! | impacts of the step | [`ClothContact::impacts`] | equal tests per rank |
//! | zones | [`ImpactZones::separate`] | the impacts are sent to a master, which changes the displacements of their nodes |
//! | positions | `dx` | the master sends those of nodes in zones to all ranks |
//!
//! until no pair meets, at most [`ROUNDS`] times; what is left is slowed ([`ImpactZones::rigid_fail_safe`]), at most five times.
//! Deviation: the master solves all zones, since the sweeps take less time than a message per zone.

use coarsen_contact::{ClothContact, ContactError, ImpactZones};
use coarsen_distributed::{Communicator, pack, unpack};

use super::RankSearch;
use super::messages::{impacts_of, pack_impacts};
use super::shared::lost;

/// The most rounds of a step: §4.3.
pub const ROUNDS: usize = 5;

/// After them, the most rounds in which zones are slowed.
const SLOWED: usize = 5;

/// The rank that solves zones.
const MASTER: usize = 0;

/// The bytes of a node in a zone.
const MOVED: usize = 4 + 24;

/// What became of the impacts of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The rounds in which displacements were changed; above [`ROUNDS`], zones were slowed.
    pub rounds: usize,
    /// The nodes in zones after the last of them.
    pub nodes: usize,
    /// Whether pairs still meet at the end.
    pub left: bool,
    /// The nodes whose displacements still violate their limits at the end.
    pub over: usize,
}

/// Changes the displacements `dx` of all nodes from x in a step by impulses between pairs that would meet, so that no pair comes
/// nearer than contact keeps. `mass` is that of a node, infinite for held nodes, whose displacements stay. `stop` returns a
/// limit n · u ≥ s of the displacement u of a node, such as that of an obstacle outside the contact, if u violates it. If
/// pairs are left ([`Resolved::left`]), the step must be shortened as a whole by
/// [`max_step`](coarsen_elastic::Potential::max_step). Limits of nodes are tested at the end of their displacements only;
/// after [`ROUNDS`] rounds some may be left ([`Resolved::over`]). Masses are positive.
///
/// All ranks call it with the same arguments, and get the same bits at any number of ranks. *Cost* in
/// each round a search for the pairs of nodes whose displacements left the bounds of the last search, a gather of 28
/// bytes per impact and a broadcast of 28 bytes per node in zones. *Panics* on wrong lengths.
///
/// # Errors
/// [`ContactError::Position`] for a node that is not finite, [`ContactError::Ranks`], those of the search. The displacements
/// `dx` are then those of some round, which may differ between ranks.
pub fn resolve_impacts<C: Communicator>(
    comm: &C,
    contact: &mut ClothContact<RankSearch<C>>,
    x: &[f64],
    mass: impl Fn(u32) -> f64,
    stop: impl Fn(u32, [f64; 3]) -> Option<([f64; 3], f64)>,
    dx: &mut [[f64; 3]],
) -> Result<Resolved, ContactError> {
    let (mut zones, mut done) = (ImpactZones::default(), Resolved::default());
    loop {
        let own = contact.impacts(x, dx)?;
        let shared = contact.search().shared;
        let all =
            if shared { comm.gather(MASTER, &pack_impacts(&own)).map_err(lost)? } else { Some(Vec::new()) };
        let mut answer = Vec::new();
        if let Some(all) = all {
            let mut impacts = own;
            if shared {
                impacts = all.iter().flat_map(|data| impacts_of(data)).collect();
                impacts.sort_unstable_by_key(|impact| impact.1);
            }
            let last = done.rounds == ROUNDS + SLOWED;
            let stopped =
                (0..dx.len() as u32).filter_map(|node| Some((node, stop(node, dx[node as usize])?)));
            let stopped: Vec<_> = stopped.collect();
            let resting = impacts.is_empty() && stopped.is_empty();
            let mut nodes = Vec::new();
            if done.rounds >= ROUNDS && !last {
                nodes = ImpactZones::rigid_fail_safe(&impacts, &mass, dx);
            } else if !(last || resting) {
                impacts.iter().for_each(|impact| zones.add_impact(contact, *impact, dx));
                stopped.iter().for_each(|(node, (normal, least))| zones.add_limit(*node, *normal, *least));
                zones.separate(&mass, contact.thickness(), dx);
                nodes = zones.nodes();
            }
            let ended = nodes.is_empty();
            let over = if ended { stopped.len() as u64 } else { 0 };
            pack([u64::from(ended && !impacts.is_empty()), over], &mut answer);
            for node in nodes {
                pack([node], &mut answer);
                pack(dx[node as usize], &mut answer);
            }
        }
        if shared {
            comm.broadcast(MASTER, &mut answer).map_err(lost)?;
        }
        let (head, body) = answer.split_at(16);
        let mut head = unpack::<u64>(head).map(|count| count as usize);
        done.left = head.next().is_some_and(|left| left > 0);
        done.over = head.next().unwrap_or_default();
        for moved in body.chunks_exact(MOVED) {
            for node in unpack::<u32>(&moved[..4]) {
                let to = &mut dx[node as usize];
                to.iter_mut().zip(unpack::<f64>(&moved[4..])).for_each(|(to, v)| *to = v);
            }
        }
        if body.is_empty() {
            return Ok(done);
        }
        done.rounds += 1;
        done.nodes = body.len() / MOVED;
    }
}
