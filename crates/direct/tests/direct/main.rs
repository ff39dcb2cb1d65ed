//! Factors: laws, refusals, figures, and systems from files.

mod choice;
mod common;
mod dense;
mod laws;
mod real_data;
mod setup;
mod tells;
