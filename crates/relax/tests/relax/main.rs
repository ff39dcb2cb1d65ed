//! Tests of relaxation: textbook formulas, properties of built objects, places and errors.

mod bad_input;
mod common;
mod incomplete;
mod places;
mod promises;
mod spai0;
mod spectrum;
mod textbook;
