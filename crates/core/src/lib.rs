//! The vocabulary of `coarsen`: what a vector, an operator, a preconditioner and an honest report are.
//!
//! Drivers (conjugate gradients, descent) are written against these traits alone, so one text runs on `Vec<f64>`,
//! on a device vector and on a distributed one. Nothing here knows a matrix format or a backend.
//!
//! | file | what |
//! |---|---|
//! | [`real`](Real), `numbers` | the trait of real numbers; `f32` and `f64` |
//! | [`scalar`](Scalar) | numbers that may not have arrived yet |
//! | [`dual`](Dual) | numbers that carry a derivative |
//! | [`vector`](Vector) | what Krylov methods need of a vector; `host` is its instance for `Vec<T>` |
//! | [`operator`](LinearOperator) | y = A x; [`from_fn`] for matrix-free ones |
//! | [`rounded`](Rounded) | one operator for products, another for residuals |
//! | [`preconditioner`](Preconditioner) | z = M⁻¹ r |
//! | [`objective`](Objective) | f(x), to be minimised |
//! | [`stop`](Stop) | when a solve may end |
//! | [`monitor`](Monitor) | who looks on |
//! | [`cancel`](Cancel) | ending a setup from outside |
//! | [`report`](Report) | how it ended |
//! | [`upkeep`](Upkeep) | when a preconditioner follows its system |
//! | [`parallel`] | the fixed tree that gives the same bits at any thread count |
//! | [`largest`](largest()) | the largest of many numbers, and whether all are finite |
//! | [`simd`] | kernels compiled for the instructions of the machine |
//! | [`compiled`](Compiled) | kernels compiled once for both types |
//! | [`buckets`](Buckets) | counting sort |
//! | [`random`](SplitMix64) | numbers that look random |
//! | [`error`](Error) | when the machine or the input failed |

mod buckets;
mod cancel;
mod compiled;
mod dual;
mod error;
mod largest;
mod monitor;
mod narrow;
mod numbers;
mod objective;
mod operator;
pub mod parallel;
mod preconditioner;
mod random;
mod real;
mod report;
mod rounded;
mod scalar;
pub mod simd;
mod stop;
mod upkeep;
mod vector;

pub use buckets::{Buckets, by_bucket};
pub use cancel::Cancel;
pub use compiled::Compiled;
pub use dual::Dual;
pub use error::Error;
pub use largest::largest;
pub use monitor::{Every, History, Iteration, Monitor, RitzValues, every};
pub use narrow::Narrow;
pub use objective::Objective;
pub use operator::{FromFn, LinearOperator, from_fn};
pub use preconditioner::{Class, Identity, Preconditioner};
pub use random::SplitMix64;
pub use real::{Real, power_of_two};
pub use report::{Accepted, NotConverged, Outcome, Report};
pub use rounded::Rounded;
pub use scalar::{Dot, Scalar};
pub use stop::Stop;
pub use upkeep::{Action, Decision, Upkeep};
pub use vector::{Vector, products};
