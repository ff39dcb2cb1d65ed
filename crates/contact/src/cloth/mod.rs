//! Contact of cloth with itself and with obstacles of triangles.
//!
//! | file | step |
//! |---|---|
//! | [`pair`](Pair) | a vertex and a triangle, or two edges |
//! | [`topology`](Topology) | vertices, edges and triangles of a surface, and which pairs can touch |
//! | `distance` | the nearest points of a pair |
//! | `blocks` | parts that follow each other, and boxes around them |
//! | [`broad`](Broad) | pairs whose boxes overlap, by two spatial hashes, also in shares |
//! | [`near`](Near) | the same for some groups of queries, by hashes of what is near them |
//! | [`fresh`](Fresh) | the pairs of some nodes alone |
//! | [`search`](Search) | who looks for pairs: one host, or ranks |
//! | [`clearance`] | the smallest distance of a surface from itself |
//! | [`crossings`](Crossings) | edges that cross triangles, by code that detection does not use |
//! | `apart` | pairs that stay apart along an axis, for a tenth of the cost of a distance |
//! | `narrow` | [`Touch`]: a pair that is nearer than the thickness, its distance and direction |
//! | `advance` | continuous detection of one pair by additive conservative advancement |
//! | `tube` | the positions for which the candidates of a search serve |
//! | `follow` | a tube that follows the nodes which leave it |
//! | `sweep` | the largest step before any pair of a surface touches |
//! | [`zones`](Zones) | impulses between pairs that would meet in a step |
//! | [`contact`](ClothContact) | the energy of all pairs that are near |
//! | `turning` | its exact Hessian |
//! | [`friction`](ClothFriction) | friction of the pairs that are near at the start of a step |

mod advance;
mod apart;
mod blocks;
mod broad;
mod clearance;
mod contact;
mod crossings;
mod distance;
mod follow;
mod fresh;
mod friction;
mod narrow;
mod near;
mod pair;
mod search;
mod sweep;
mod topology;
mod tube;
mod turning;
mod zones;

pub use advance::time_of_impact;
pub use broad::Broad;
pub use clearance::clearance;
pub use contact::ClothContact;
pub use crossings::{Crossing, Crossings};
pub use fresh::Fresh;
pub use friction::ClothFriction;
pub use narrow::Touch;
pub use near::Near;
pub use pair::Pair;
pub use search::Search;
pub use sweep::Impact;
pub use topology::Topology;
pub use zones::Zones;
