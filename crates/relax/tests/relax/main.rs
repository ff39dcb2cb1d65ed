//! Tests of relaxation: textbook formulas, properties of built objects, places and errors.

mod bad_input;
mod common;
mod places;
mod promises;
mod textbook;
