//! Tests of the command as a user runs it.

mod aggregation;
mod auto;
mod backend;
mod bad_input;
mod cases;
mod columns;
mod common;
mod compare;
mod complex;
mod constraints;
mod corrupted;
mod curl;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod files;
mod flags;
#[path = "../../../../tests/common/flags.rs"]
mod flags_of_help;
mod generate;
mod help;
mod mas;
mod mesh;
mod minimize;
mod numpy;
mod options;
mod outcomes;
mod output;
#[path = "../../../../tests/common/outputs.rs"]
mod outputs;
mod pages;
mod scramble;
mod sequence;
mod spy;
mod words;
