//! Where results are to be written.

use std::path::Path;

use crate::error::Failure;

/// Refuses a file in a folder that does not exist before hours are spent on what it is to hold.
pub(crate) fn check_place(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let kind = match folder {
        _ if file.is_dir() => std::io::ErrorKind::IsADirectory,
        Some(folder) if !folder.is_dir() => std::io::ErrorKind::NotFound,
        _ => return Ok(()),
    };
    Err(Failure::File { file: file.into(), kind })
}
