//! Minimisers: laws, textbook functions, and outcomes of runs.

mod common;
mod endings;
mod laws;
mod memory;
mod textbook;
