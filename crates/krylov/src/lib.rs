//! Krylov methods that never lie about convergence.
//!
//! Each method is one file that reads like its paper; what they share is in two: [`Krylov`] is the signature, `convergence_test` the
//! judgement (looks, restarts from the true residual, the outcome). They are written against the traits of
//! `coarsen-core` alone, so one text runs on host vectors, device vectors and distributed ones. What their signatures name is re-exported.
//!
//! | file | what |
//! |---|---|
//! | [`krylov`](Krylov) | the signature of every method |
//! | [`cg`](Cg) | symmetric positive definite A, fixed M: the file to copy for a new method |
//! | [`single_reduction_cg`](SingleReductionCg) | the same with one reduction an iteration |
//! | [`block_cg`](BlockCg) | the same for several right-hand sides |
//! | [`flexible_cg`](FlexibleCg) | the same A, an M that varies |
//! | [`minres`](Minres) | symmetric indefinite A |
//! | [`gmres`](Gmres) | general A; restarted, flexible on request |
//! | [`bicgstab`](BiCgStab) | general A, short recurrences |
//! | [`richardson`](Richardson) | the stationary iteration |
//! | [`null_space`](Projected) | singular A: any method with what A does not see projected out |
//! | [`spectrum`](SpectralRadius) | the largest eigenvalue of D⁻¹A by generalized Lanczos |
//! | `start` | what is checked before the first write; vectors kept between solves |
//! | `convergence_test` | when a solve ends, and how |
//! | `scale` | right-hand sides whose squares leave the range of their numbers |
//! | `tridiagonal` | the eigenvalues of a Lanczos matrix by Sturm sequences |
//! | [`error`](NullSpaceError) | what cannot be a null space |

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
mod richardson;
mod scale;
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
pub use richardson::Richardson;
pub use single_reduction_cg::SingleReductionCg;
pub use spectrum::{SpectralRadius, start_vector};
