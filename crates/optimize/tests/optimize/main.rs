//! Minimisation: theorems, formulas of textbooks, line searches, outcomes of descents, data kept between steps, and checks of
//! derivatives.

mod backtracking;
mod checks;
mod common;
mod endings;
mod invariants;
mod memory;
mod more_thuente;
mod refreshes;
mod textbook;
