//! Krylov methods. Convergence is checked by recomputing the residual.
//!
//! Each method is one file that follows its paper. [`Krylov`] is the trait of all methods. `convergence_test`
//! tests convergence, restarts from the recomputed residual and determines the outcome. Methods use only the
//! traits of `coarsen-core`, so that the same code runs on host, device and distributed vectors. Types in
//! their signatures are re-exported.
//!
//! | file | what |
//! |---|---|
//! | [`krylov`](Krylov) | the trait of all methods |
//! | [`cg`](Cg) | symmetric positive definite A, fixed M; the template for a new method |
//! | [`single_reduction_cg`](SingleReductionCg) | conjugate gradients with one reduction per iteration |
//! | [`pipelined_cg`](PipelinedCg) | conjugate gradients whose reduction runs beside M and A |
//! | [`block_cg`](BlockCg) | conjugate gradients for several right-hand sides |
//! | [`flexible_cg`](FlexibleCg) | symmetric positive definite A, variable M |
//! | [`minres`](Minres) | symmetric indefinite A |
//! | [`gmres`](Gmres) | general A; restarted, flexible on request |
//! | [`bicgstab`](BiCgStab) | general A, short recurrences |
//! | [`richardson`](Richardson) | the stationary iteration |
//! | [`null_space`](Projected) | singular A: any method with the null space projected out |
//! | [`spectrum`](SpectralRadius) | the largest eigenvalue of D⁻¹A by generalized Lanczos |
//! | `start` | checks before the first write; vectors kept between solves |
//! | `convergence_test` | convergence tests, restarts and the outcome |
//! | `settling` | the test in the norm of the preconditioner |
//! | `residual` | residuals and their norms |
//! | `scale` | right-hand sides whose squares overflow or underflow |
//! | `tridiagonal` | the eigenvalues of a Lanczos matrix by Sturm sequences |
//! | [`error`](NullSpaceError) | errors of null spaces |

mod bicgstab;
mod block_cg;
mod cg;
mod convergence_test;
mod error;
mod flexible_cg;
mod gmres;
mod krylov;
mod minres;
mod null_space;
mod pipelined_cg;
mod residual;
mod richardson;
mod scale;
mod settling;
mod single_reduction_cg;
mod spectrum;
mod start;
mod tridiagonal;

pub use coarsen_core::{
    Class, Error, Identity, LinearOperator, Monitor, Outcome, Preconditioner, Report, Stop, Vector,
};

pub use bicgstab::BiCgStab;
pub use block_cg::BlockCg;
pub use cg::Cg;
pub use error::NullSpaceError;
pub use flexible_cg::FlexibleCg;
pub use gmres::Gmres;
pub use krylov::Krylov;
pub use minres::Minres;
pub use null_space::{NullSpace, Projected};
pub use pipelined_cg::PipelinedCg;
pub use richardson::Richardson;
pub use single_reduction_cg::SingleReductionCg;
pub use spectrum::{SpectralRadius, start_vector};
