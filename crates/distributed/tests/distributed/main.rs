//! Invariants of communicators, distributed vectors, matrices, schedules and preconditioners.

mod assemblies;
mod common;
mod communicators;
mod descents;
mod layouts;
mod links;
mod moves;
mod products;
mod renewals;
mod schedules;
mod simulated;
mod solves;
mod vectors;
