//! Contact of cloth with itself and with obstacles of triangles.
//!
//! | file | step |
//! |---|---|
//! | [`pair`](Pair) | a vertex and a triangle, or two edges |
//! | [`topology`](Topology) | vertices, edges and triangles of a surface, and which pairs can touch |
//! | `distance` | the nearest points of a pair |
//! | `blocks` | parts that follow each other, and boxes around them |
//! | [`broad_phase`](BroadPhase) | pairs whose boxes overlap, by two spatial hashes, also in shares |
//! | [`local_broad_phase`](LocalBroadPhase) | the same for some groups of queries, by hashes of what is near them |
//! | [`incremental_broad_phase`](IncrementalBroadPhase) | the pairs of some nodes alone |
//! | [`search`](Search) | which process searches for pairs: one host, or ranks |
//! | [`clearance`] | the smallest distance of a surface from itself |
//! | [`crossings`](Crossings) | edges that cross triangles, by code that detection does not use |
//! | `apart` | pairs that stay apart along an axis, for a tenth of the cost of a distance |
//! | `narrow_phase` | [`Touch`]: a pair that is nearer than the thickness, its distance and direction |
//! | `advance` | continuous detection of one pair by additive conservative advancement |
//! | `swept_bounds` | the positions for which the candidates of a search serve |
//! | `swept_bounds_update` | updates of swept bounds for the nodes that leave them |
//! | `sweep` | the largest step before any pair of a surface touches |
//! | [`zones`](ImpactZones) | impulses between pairs that would meet in a step |
//! | [`contact`](ClothContact) | the energy of all pairs that are near |
//! | `turning` | its exact Hessian |
//! | [`friction`](ClothFriction) | friction of the pairs that are near at the start of a step |

mod advance;
mod apart;
mod blocks;
mod broad_phase;
mod clearance;
mod contact;
mod crossings;
mod distance;
mod friction;
mod incremental_broad_phase;
mod local_broad_phase;
mod narrow_phase;
mod pair;
mod search;
mod sweep;
mod swept_bounds;
mod swept_bounds_update;
mod topology;
mod turning;
mod zones;

pub use advance::time_of_impact;
pub use broad_phase::BroadPhase;
pub use clearance::clearance;
pub use contact::ClothContact;
pub use crossings::{Crossing, Crossings};
pub use friction::ClothFriction;
pub use incremental_broad_phase::IncrementalBroadPhase;
pub use local_broad_phase::LocalBroadPhase;
pub use narrow_phase::Touch;
pub use pair::Pair;
pub use search::Search;
pub use sweep::Impact;
pub use topology::Topology;
pub use zones::ImpactZones;
