//! Contact: pairs of a hash against all pairs, derivatives and forces, meshes at rest, bodies that are pushed
//! apart.

mod bodies;
mod common;
mod hash;
mod held;
mod meshes;
mod obstacles;
mod steps;
