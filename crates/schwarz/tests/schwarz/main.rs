//! Domains: formulas, laws, patches, and one level with overlap.

mod common;
mod damped;
mod formulas;
mod laws;
mod one_level;
mod patches;
