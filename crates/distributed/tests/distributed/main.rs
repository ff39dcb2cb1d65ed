//! Laws of communicators, distributed vectors, matrices, schedules and preconditioners.

mod common;
mod communicators;
mod products;
mod schedules;
mod solves;
mod vectors;
