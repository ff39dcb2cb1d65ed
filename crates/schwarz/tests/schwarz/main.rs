//! Domains: their growth, matrices and lists, formulas, invariants, patches, and one level with overlap.

mod cancel;
mod common;
mod damped;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod domain_matrices;
mod formulas;
mod growth;
mod high_degree;
mod invariants;
mod least_energy;
mod levels;
mod links;
mod numbering;
mod one_level;
mod overlap;
mod packed;
mod patches;
mod rebuilds;
#[path = "../../../../tests/common/spring.rs"]
mod spring;
