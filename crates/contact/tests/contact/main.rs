//! Contact: pairs of a hash, derivatives and forces, meshes at rest, bodies that are pushed apart, and sums of energies.

mod bodies;
mod cloth;
mod cloth_friction;
mod common;
mod crossings;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod edges;
mod friction;
mod hash;
mod held;
mod impacts;
mod meshes;
mod nearest;
mod obstacles;
mod searches;
mod smooth_sdf;
mod steps;
mod sums;
mod surfaces;
mod turning;
