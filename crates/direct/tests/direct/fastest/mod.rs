//! The default engine, faer if it is built: the tests of all factors and pseudo-inverses, and the reports of faer.

use coarsen_direct::Engine;

/// The engine tested here.
const ENGINE: Engine = Engine::Fastest;

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

#[cfg(feature = "faer")]
mod tells;
