//! The basic traits and types of `coarsen`: vectors, operators, preconditioners, stopping rules and reports.
//!
//! Methods such as conjugate gradients and descent use only these traits, so that the same code runs on
//! `Vec<f64>`, on device vectors and on distributed vectors. This crate has no matrix format and no backend.
//!
//! | file | what |
//! |---|---|
//! | [`real`](Real), `numbers` | the trait of real numbers; `f32` and `f64` |
//! | [`scalar`](Scalar) | scalars that a device or a sum over ranks may still compute |
//! | [`vector`](Vector) | vector operations of Krylov methods; `host` implements them for `Vec<T>` |
//! | `vector_loops` | the loops over host vectors, compiled once for each type |
//! | [`operator`](LinearOperator) | y = A x; [`from_fn`] for matrix-free operators |
//! | [`mixed_precision`](MixedPrecision) | an operator rounded to f32 for products, the exact operator for residuals |
//! | [`preconditioner`](Preconditioner) | z = M⁻¹ r |
//! | [`preconditioner_kind`](PreconditionerKind) | what a method may rely on in a preconditioner |
//! | [`objective`](Objective) | a function f(x) to be minimised |
//! | `f32_preconditioner` | a preconditioner applied in f32 to vectors in f64 |
//! | [`stop`](Stop) | the stopping rule |
//! | [`monitor`](Monitor) | functions called while a solve runs |
//! | [`cancel`](Cancel) | cancelling a setup from another thread |
//! | [`report`](Report) | how a solve ended |
//! | [`parallel`] | parallel loops and sums with the same bits for any number of threads |
//! | [`largest`](largest()) | the largest absolute value of many numbers, and whether all are finite |
//! | [`simd`] | kernels compiled for the instruction set of the machine |
//! | [`small_dense`] | eigenvectors and a Cholesky factor of small matrices, and memory for them |
//! | [`compiled`](Compiled) | kernels compiled once for both `f32` and `f64` |
//! | [`random`](SplitMix64) | reproducible pseudorandom numbers |
//! | [`error`](Error) | failures of the machine or of the input |

mod cancel;
mod compiled;
#[macro_use]
mod error;
mod f32_preconditioner;
mod largest;
mod mixed_precision;
mod monitor;
mod numbers;
mod objective;
mod operator;
pub mod parallel;
mod preconditioner;
mod preconditioner_kind;
mod random;
mod real;
mod report;
mod scalar;
pub mod simd;
pub mod small_dense;
mod stop;
mod vector;
mod vector_loops;

pub use cancel::Cancel;
pub use compiled::Compiled;
pub use error::Error;
pub use f32_preconditioner::F32Preconditioner;
pub use largest::largest;
pub use mixed_precision::MixedPrecision;
pub use monitor::{History, Iteration, Monitor, every};
pub use objective::Objective;
pub use operator::{FromFn, LinearOperator, from_fn};
pub use preconditioner::{Identity, Preconditioner};
pub use preconditioner_kind::PreconditionerKind;
pub use random::SplitMix64;
pub use real::{Real, power_of_two};
pub use report::{Accepted, NotConverged, Outcome, Report};
pub use scalar::{Dot, Scalar};
pub use stop::Stop;
pub use vector::{Vector, products, vectors_like};
