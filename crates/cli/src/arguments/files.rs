//! Checks of the files that a command line names, before the computation starts.

use std::path::{Path, PathBuf};

use coarsen::matrix_market::is_same_file;
pub(crate) use coarsen::matrix_market::is_standard;

use super::options::{DUMPED, FILES};
use super::{Given, NullSpace, Rhs, Source};
use crate::error::Failure;

/// A file, with the option that names it.
pub(crate) type Named<'a> = (&'static str, &'a Path);

/// The outputs of a command that are given.
pub(crate) fn outputs<'a, const N: usize>(given: [(&'static str, &'a Option<PathBuf>); N]) -> Vec<Named<'a>> {
    given.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?))).collect()
}

/// Rejects an output in a folder that does not exist, an output that would replace an input or another output, and two
/// inputs from the standard input.
pub(crate) fn check_files(inputs: &[Named<'_>], outputs: &[Named<'_>]) -> Result<(), Failure> {
    for (k, &(option, file)) in outputs.iter().enumerate() {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let kind = match folder {
            _ if is_standard(file) => None,
            _ if file.is_dir() => Some(std::io::ErrorKind::IsADirectory),
            Some(folder) if !folder.is_dir() => Some(std::io::ErrorKind::NotFound),
            _ => None,
        };
        if let Some(kind) = kind {
            return Err(Failure::File { file: file.into(), kind });
        }
        let inputs = inputs.iter().filter(|(_, file)| !is_standard(file));
        if let Some(&(first, _)) = inputs.chain(&outputs[..k]).find(|(_, other)| is_same_file(other, file)) {
            return Err(both_are(first, option, file));
        }
    }
    let standard: Vec<_> = inputs.iter().filter(|(_, file)| is_standard(file)).collect();
    match standard[..] {
        [(first, file), (second, _), ..] => Err(both_are(first, second, file)),
        _ => Ok(()),
    }
}

/// An output that would replace an input or another output, or two inputs from the standard input.
fn both_are(first: &str, second: &str, file: &Path) -> Failure {
    let what = match is_standard(file) {
        true => "the standard stream `-`".to_owned(),
        false => format!("the same file, {}", file.display()),
    };
    Failure::Usage(format!("{first} and {second} are both {what}; give another name"))
}

/// Rejects the standard output as a folder.
pub(crate) fn check_folder(option: &'static str, folder: &Path) -> Result<(), Failure> {
    let cure = "give a name, or ./- for a folder called `-`";
    match is_standard(folder) {
        true => Err(Failure::usage(format!(
            "{option} takes a folder, which cannot be the standard output; {cure}"
        ))),
        false => Ok(()),
    }
}

impl Source {
    /// The files that are read.
    pub(crate) fn inputs(&self) -> Vec<Named<'_>> {
        let mut files = outputs([
            ("the matrix", &self.matrix),
            ("--contact", &self.contact),
            ("--coordinates", &self.coordinates),
        ]);
        let mesh = self.problem.as_deref().and_then(mesh).and_then(|(_, file)| existing(file));
        files.extend(mesh.map(|file| ("--problem", file)));
        files
    }
}

/// The name of a problem and its file, as in `softbody:FILE` and `garment:FILE@2`; a number is a size.
pub(super) fn mesh(problem: &str) -> Option<(&str, &str)> {
    let (name, file) = problem.split_once(':')?;
    let has_file =
        ["garment", "softbody"].contains(&name) && !file.is_empty() && file.parse::<usize>().is_err();
    has_file.then_some((name, file))
}

/// The file of a mesh that exists; numbers may follow it, as in `FILE@2@0.5`.
fn existing(mesh: &str) -> Option<&Path> {
    let names = std::iter::successors(Some(mesh), |name| Some(name.rsplit_once('@')?.0));
    names.map(Path::new).find(|file| file.is_file())
}

impl Given {
    /// The files that are read.
    pub(crate) fn inputs(&self) -> Vec<Named<'_>> {
        let mut files = self.source.inputs();
        let beside = [("--x0", &self.x0), ("--near-kernel", &self.near_kernel), ("--options", &self.options)];
        files.extend(outputs(beside));
        if let Rhs::File(file) = &self.rhs {
            files.push(("--rhs", file));
        }
        if let NullSpace::File(file) = &self.null_space {
            files.push(("--null-space", file));
        }
        files
    }

    /// Rejects files as [`check_files`] does, and outputs that would replace a file of a dump that is read, also one that another
    /// option stands in for.
    pub(crate) fn check_files(&self, outputs: &[Named<'_>]) -> Result<(), Failure> {
        let dump = self.options.as_deref().filter(|file| file.ends_with(DUMPED));
        let dumped = dump.map(|options| FILES.map(|name| options.with_file_name(name)));
        let mut inputs = self.inputs();
        inputs.extend(dumped.iter().flatten().map(|file| ("--options", file.as_path())));
        check_files(&inputs, outputs)
    }
}
