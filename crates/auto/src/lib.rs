//! `auto`: which solver a system gets, and a bound on what a wrong forecast costs.
//!
//! [`Auto::choose`] looks at a system and says what it would do and why; [`Auto::solve`] does it. How many iterations a method takes nothing
//! tells before it runs, so forecasts are made while it runs, and a [`Rental`] sees to it that all work together is at most three times
//! the cheaper of what was tried and a sparse factor.
//!
//! | file | what |
//! |---|---|
//! | [`auto`](Auto) | the recipe: choose, solve |
//! | [`choose`](Choice) | method and preconditioner from symmetry, definiteness and size, with reasons as data |
//! | [`cost`](Costs) | work of setups, iterations and factors |
//! | [`forecast`](Forecast) | iterations to come |
//! | [`ledger`](Ledger) | work done |
//! | [`rent`](Rental) | when a factor is ordered and bought: the bound |
//! | [`meter`](Meter) | the watch over a running method |
//! | [`drive`](drive()) | the order of attempts, for whoever does the work |
//! | [`course`](Course) | what happened, as data |
//! | `cpu` | who does the work for [`Auto::solve`] |
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
