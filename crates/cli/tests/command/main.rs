//! The command as its users run it.

mod bad_input;
mod common;
mod generate;
mod outcomes;
mod output;
