//! Relaxation: formulas of the textbooks, promises, places and refusals.

mod bad_input;
mod common;
mod places;
mod promises;
mod textbook;
