//! `auto`: automatic choice of a solver, with a bound on the cost of wrong forecasts.
//!
//! [`Auto::plan`] analyses a system and returns the methods that may solve it with their expected costs. [`Auto::solve`]
//! solves the system. The number of iterations of a method is not known in advance, so forecasts are made while it runs, and
//! a method is left if another one has a lower forecast. The total work is at most three times the smaller of two values:
//! the work of all methods tried, and the work of a sparse factor.
//!
//! | file | contents |
//! |---|---|
//! | [`auto`](Auto) | the entry points: plan and solve |
//! | [`adapt`](Adapted) | the system without prescribed values, and its symmetric part |
//! | [`plan`](Plan) | the methods for a matrix, and their order |
//! | [`cost`](Costs) | the work of setups, iterations and factors |
//! | [`forecast`](Forecast) | forecasts of the number of iterations |
//! | [`factor_cost`](FactorCost) | the work so far, the rule for computing a factor, and the bound |
//! | [`monitor`](Monitor) | the monitor of a running method |
//! | [`drive`](drive()) | the order of attempts |
//! | [`run`](Run) | the events of a run |
//! | `sample` | what a sample of the rows and a part of the graph show |
//! | [`problem`](Problem) | a system to solve, and what builds its preconditioners |
//! | [`solve`](solve_by_plan) | the attempts at a system, at any backend |
//! | [`ending`](Ending) | how an attempt ended, the cause and a remedy |
//! | [`host`](Host) | the preconditioners of the CPU |
//! | [`solid`](is_solid()) | whether the nodes fill a volume, so that skinning is considered |
//! | [`attainable`](attainable()) | the smallest residual that f64 allows |

mod adapt;
mod attainable;
mod auto;
mod cost;
mod drive;
mod ending;
mod factor_cost;
mod forecast;
mod host;
mod kind;
mod monitor;
mod plan;
mod problem;
mod run;
mod sample;
mod solid;
mod solve;

pub use adapt::Adapted;
pub use attainable::{RoundOff, attainable};
pub use auto::{Auto, AutoError, Solved};
pub use cost::Costs;
pub use drive::{Attempt, Attempts, Limits, drive};
pub use ending::Ending;
pub use factor_cost::{CostLog, FactorCost, Item, NoFactor};
pub use forecast::Forecast;
pub use host::{Host, OVER_RELAXATION, in_f32};
pub use kind::{Kind, Method};
pub use monitor::{Monitor, Order};
pub use plan::{Candidate, MEMORY, Options, Plan, Reason, Why};
pub use problem::{
    Builder, Built, Kept, Levels, Observer, Outcomes, Problem, Tried, krylov, negated, relative_residual,
};
pub use run::{Event, Last, Run};
pub use solid::is_solid;
pub use solve::{DIRECT, solve_by_plan};
