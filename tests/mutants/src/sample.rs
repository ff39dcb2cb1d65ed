//! The sample: every K-th mutant of `cargo mutants --list` for a crate, with K chosen to give about the
//! requested number.

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::mutant::{CRATES, Mutant};
use crate::{build, files};

/// The numbered sample of all crates; drawn once and stored in `sample.json`.
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
