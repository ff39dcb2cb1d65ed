//! `Engine::Own`: the tests of all factors and pseudo-inverses, and its reports.

use coarsen_direct::Engine;

/// The engine tested here.
const ENGINE: Engine = Engine::Own;

#[path = "../choice.rs"]
mod choice;
#[path = "../common.rs"]
mod common;
#[path = "../dense.rs"]
mod dense;
#[path = "../invariants.rs"]
mod invariants;
#[path = "../real_data.rs"]
mod real_data;
#[path = "../singular.rs"]
mod singular;

mod tells;
