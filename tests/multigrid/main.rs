//! Hierarchies: coarsenings, cycles, coarse solves and updates.
//!
//! Two files of `src` are compiled here again: no public function shows what their tests check, such as the test
//! that found a block regular. They are small and contain no kernels.

mod aggregates;
mod aggregation;
mod coarse_solves;
mod coarsening;
mod common;
mod contract;
mod control_points;
mod filter;
mod hierarchy;
mod high_degree;
mod methods;
mod near_kernel;
mod node_embedding;
mod node_embedding_updates;
mod over_domains;
mod particles;
mod rebuilds;
mod rigid_body_modes;
mod several;
mod skinning;
mod smoothers;
#[path = "../common/spring.rs"]
mod spring;
mod unconstrained;
