//! Files and programs, with errors that contain their names.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

pub(crate) fn text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|e| Error::File(path.to_path_buf(), e))
}

/// Writes a file and creates its folder.
pub(crate) fn put(path: &Path, text: &str) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|e| Error::File(folder.to_path_buf(), e))?;
    }
    fs::write(path, text).map_err(|e| Error::File(path.to_path_buf(), e))
}

pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    serde_json::from_str(&text(path)?).map_err(|e| Error::Json(path.display().to_string(), e))
}

/// The function `read`, or the default if the file does not exist.
pub(crate) fn read_or_default<T: DeserializeOwned + Default>(path: &Path) -> Result<T, Error> {
    if path.exists() { read(path) } else { Ok(T::default()) }
}

pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), Error> {
    put(path, &serde_json::to_string(value).map_err(|e| Error::Json(path.display().to_string(), e))?)
}

pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::File(path.to_path_buf(), e)),
        _ => Ok(()),
    }
}

/// The output of a program, which must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String, Error> {
    let name = format!(
        "{} {}",
        command.get_program().display(),
        command.get_args().next().unwrap_or_default().display()
    );
    let run = command.output().map_err(|e| Error::Program(name.clone(), e))?;
    if run.status.success() {
        Ok(String::from_utf8_lossy(&run.stdout).into_owned())
    } else {
        Err(Error::Failed { command: name, output: String::from_utf8_lossy(&run.stderr).into_owned() })
    }
}
