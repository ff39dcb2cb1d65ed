//! Checks of output files.

use std::path::Path;

use crate::error::Failure;

/// Rejects an output file in a folder that does not exist, before the computation starts.
pub(crate) fn check_place(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let kind = match folder {
        _ if file.is_dir() => std::io::ErrorKind::IsADirectory,
        Some(folder) if !folder.is_dir() => std::io::ErrorKind::NotFound,
        _ => return Ok(()),
    };
    Err(Failure::File { file: file.into(), kind })
}
