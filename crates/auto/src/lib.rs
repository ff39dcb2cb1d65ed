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
//! | [`report`](Solved), [`ending`](Ending), [`method`](Method) | what was tried, how it ended, and names |
//! | [`problem`](Problem) | the system without prescribed values, its symmetric part and its null space |
//! | [`plan`](Plan) | the methods for a matrix, and their order |
//! | [`cost`](Costs), `sample` | the work of setups, iterations and factors; estimates from a sample of the rows and a part of the graph |
//! | `schedule`, `factor_cost` | which method runs and when it is left; when a factor is due |
//! | `solve`, [`direct`](DIRECT), [`residual`](attainable) | the attempts at a system, on any backend, and their residuals |
//! | [`build`](Parameters) | preconditioners by name, and what a solve builds on a backend |
//!
//! Programs with their own backend, parameters, null space or observer make a [`Problem`] and a [`Plan`], and call
//! [`Plan::solve`].

mod auto;
mod build;
mod cost;
mod direct;
mod ending;
mod factor_cost;
mod method;
mod options;
mod plan;
mod problem;
mod report;
mod residual;
mod sample;
mod schedule;
mod solve;

pub use build::{Builder, Built, Levels, Parameters};
pub use cost::Costs;
pub use direct::{DIRECT, KnownFactor};
pub use ending::Ending;
pub use method::{Method, Precond};
pub use options::{Auto, MEMORY};
pub use plan::Plan;
pub use problem::Problem;
pub use report::{Attempt, Solved};
pub use residual::{attainable, relative_residual};
pub use solve::Observer;

#[cfg(test)]
#[path = "../tests/unit/mod.rs"]
mod tests;
