//! Sparse solvers for people who simulate: cloth, soft bodies, granular matter, structures.
//!
//! A solve has three parts: an operator A, a preconditioner M built from it at a place ([`backend`]), and a Krylov method
//! that owns its vectors. It ends with a [`Report`] whose residual is recomputed from the returned x.
//!
//! ```
//! use coarsen::prelude::*;
//! let problem = coarsen::problems::Problem::parse("poisson2d:20", &Default::default())?;
//! let a = &problem.matrix; // or matrix_market::read("a.mtx")?
//! let b = vec![1.0; a.shape().0];
//! let mut x = vec![0.0; b.len()];
//! let mut m = Ic0::default().build(a, &Cpu::new())?;
//! let report = Cg::new(Stop::relative(1e-8)).solve(a, &mut m, &b, &mut x)?.converged()?;
//! println!("{report}"); // outcome, iterations, true residual
//! # Ok::<(), AnyError>(())
//! ```
//!
//! # In `Cargo.toml`
//!
//! ```toml
//! [dependencies]
//! coarsen = { path = "../coarsen" }    # a clone of the repository
//!
//! [profile.dev]
//! opt-level = 1                        # optimise solvers in debug builds too
//! ```
//!
//! | feature | default | what it adds | crates |
//! |---|---|---|---|
//! | (none) | | all solvers and the choice among them, with factors of our own | 33 |
//! | `direct` | yes | faer factors instead, faster where fill is large: see [`direct::Engine`] | 44 more |
//! | `gallery` | yes | [`problems`]: systems for tests and examples | 2 more |
//! | `optimize` | yes | [`optimize`], [`elastic`] and [`follow`]: descent methods and soft bodies | 2 more |
//! | `opencl` | no | OpenCL devices; the library is looked for when the program runs | 23 more |
//! | `sprs`, `nalgebra-sparse`, `faer` | no | conversions from and to the matrices of these crates | 8, 16, 45 more |
//!
//! Without the default features: `coarsen = { path = "../coarsen", default-features = false }`, and `features = [..]` for those
//! that are wanted.
//!
//! # Modules
//!
//! Each layer is a crate of its own, re-exported here under its short name:
//!
//! | module | what |
//! |---|---|
//! | this one | the vocabulary: [`Vector`], [`LinearOperator`], [`Preconditioner`], [`Stop`], [`Report`] |
//! | [`sparse`] | host matrices, assembly, products, graphs, near-kernels |
//! | [`matrix_market`] | Matrix Market files |
//! | [`constraints`] | what x must satisfy, filtered out of a system; given values |
//! | [`diagnose`](mod@diagnose) | what is wrong with a system |
//! | [`krylov`] | `Cg`, `FlexibleCg`, `Minres`, `Gmres`, `BiCgStab`, `Richardson` |
//! | [`backend`] | where a solve runs; [`AnyBackend`] is decided when a program starts |
//! | [`relax`] | Jacobi, block Jacobi, Chebyshev, Gauss-Seidel, SSOR, IC(0), ILU(0) |
//! | [`schwarz`] | multilevel additive Schwarz |
//! | [`multigrid`] | hierarchies, cycles, smoothed aggregation |
//! | [`direct`] | sparse and dense factorisations |
//! | [`mesh`] | triangles and tetrahedra from files |
//! | [`elastic`] | elastic energies, and a time step as an objective; behind the feature `optimize` |
//! | [`problems`] | the gallery, behind the feature `gallery` |
//! | [`optimize`] | Newton, L-BFGS and other descent methods around any preconditioner; behind the feature of its name |
//! | [`follow`] | objectives whose preconditioner follows the Hessian; behind the feature `optimize` |
//! | `interop` | sprs, nalgebra-sparse, faer, each behind the feature of its name |
//! | `opencl` | OpenCL devices, behind the feature `opencl` |

mod any;
mod error;
#[cfg(feature = "optimize")]
pub mod follow;

pub use any::{AnyBackend, AnyBlocks, AnyMatrix, AnyRows, AnyScalar, AnyVector, BackendChoice, Unavailable};
pub use error::AnyError;

pub use coarsen_core::{
    Accepted, Action, Cancel, Class, Decision, Dot, Error, Every, FromFn, History, Identity, Iteration,
    LinearOperator, MixedPrecision, Monitor, Narrow, NotConverged, Objective, Outcome, Preconditioner, Real,
    RebuildPolicy, Report, RitzValues, Scalar, Stop, Vector, every, from_fn, largest, parallel, power_of_two,
};
pub use {
    coarsen_auto as auto, coarsen_backend as backend, coarsen_constraints as constraints,
    coarsen_diagnose as diagnose, coarsen_direct as direct, coarsen_krylov as krylov,
    coarsen_matrix_market as matrix_market, coarsen_mesh as mesh, coarsen_multigrid as multigrid,
    coarsen_relax as relax, coarsen_schwarz as schwarz, coarsen_sparse as sparse,
};

#[cfg(feature = "gallery")]
pub use coarsen_problems as problems;
#[cfg(feature = "optimize")]
pub use {coarsen_elastic as elastic, coarsen_optimize as optimize};

#[cfg(any(feature = "sprs", feature = "nalgebra-sparse", feature = "faer"))]
pub use coarsen_interop as interop;
#[cfg(feature = "opencl")]
pub use coarsen_opencl as opencl;

/// What a program that solves systems imports.
pub mod prelude {
    pub use crate::{AnyBackend, AnyError, BackendChoice};
    pub use coarsen_backend::{Backend, Cpu, Prepared, Reused, Setup, UpdateExt};
    pub use coarsen_constraints::{Constraints, prefilter};
    pub use coarsen_core::{
        Class, History, Identity, LinearOperator, Monitor, Outcome, Preconditioner, Real, Report, Stop,
        Vector, every, from_fn, parallel::threads,
    };
    pub use coarsen_direct::Direct;
    pub use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, Projected};
    pub use coarsen_matrix_market as matrix_market;
    pub use coarsen_multigrid::{Cycle, Hierarchy, Keep, Multigrid, SmoothedAggregation};
    #[cfg(feature = "optimize")]
    pub use coarsen_optimize::{Backtracking, Descent, Lbfgs, MoreThuente, Newton, Objective, Refresh};
    pub use coarsen_relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi};
    pub use coarsen_schwarz::Schwarz;
    pub use coarsen_sparse::{Bsr, NearKernel, System, Zeros, assembly};
}
