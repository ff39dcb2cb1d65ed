//! Tests of relaxation: textbook formulas, properties of built objects, backends and errors.

mod backends;
mod bad_input;
mod common;
mod incomplete;
mod promises;
mod spai0;
mod spectrum;
mod textbook;
