//! Smoothed aggregation over ranks: laws on threads as ranks.

mod agreement;
mod fewer;
mod laws;
mod updates;
