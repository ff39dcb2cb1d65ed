//! A mutant, and the crates that have some.

use serde::{Deserialize, Serialize};

/// The crates that the sample is drawn from, in the order of their layers.
pub(crate) const CRATES: [&str; 8] =
    ["core", "krylov", "sparse", "optimize", "direct", "relax", "schwarz", "multigrid"];

/// A mutant as `cargo mutants --list --json` writes it, and its number here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mutant {
    #[serde(default)]
    pub(crate) number: u32,
    pub(crate) package: String,
    pub(crate) file: String,
    pub(crate) genre: Genre,
    pub(crate) replacement: String,
    pub(crate) span: Span,
    /// What `cargo mutants` calls it: place and change in one line.
    pub(crate) name: String,
}

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Genre {
    /// The whole function returns a value at once.
    FnValue,
    BinaryOperator,
    UnaryOperator,
    /// The arm of a match is gone.
    MatchArm,
    /// The guard of an arm is always true, or never.
    MatchArmGuard,
    /// A field of a struct with `..base` is gone.
    StructField,
}

/// Lines from 1; columns in characters from 1, the end exclusive.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Position,
    pub(crate) end: Position,
}

/// A line and a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}
