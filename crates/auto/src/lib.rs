//! `auto`: automatic choice of a solver, with a bound on the cost of wrong forecasts.
//!
//! [`Auto::choose`] analyses a system and returns a choice with its reasons. [`Auto::solve`] solves the
//! system. The number of iterations of a method is not known in advance, so forecasts are made while it runs.
//! A [`Rental`] ensures that the total work is at most three times the smaller of two values: the work of all
//! methods tried, and the work of a sparse factor.
//!
//! | file | contents |
//! |---|---|
//! | [`auto`](Auto) | the entry points: choose and solve |
//! | [`sequence`](Sequence) | similar systems that follow each other |
//! | [`choose`](Choice) | the choice from symmetry, definiteness and size, with its reasons as data |
//! | [`cost`](Costs) | the work of setups, iterations and factors |
//! | [`forecast`](Forecast) | forecasts of the number of iterations |
//! | [`ledger`](Ledger) | the work done so far |
//! | [`rent`](Rental) | the rule for ordering and computing a factor, and the bound |
//! | [`meter`](Meter) | the monitor of a running method |
//! | [`drive`](drive()) | the order of attempts |
//! | [`course`](Course) | the record of a run |
//! | [`solid`](is_solid()) | whether the nodes fill a volume, so that skinning is considered |
//! | `cpu` | the methods on the CPU, for [`Auto::solve`] |
//! | [`attainable`](attainable()) | the smallest residual that f64 allows |

mod attainable;
mod auto;
mod choose;
mod cost;
mod course;
mod cpu;
mod drive;
mod forecast;
mod kind;
mod ledger;
mod meter;
mod rent;
mod seen;
mod sequence;
mod solid;

pub use attainable::{attainable, is_floor};
pub use auto::{Auto, AutoError, Floor, Solved};
pub use choose::{Choice, MEMORY, Plan, Reason, Wish};
pub use cost::Costs;
pub use course::{Course, End, Event, Last};
pub use drive::{Factored, Step, Steps, Terms, drive};
pub use forecast::Forecast;
pub use kind::{Kind, Method};
pub use ledger::{Item, Ledger};
pub use meter::{Meter, Order};
pub use rent::{Advice, NoFactor, Price, Rental};
pub use sequence::Sequence;
pub use solid::is_solid;
