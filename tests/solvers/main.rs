//! Properties and iteration counts of complete solvers, in one program, because every test here compiles most
//! of the library.

#[path = "../common/mod.rs"]
mod common;

mod cancel;
mod cloth;
mod constraints;
mod convergence;
mod descent;
mod drivers;
mod inside;
mod invariants;
mod mixed_precision;
mod multigrid;
mod pyamg;
mod ranks;
mod real;
mod reuse;
mod step;
