//! Multilevel additive Schwarz over ranks: invariants on threads as ranks.

mod invariants;
mod updates;
