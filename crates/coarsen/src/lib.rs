//! Solvers for large sparse linear systems from simulations: cloth, soft bodies, heat, structures, contact.
//!
//! A solve has three parts: an operator A; a preconditioner M, which is built from A on a
//! [backend](mod@backend); and a Krylov method, which owns its work vectors. It returns a [`Report`], whose residual
//! is recomputed from the returned x.
//!
//! ```
//! use coarsen::sparse::System;
//! use coarsen::{AnyError, Cg, Cpu, Stop, smoothed_aggregation};
//! let body = coarsen::problems::Problem::parse("elasticity3d:8", &Default::default())?;
//! let a = body.matrix; // blocks of 3x3; of a file: matrix_market::read("a.mtx")?.reblock((3, 3), Zeros::Drop)?
//! let b = vec![1.0; a.shape().0];
//! let mut x = vec![0.0; b.len()];
//! let system = System { positions: Some(&body.positions), ..System::from(&a) }; // or &a alone
//! let mut m = smoothed_aggregation().build(system, &Cpu::new())?;
//! let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
//! println!("{report}"); // outcome, iterations, true residual
//! m.update(&a)?; // new values in the next time step
//! # Ok::<(), AnyError>(())
//! ```
//!
//! `build`, `update`, `patch` and `solve` are inherent methods of all methods and preconditioners, so a program imports no trait.
//!
//! A block should contain the unknowns of one node: with 1x1 blocks, smoothed aggregation of an elastic body takes
//! 3.5 to 4.7 times the iterations. Examples on the pages of other crates import from these crates: `coarsen_krylov::Cg` is
//! `coarsen::krylov::Cg`. The [`prelude`] has the names that most programs need.
//!
//! A program needs `coarsen = { path = ".." }` under `[dependencies]`. The features `faer` (faster factorisations), `gallery`
//! (test problems) and `optimize` (energies and descent) are on by default; `contact`, `opencl`, and `sprs` and `nalgebra-sparse`
//! (conversions) are not. Solvers are slow without compiler optimisation, so set `opt-level = 1` in `[profile.dev]`.
//!
//! Each layer is a crate, re-exported here as the module with the name of its folder: `crates/matrix-market` is [`matrix_market`].
//! The table of folders in `README.md` says what each contains; `crates/core` is this page. `contact` and `opencl` need the features
//! of their names, and `interop` that of one of its libraries. This crate itself has [`Solver`] and [`Step`] with a
//! [`RebuildPolicy`], Schwarz domains as smoothers ([`OverDomains`]), and the [`descent`] of energies, with contact in
//! `ContactStepper` and `ConstrainedDescent`.

mod any;
#[cfg(feature = "contact")]
mod constrained_descent;
#[cfg(feature = "contact")]
mod contact_stepper;
#[cfg(feature = "optimize")]
pub mod descent;
mod error;
mod over_domains;
mod rebuild_policy;
mod solver;
mod step;

pub use any::{AnyBackend, AnyBlocks, AnyMatrix, AnyRows, AnyScalar, AnyVector, BackendChoice, Unavailable};
#[cfg(feature = "contact")]
pub use constrained_descent::{ConstrainedDescent, ObstacleConstraint, SupportStates};
#[cfg(feature = "contact")]
pub use contact_stepper::{ContactStepper, StepFault};
pub use error::AnyError;
pub use solver::{Solver, solve};
pub use step::{Step, StepUpdate};

pub use coarsen_core::{
    Accepted, Cancel, Dot, Error, F32Preconditioner, FromFn, History, Identity, Iteration, LinearOperator,
    MixedPrecision, Monitor, NotConverged, Objective, Outcome, Preconditioner, PreconditionerKind, Real,
    Report, Scalar, Stop, Vector, every, from_fn, largest, parallel, power_of_two,
};
pub use over_domains::OverDomains;
pub use rebuild_policy::{Action, Decision, RebuildPolicy};
pub use {
    coarsen_auto as auto, coarsen_backend as backend, coarsen_constraints as constraints,
    coarsen_diagnose as diagnose, coarsen_direct as direct, coarsen_krylov as krylov,
    coarsen_matrix_market as matrix_market, coarsen_mesh as mesh, coarsen_multigrid as multigrid,
    coarsen_node_embedding as node_embedding, coarsen_relax as relax, coarsen_ruge_stueben as ruge_stueben,
    coarsen_schwarz as schwarz, coarsen_skinning as skinning,
    coarsen_smoothed_aggregation as smoothed_aggregation, coarsen_sparse as sparse,
};
// Functions with the name of their module.
pub use {
    coarsen_node_embedding::node_embedding, coarsen_ruge_stueben::ruge_stueben, coarsen_skinning::skinning,
    coarsen_smoothed_aggregation::smoothed_aggregation,
};

pub use coarsen_backend::{Cpu, Transfers};
pub use coarsen_krylov::{BiCgStab, Cg, FixedCg, FlexibleCg, Gmres, Minres};
pub use coarsen_sparse::assembly;

#[cfg(feature = "gallery")]
pub use coarsen_problems as problems;
#[cfg(feature = "optimize")]
pub use {coarsen_elastic as elastic, coarsen_optimize as optimize};

#[cfg(feature = "contact")]
pub use coarsen_contact as contact;
#[cfg(feature = "opencl")]
pub use coarsen_opencl as opencl;
#[cfg(any(feature = "sprs", feature = "nalgebra-sparse", feature = "faer"))]
pub use coarsen_sparse::interop;

/// The names that most programs need.
pub mod prelude {
    pub use crate::{AnyBackend, AnyError, BackendChoice, OverDomains, Solver};
    pub use coarsen_auto::Auto;
    pub use coarsen_backend::{Backend, Cpu, Prepared, Reused, Setup, Update};
    pub use coarsen_constraints::{Constraints, prefilter};
    pub use coarsen_core::{
        Dot, History, Identity, LinearOperator, Monitor, Outcome, Preconditioner, PreconditionerKind, Real,
        Report, Stop, Vector, every, from_fn, parallel::threads,
    };
    pub use coarsen_direct::Direct;
    pub use coarsen_krylov::{
        BiCgStab, Cg, FixedCg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, Projected,
    };
    pub use coarsen_matrix_market as matrix_market;
    pub use coarsen_multigrid::{Cycle, Hierarchy, Keep, Multigrid};
    pub use coarsen_node_embedding::{NodeEmbedding, node_embedding, node_embedding_of};
    #[cfg(feature = "optimize")]
    pub use coarsen_optimize::{Backtracking, Descent, Lbfgs, MoreThuente, Newton, Objective, Refresh};
    pub use coarsen_relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi};
    pub use coarsen_ruge_stueben::ruge_stueben;
    pub use coarsen_schwarz::Schwarz;
    pub use coarsen_skinning::{skinning, skinning_levels};
    pub use coarsen_smoothed_aggregation::{
        SmoothedAggregation, plain_aggregation, smoothed_aggregation, tamstorf,
    };
    pub use coarsen_sparse::{Bsr, NearKernel, System, Zeros, assembly};
}
