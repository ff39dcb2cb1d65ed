//! Minimisers: laws, textbook functions, and how runs end.

mod common;
mod endings;
mod laws;
mod memory;
mod textbook;
