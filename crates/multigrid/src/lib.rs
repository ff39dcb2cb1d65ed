//! Multigrid: a hierarchy of systems of decreasing size, and cycles through the hierarchy.
//!
//! A method is an implementation of [`Coarsening`]: it computes a prolongation from a grid. The setup loop,
//! cycles, updates and the coarsest solve are common to all methods. Start reading at `hierarchy/cycle.rs`
//! and `smoothed_aggregation/mod.rs`.
//!
//! | file | what |
//! |---|---|
//! | [`multigrid`](Multigrid) | the recipe: cycle, smoothing, sizes, the data that an update keeps |
//! | [`coarsening`](Coarsening) | the interface of a method |
//! | [`over_domains`](OverDomains) | domains of multilevel Schwarz as the finest smoother |
//! | [`hierarchy`](Hierarchy) | the setup loop; `cycle`, `coarsest`, `update`, `patch`, `numeric`, `term`, `free`, `table` |
//! | [`per_level`](PerLevel) | a smoother for each level |
//! | [`matrix_free`](MatrixFree) | a finest level given as an operator |
//! | [`narrow`](NarrowHierarchy) | hierarchies in f32 for vectors in f64 |
//! | [`smoothed_aggregation`](SmoothedAggregation) | Tamstorf 2015: special nodes, aggregates, local QR, smoothing |
//! | [`skinning`](Skinning) | Xian 2019: handles, affine coordinates, null spaces |
//! | [`node_embedding`](NodeEmbedding) | Wang 2020 (HOT): the nodes of a grid, embedded in coarser grids |
//! | [`geometric`](Geometric), [`ruge_stueben`](RugeStueben), [`plain_aggregation`](PlainAggregation) | methods of one file each; examples for a new method |

mod coarsening;
mod geometric;
mod hierarchy;
mod matrix_free;
mod multigrid;
mod narrow;
mod node_embedding;
mod over_domains;
mod per_level;
mod plain_aggregation;
mod ruge_stueben;
mod skinning;
mod smoothed_aggregation;
mod stiffen;

pub use coarsening::{Coarse, Coarsening, Grid};
pub use geometric::Geometric;
pub use hierarchy::{Hierarchy, NumericPlan, hold_free};
pub use matrix_free::MatrixFree;
pub use multigrid::{Coarsest, Compared, Cycle, JacobiCg, Keep, Multigrid, SmootherRecipe, Smoothing};
pub use narrow::NarrowHierarchy;
pub use node_embedding::{Embedded, Kernel, NodeEmbedding, Nodes, Restraint};
pub use over_domains::OverDomains;
pub use per_level::PerLevel;
pub use plain_aggregation::PlainAggregation;
pub use ruge_stueben::RugeStueben;
pub use skinning::{Controlled, Coordinates, Cut, Handles, Sampling, Skinning, Weights};
pub use smoothed_aggregation::{
    Exchange, GhostNode, Modes, RankAggregates, SmoothedAggregation, Spread, Spreading, Thresholds,
};
