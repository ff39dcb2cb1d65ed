//! `auto`: automatic choice of a solver, with a bound on the cost of wrong forecasts.
//!
//! [`Auto::plan`] analyses a system and returns the methods that may solve it with their expected costs. [`Auto::solve`]
//! solves the system. The number of iterations of a method is not known in advance, so it is forecast while the method runs,
//! and a method is left if another one has a lower forecast. The total work is at most three times the smaller of two values:
//! the work of all methods tried, and the work of a sparse factor.
//!
//! | file | contents |
//! |---|---|
//! | [`auto`](Auto) | the parameters and the entry points |
//! | [`method`](Method), [`build`](Parameters) | names; preconditioners by name, and what a solve builds on a backend |
//! | [`problem`](Problem), [`residual`](attainable) | the system without prescribed values, its symmetric part, its null space; residuals |
//! | [`plan`](Plan), [`cost`](Costs), `sample` | the methods for a matrix, their order and their work, estimated from sizes, a sample of the rows and a part of the graph |
//! | `schedule`, `solve` | which method runs, when it is left, and when a factor is due; the attempts, on any backend |
//! | [`report`](Solved) | what was tried, and how it ended |
//!
//! Programs with their own backend, parameters, null space or observer make a [`Problem`] and a [`Plan`], and call
//! [`Plan::solve`].

mod auto;
mod build;
mod cost;
mod method;
mod plan;
mod problem;
mod report;
mod residual;
mod sample;
mod schedule;
mod solve;

pub use auto::{Auto, MEMORY};
pub use build::{Builder, Built, Levels, Observer, Parameters};
pub use cost::Costs;
pub use method::{Method, Precond};
pub use plan::Plan;
pub use problem::Problem;
pub use report::{Attempt, Ending, Solved};
pub use residual::{attainable, relative_residual};
pub use solve::{DIRECT, KnownFactor};

#[cfg(test)]
#[path = "../tests/unit/mod.rs"]
mod tests;
