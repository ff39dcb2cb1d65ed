//! JSON files.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::arguments::files::is_standard;
use crate::console::say;
use crate::error::Failure;

/// Version and platform of the program.
#[derive(Serialize)]
pub(crate) struct Versions {
    coarsen: &'static str,
    os: &'static str,
    arch: &'static str,
}

impl Versions {
    pub(crate) const THESE: Self =
        Self { coarsen: env!("CARGO_PKG_VERSION"), os: std::env::consts::OS, arch: std::env::consts::ARCH };
}

/// Writes any value as JSON, indented; to the standard output for `-`.
pub(crate) fn write_json(file: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let mut text =
        serde_json::to_string_pretty(value).map_err(std::io::Error::other).map_err(Failure::write(file))?;
    text.push('\n');
    if is_standard(file) {
        return say(&text);
    }
    fs::write(file, text).map_err(Failure::write(file))
}
