//! Our own engine: all laws of factors and pseudo-inverses again, what it tells of itself, and its results
//! against those of faer.

#![allow(
    clippy::duplicate_mod,
    reason = "each file of laws brings what it shares, as it is a program of its own too"
)]

use coarsen_direct::Engine;

/// Whose code the laws test here.
const ENGINE: Engine = Engine::Own;

#[path = "../choice.rs"]
mod choice;
#[path = "../dense.rs"]
mod dense;
#[path = "../laws.rs"]
mod laws;
#[path = "../real_data.rs"]
mod real_data;

mod against;
mod tells;

#[path = "../common/mod.rs"]
mod common;
