//! Solvers and contact over ranks, on threads as ranks.

mod common;
mod contact;
mod schwarz;
mod smoothed_aggregation;
