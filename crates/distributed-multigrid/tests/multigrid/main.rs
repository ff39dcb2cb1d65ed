//! Smoothed aggregation over ranks: laws on threads as ranks.

mod fewer;
mod laws;
mod updates;
