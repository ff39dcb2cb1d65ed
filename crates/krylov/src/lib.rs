//! Krylov methods. Convergence is checked by recomputing the residual.
//!
//! Each method is one file that follows its paper. [`Krylov`] is the trait of all methods; a program that calls
//! `solve` of a method does not need it. Methods use only the traits of `coarsen-core`, so that the same code runs
//! on host, device and distributed vectors. A program can use this crate alone:
//!
//! ```
//! use coarsen_krylov::{Cg, Error, Identity, Stop, from_fn};
//! fn main() -> Result<(), Error> {
//!     let a = from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| (0..3).for_each(|i| y[i] = (i + 2) as f64 * x[i]));
//!     let (b, mut x) = ([2.0, 3.0, 4.0], vec![0.0; 3]);
//!     let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut Identity, &b[..], &mut x)?.converged()?;
//!     println!("{report}");
//!     assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-9));
//!     Ok(())
//! }
//! ```
//!
//! | file | what |
//! |---|---|
//! | [`krylov`](Krylov) | the trait of all methods, and their `solve` |
//! | [`cg`](Cg) | symmetric positive definite A, fixed M; the template for a new method |
//! | [`single_reduction_cg`](SingleReductionCg) | conjugate gradients with one reduction per iteration |
//! | [`pipelined_cg`](PipelinedCg) | conjugate gradients whose reduction overlaps with M and A |
//! | [`block_cg`](BlockCg) | conjugate gradients for several right-hand sides |
//! | [`fixed_cg`](FixedCg) | conjugate gradients with a fixed number of iterations, without synchronisation |
//! | [`flexible_cg`](FlexibleCg) | symmetric positive definite A, variable M |
//! | [`minres`](Minres) | symmetric indefinite A |
//! | [`gmres`](Gmres) | general A; restarted, flexible on request |
//! | [`bicgstab`](BiCgStab) | general A, short recurrences |
//! | [`richardson`](Richardson) | the stationary iteration |
//! | [`null_space`](Projected) | singular A: any method with the null space projected out |
//! | [`spectrum`](SpectralRadius) | eigenvalues by the Lanczos process; the largest eigenvalue of D⁻¹A |
//! | `solve` | a solve around a recurrence: checks of the input, restarts, the outcome |
//! | `convergence_test` | convergence checks while a recurrence runs |
//! | `scaling` | residuals, and right-hand sides whose squares overflow or underflow |

mod bicgstab;
mod block_cg;
mod cg;
mod convergence_test;
mod fixed_cg;
mod flexible_cg;
mod gmres;
mod krylov;
mod minres;
mod null_space;
mod pipelined_cg;
mod richardson;
mod scaling;
mod single_reduction_cg;
mod solve;
mod spectrum;

pub use coarsen_core::{
    Accepted, Dot, Error, FromFn, History, Identity, Iteration, LinearOperator, MixedPrecision, Monitor,
    NotConverged, Outcome, Preconditioner, PreconditionerKind, Real, Report, Scalar, Stop, Vector, every,
    from_fn, parallel,
};

pub use bicgstab::BiCgStab;
pub use block_cg::BlockCg;
pub use cg::Cg;
pub use fixed_cg::FixedCg;
pub use flexible_cg::FlexibleCg;
pub use gmres::Gmres;
pub use krylov::{AsVector, Krylov};
pub use minres::Minres;
pub use null_space::{NullSpace, NullSpaceError, Projected};
pub use pipelined_cg::PipelinedCg;
pub use richardson::Richardson;
pub use single_reduction_cg::SingleReductionCg;
pub use spectrum::{SpectralRadius, start_vector};
