//! Contact of nodes with obstacles, and of bodies and cloth with each other and with themselves.
//!
//! [`Obstacle`] and [`BodyContact`] are energies of the gap g of each contact, here with a penalty,
//!
//! > E = Σ k/2 min(g, 0)²,   ∇²E ≈ Σ k ∇g ∇gᵀ
//!
//! (Xian, Tong & Liu 2019, §4.6). [`ClothContact`] is a barrier of the distance, and [`Obstacle`] may be one. All implement
//! [`Potential`](coarsen_elastic::Potential). They are added to elastic energies, and their Hessian is stored
//! separately from the matrix. [`Friction`] acts between nodes or edges and shapes, [`ClothFriction`] between parts of cloth or
//! of bodies.
//!
//! [`SpatialHash`] finds pairs of boxes that overlap, such as boxes of triangles and edges that are grown by a distance or
//! swept along a step.
//!
//! | file | what |
//! |---|---|
//! | [`aabb`](Aabb) | axis-aligned boxes |
//! | [`hash`](SpatialHash) | a spatial hash of boxes |
//! | [`shape`](Shape) | the trait of obstacles: distance, normal, curvature |
//! | [`plane`](Plane), [`sphere`](Sphere), [`capsule`](Capsule), [`cuboid`](Cuboid) | four shapes |
//! | [`closed`](ClosedSurface) | a closed surface of triangles, and the test whether a point is inside |
//! | [`sdf_grid`](SdfGrid) | its signed distance as a shape |
//! | [`smooth_sdf`](SmoothSdf) | the same with a continuous gradient, for forces |
//! | [`obstacle`](Obstacle) | contact of nodes and edges with a shape, which may move |
//! | [`cloth`](ClothContact) | contact of cloth and of the surfaces of bodies, by a barrier; continuous detection |
//! | [`mod@friction`] | friction with an obstacle that may rotate: [`Friction`]; its energy |
//! | [`bodies`](BodyContact) | contact of bodies of tetrahedra with each other and with themselves |
//! | `detector` | the detection of contacts |
//! | `rest_surface` | the surface triangle through which a vertex leaves |
//! | `components` | the bodies of a mesh |
//! | [`contact`](Contact) | one contact: a vertex and a triangle |
//! | `triangle` | nearest points and normals of triangles |
//! | [`penetration`](Penetration) | the number of contacts and the largest depth |
//! | [`error`](ContactError) | errors of boxes, shapes and bodies |

mod aabb;
mod bodies;
mod capsule;
mod closed;
mod cloth;
mod components;
mod contact;
mod cuboid;
mod detector;
mod error;
pub mod friction;
mod hash;
mod obstacle;
mod penetration;
mod plane;
mod rest_surface;
mod sdf_grid;
mod shape;
mod smooth_sdf;
mod sphere;
mod triangle;

pub use aabb::Aabb;
pub use bodies::BodyContact;
pub use capsule::Capsule;
pub use closed::{ClosedSurface, open_edge};
pub use cloth::{
    BroadPhase, ClothContact, ClothFriction, Crossing, Crossings, Impact, ImpactZones, IncrementalBroadPhase,
    LocalBroadPhase, Pair, Search, Topology, Touch, clearance, time_of_impact,
};
pub use contact::Contact;
pub use cuboid::Cuboid;
pub use error::ContactError;
pub use friction::{Friction, Spin};
pub use hash::SpatialHash;
pub use obstacle::Obstacle;
pub use penetration::Penetration;
pub use plane::Plane;
pub use sdf_grid::SdfGrid;
pub use shape::Shape;
pub use smooth_sdf::SmoothSdf;
pub use sphere::Sphere;
