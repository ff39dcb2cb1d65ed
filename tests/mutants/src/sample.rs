//! The sample: every K-th mutant that `cargo mutants --list` names for a crate, K such that about as many as wanted are left.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::{CRATES, Error, build, files};

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

/// The sample of all crates, numbered; drawn once and kept in `sample.json`.
pub(crate) fn draw(folder: &Path, wanted: usize) -> Result<Vec<Mutant>, Error> {
    let kept = folder.join("sample.json");
    if kept.exists() {
        return files::read(&kept);
    }
    let mut sample = Vec::new();
    for name in CRATES {
        let package = format!("coarsen-{name}");
        let every = (list(folder, &package, 1)?.len() / wanted.max(1)).max(1);
        sample.extend(list(folder, &package, every)?);
        eprintln!("{package}: every mutant of {every}");
    }
    for (number, mutant) in sample.iter_mut().enumerate() {
        mutant.number = number as u32;
    }
    files::write(&kept, &sample)?;
    Ok(sample)
}

fn list(folder: &Path, package: &str, every: usize) -> Result<Vec<Mutant>, Error> {
    let shard = format!("0/{every}");
    let mut command = Command::new("cargo");
    command.args(["mutants", "--list", "--json", "--package", package, "--shard", &shard]);
    command.args(["--sharding", "round-robin"]).current_dir(build::tree(folder));
    let output = files::output(&mut command)?;
    serde_json::from_str(&output).map_err(|e| Error::Json(format!("the list of {package}"), e))
}
