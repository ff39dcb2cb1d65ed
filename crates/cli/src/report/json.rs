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
    /// The commit of the sources; `None` of debug builds and without Git.
    commit: Option<&'static str>,
    os: &'static str,
    arch: &'static str,
    /// The name of the processor, if the operating system tells it.
    processor: Option<String>,
}

impl Versions {
    pub(crate) fn current() -> Self {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let commit = option_env!("COARSEN_COMMIT");
        Self { coarsen: env!("CARGO_PKG_VERSION"), commit, os, arch, processor: processor() }
    }
}

/// The name of the first processor of Linux.
fn processor() -> Option<String> {
    let all = fs::read_to_string("/proc/cpuinfo").ok()?;
    let name = all.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    Some(name?.1.trim().to_owned())
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
