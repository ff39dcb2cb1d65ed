//! Smoothed aggregation over ranks: invariants on threads as ranks.

mod agglomeration;
mod agreement;
mod invariants;
mod updates;
