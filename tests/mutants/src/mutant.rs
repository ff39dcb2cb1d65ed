//! Mutants, and the crates of the sample.

use serde::{Deserialize, Serialize};

/// The crates of the sample, in the order of their layers.
pub(crate) const CRATES: [&str; 11] = [
    "core",
    "krylov",
    "sparse",
    "optimize",
    "direct",
    "relax",
    "schwarz",
    "multigrid",
    "smoothed-aggregation",
    "skinning",
    "node-embedding",
];

/// The crates whose tests are the program `multigrid` of the root.
const BY_MULTIGRID: [&str; 4] =
    ["coarsen-multigrid", "coarsen-smoothed-aggregation", "coarsen-skinning", "coarsen-node-embedding"];

/// A mutant as in `cargo mutants --list --json`, with its number in the sample.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mutant {
    #[serde(default)]
    pub(crate) number: u32,
    pub(crate) package: String,
    pub(crate) file: String,
    pub(crate) genre: Genre,
    pub(crate) replacement: String,
    pub(crate) span: Span,
    /// The name in `cargo mutants`: position and change in one line.
    pub(crate) name: String,
}

impl Mutant {
    /// The package with the tests of the mutant's crate.
    pub(crate) fn tested_by(&self) -> &str {
        if BY_MULTIGRID.contains(&&*self.package) { "coarsen" } else { &self.package }
    }
}

/// The kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Genre {
    /// The function returns a value immediately.
    FnValue,
    BinaryOperator,
    UnaryOperator,
    /// A match arm is removed.
    MatchArm,
    /// The guard of a match arm is replaced by true or false.
    MatchArmGuard,
    /// A field of a struct expression with `..base` is removed.
    StructField,
}

/// Lines are numbered from 1; columns are in characters from 1, with an exclusive end.
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
