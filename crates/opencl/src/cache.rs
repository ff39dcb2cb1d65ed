//! A cache of compiled programs on disk, so that a second process compiles nothing.
//!
//! The folder is `opencl` in the folder of `COARSEN_CACHE`, otherwise in `coarsen` in the cache of the user
//! (`XDG_CACHE_HOME`, `~/.cache`, `LOCALAPPDATA`). A file contains the program of one driver for one list of
//! sources and one list of options; its name is computed from all three. A folder that cannot be read or
//! written is no error: programs are then compiled.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use ocl::core::{self, ProgramInfo, ProgramInfoResult};

use coarsen_device::Device;

/// The environment variable with the path of the folder of caches; an empty path disables the cache.
const FOLDER: &str = "COARSEN_CACHE";

pub(crate) struct Cache {
    folder: Option<PathBuf>,
    device: String,
}

impl Cache {
    pub(crate) fn of(device: &Device) -> Self {
        let device = format!("{} {} {}", device.platform, device.name, device.driver);
        Self { folder: folder(), device }
    }

    /// Returns the key from which the file name of a program is made.
    pub(crate) fn key(&self, options: &str, sources: &[&str]) -> u64 {
        digest(&(env!("CARGO_PKG_VERSION"), &self.device, options, sources))
    }

    /// Returns the program that an earlier process stored, if the file is complete.
    pub(crate) fn load(&self, key: u64) -> Option<Vec<u8>> {
        let file = fs::read(self.file(key)?).ok()?;
        let (head, binary) = file.split_first_chunk()?;
        (u64::from_le_bytes(*head) == digest(&binary)).then(|| binary.to_vec())
    }

    /// Stores a program. Another process reads either the complete file or no file.
    pub(crate) fn store(&self, key: u64, program: &core::Program) {
        let Some(file) = self.file(key) else { return };
        let Ok(ProgramInfoResult::Binaries(binaries)) =
            core::get_program_info(program, ProgramInfo::Binaries)
        else {
            return;
        };
        let Some(binary) = binaries.into_iter().find(|b| !b.is_empty()) else { return };
        write(&file, &[&digest(&&binary[..]).to_le_bytes()[..], &binary].concat());
    }

    /// Returns the stored work-group size that is fastest for these options.
    pub(crate) fn local(&self, options: &str) -> Option<usize> {
        let file = self.file(self.key(options, &[]))?.with_extension("local");
        fs::read_to_string(file).ok()?.trim().parse().ok()
    }

    /// Stores the work-group size for these options.
    pub(crate) fn store_local(&self, options: &str, local: usize) {
        if let Some(file) = self.file(self.key(options, &[])) {
            write(&file.with_extension("local"), format!("{local}\n").as_bytes());
        }
    }

    fn file(&self, key: u64) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{key:016x}.bin")))
    }
}

/// Writes the file so that other processes find all of it or nothing.
fn write(file: &Path, bytes: &[u8]) {
    let draft = file.with_extension(format!("{}", process::id()));
    let written = file.parent().map(fs::create_dir_all).is_some_and(|made| made.is_ok())
        && fs::write(&draft, bytes).is_ok();
    if !written || fs::rename(&draft, file).is_err() {
        let _ = fs::remove_file(&draft);
    }
}

fn folder() -> Option<PathBuf> {
    let named = |variable| env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
    let own = match env::var_os(FOLDER) {
        Some(name) => Some(PathBuf::from(name)).filter(|p| !p.as_os_str().is_empty())?,
        None => named("XDG_CACHE_HOME")
            .or_else(|| named("HOME").map(|home| home.join(".cache")))
            .or_else(|| named("LOCALAPPDATA"))?
            .join("coarsen"),
    };
    Some(own.join("opencl"))
}

fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
