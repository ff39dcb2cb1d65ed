//! Smoothed aggregation on matrices whose rows are divided among ranks.
//!
//! Aggregates do not cross ranks. The smoothing of the prolongation and the Galerkin product do, so that P and the
//! coarse matrices are those of a single rank with these aggregates. A coarse level is on the ranks of its aggregates, or on
//! fewer if these would have little to do; a small level is gathered on rank 0, which solves it with the multigrid of a
//! single rank.
//!
//! | symbol | here | file |
//! |---|---|---|
//! | A, K | rows and near-kernel of the own nodes | `LevelRows` in `step` |
//! | A of own nodes and ghosts | `Extended`, the local square matrix | `extended` |
//! | 𝒜ᵢ, Q, R, P | aggregates, bases, coarse near-kernel, prolongation | `step`, with `RankAggregates` of `coarsen-multigrid` |
//! | PᵀAP | Galerkin product | `galerkin` |
//! | | rows to which several ranks contribute | `owners` |
//! | p(D⁻¹A) | Chebyshev smoother | `smoother` |
//! | | a coarse level on fewer ranks | `agglomeration` |
//! | | the coarsest level on rank 0 | `gathered` |
//! | | a level on the backend of each rank, V-cycle | `level` |
//! | | levels, updates | [`hierarchy`](DistHierarchy) |
//!
//! *Reference* Tamstorf, Jones, McCormick 2015, Algorithm 3; Tuminaro & Tong 2000, "Parallel smoothed aggregation
//! multigrid: aggregation strategies on massively parallel machines" (aggregates within ranks).

mod agglomeration;
mod extended;
mod galerkin;
mod gathered;
mod hierarchy;
mod level;
mod owners;
mod smoother;
mod step;

pub use hierarchy::{DistHierarchy, DistMultigrid};
