//! Minimisation: theorems, formulas of textbooks, outcomes of descents, and data kept between steps.

mod common;
mod endings;
mod laws;
mod memory;
mod textbook;
