//! `Engine::Own`: the tests of all factors and pseudo-inverses again, its reports, and its results compared
//! with the results of faer.

#![allow(
    clippy::duplicate_mod,
    reason = "each file of laws brings what it shares, as it is a program of its own too"
)]

use coarsen_direct::Engine;

/// The engine tested here.
const ENGINE: Engine = Engine::Own;

#[path = "../choice.rs"]
mod choice;
#[path = "../dense.rs"]
mod dense;
#[path = "../laws.rs"]
mod laws;
#[path = "../real_data.rs"]
mod real_data;
#[path = "../singular.rs"]
mod singular;

mod against;
mod tells;

#[path = "../common/mod.rs"]
mod common;
