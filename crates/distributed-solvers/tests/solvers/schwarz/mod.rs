//! Multilevel additive Schwarz over ranks: laws on threads as ranks.

mod laws;
mod updates;
