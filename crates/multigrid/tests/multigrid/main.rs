//! Hierarchies: coarsenings, cycles, coarse solves and updates.

mod aggregates;
mod coarse_solves;
mod coarsening;
mod common;
mod contract;
mod hierarchy;
mod methods;
mod skinning;
