//! Factors and pseudo-inverses of both engines, each by the same tests; their results compared; their setups.

#![allow(clippy::duplicate_mod, reason = "the tests of either engine are the same files")]

mod against;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod fastest;
mod own;
mod setup;
