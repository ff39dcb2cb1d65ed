//! Multigrid: a hierarchy of systems of decreasing size, and cycles through the hierarchy.
//!
//! A method is an implementation of [`Coarsening`]: it computes a prolongation from a grid. The setup loop, cycles, updates
//! and the coarsest solve are common to all methods. Start reading at `hierarchy/cycle.rs`. The methods are separate crates:
//! `coarsen-smoothed-aggregation`, `coarsen-skinning`, `coarsen-node-embedding`, `coarsen-ruge-stueben`. A program can use this
//! crate alone, or the crate of one method alone ([`SmootherParameters`] has an example).
//!
//! | file | what |
//! |---|---|
//! | [`multigrid`](Multigrid) | the parameters: cycle, smoothing, sizes, the data that an update keeps |
//! | [`coarsening`](Coarsening) | the interface of a method |
//! | [`hierarchy`](Hierarchy) | the setup loop; `method`, `smoother`, `cycle`, `coarsest`, `update`, `patch`, `numeric`, `term`, `rigid_modes`, `table` |
//! | [`per_level`](PerLevel) | a smoother for each level |
//! | [`matrix_free`](MatrixFree) | a finest level given as an operator |
//! | [`f32_hierarchy`](F32Hierarchy) | hierarchies in f32 for systems in f64 |
//! | [`geometric`](Geometric) | grids of points: one file, the template for a new method |

mod coarsening;
mod f32_hierarchy;
mod geometric;
mod hierarchy;
mod matrix_free;
mod multigrid;
mod per_level;
mod stiffen;

// What a program on this crate alone needs.
pub use coarsen_backend::{Backend, Cpu, Reused, Setup, SetupError, Smoother, SmootherFacts};
pub use coarsen_core::{
    Error, LinearOperator, Preconditioner, PreconditionerKind, Real, Report, Stop, from_fn,
};
pub use coarsen_krylov::{self as krylov, Cg, FlexibleCg};
pub use coarsen_relax as relax;
pub use coarsen_sparse::{self as sparse, Bsr, System, assembly};

pub use coarsening::{Coarse, Coarsening, Grid};
pub use f32_hierarchy::F32Hierarchy;
pub use geometric::Geometric;
pub use hierarchy::{CoarseningEnd, Hierarchy, LevelSize, NumericPlan, SetupStep, regularise_rigid_modes};
pub use matrix_free::MatrixFree;
pub use multigrid::{
    Coarsest, Cycle, JacobiCg, Keep, Multigrid, ResidualReference, SmootherParameters, Smoothing,
};
pub use per_level::PerLevel;
pub use stiffen::stiffen;
