//! `auto`: automatic choice of a solver, with a bound on the cost of wrong forecasts.
//!
//! [`Auto::plan`] analyses a system and returns the methods that may solve it with their expected costs. [`Auto::solve`]
//! solves the system. The number of iterations of a method is not known in advance, so forecasts are made while it runs, and
//! a method is left if another one has a lower forecast. The total work is at most three times the smaller of two values:
//! the work of all methods tried, and the work of a sparse factor.
//!
//! | module | contents |
//! |---|---|
//! | `auto` | the parameters, the entry points, and the report |
//! | `ending`, `method` | how an attempt ended; the names of methods and preconditioners |
//! | [`plan`] | the methods for a matrix, and their order |
//! | [`cost`], `sample` | the work of setups, iterations and factors; what a sample of the rows and a part of the graph show |
//! | `schedule` | which method runs and when it is left; the bound |
//! | [`solve`] | the attempts at a system, on any backend |
//! | [`build`](mod@build) | preconditioners by name, and the trait of a backend |
//! | [`problem`] | the system without prescribed values, and its symmetric part |
//!
//! Programs with their own backend, parameters, null space or observer make a [`Problem`](problem::Problem) and a
//! [`Plan`](plan::Plan), and call [`Plan::solve`](plan::Plan::solve).

mod auto;
pub mod build;
pub mod cost;
mod ending;
mod method;
pub mod plan;
pub mod problem;
mod sample;
mod schedule;
pub mod solve;

pub use auto::Solved;
pub use ending::{Ending, attainable};
pub use method::{Method, Precond};
pub use plan::{Auto, MEMORY};

#[cfg(test)]
#[path = "../tests/unit/mod.rs"]
mod tests;
