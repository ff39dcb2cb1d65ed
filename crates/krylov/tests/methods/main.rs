//! Tests every method against its contract, on small dense systems.

mod block_cg;
mod cg;
mod common;
mod every;
mod null_space;
mod range;
mod reductions;
mod replacement;
mod singular;
mod spectrum;
mod synchronisations;
mod textbook;
mod unsymmetric;
