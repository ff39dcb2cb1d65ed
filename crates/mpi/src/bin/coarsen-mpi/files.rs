//! The files that a command line names, and the standard output.

use std::io::{ErrorKind, Write};
use std::path::Path;

use coarsen_matrix_market::is_same_file;
pub(crate) use coarsen_matrix_market::is_standard;

use crate::arguments::Solve;
use crate::failure::Failure;

/// Prints to the standard output. A closed pipe is not an error.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::File { file: "<stdout>".into(), kind: error.kind() })
        }
        _ => Ok(()),
    }
}

/// Rejects an input from the standard input, an output that would replace an input or another output, and an output in a
/// folder that does not exist.
pub(crate) fn check(options: &Solve) -> Result<(), Failure> {
    let mut named = inputs(options);
    if let Some(&(option, _)) = named.iter().find(|(_, file)| is_standard(file)) {
        return Err(Failure::Usage(format!(
            "{option} is the standard input, which ranks cannot share; give a file, or ./- for a file called `-`"
        )));
    }
    for (option, file) in [("--out", &options.out), ("--report", &options.report)] {
        let Some(file) = file.as_deref() else { continue };
        if let Some(&(first, _)) = named.iter().find(|(_, other)| is_same_file(other, file)) {
            let what = match is_standard(file) {
                true => "the standard output `-`".to_owned(),
                false => format!("the same file, {}", file.display()),
            };
            return Err(Failure::Usage(format!("{first} and {option} are both {what}; give another name")));
        }
        let kind = match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            _ if is_standard(file) => None,
            _ if file.is_dir() => Some(ErrorKind::IsADirectory),
            Some(folder) if !folder.is_dir() => Some(ErrorKind::NotFound),
            _ => None,
        };
        if let Some(kind) = kind {
            return Err(Failure::File { file: file.into(), kind });
        }
        named.push((option, file));
    }
    Ok(())
}

/// The files that are read, with the options that name them.
fn inputs(options: &Solve) -> Vec<(&'static str, &Path)> {
    let Solve { matrix, x0, coordinates, near_kernel, parts, .. } = options;
    let given = [
        ("the matrix", matrix),
        ("--x0", x0),
        ("--coordinates", coordinates),
        ("--near-kernel", near_kernel),
        ("--parts", parts),
    ];
    let mut all: Vec<_> =
        given.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?))).collect();
    if options.rhs != "ones" && !options.rhs.starts_with("random:") {
        all.push(("--rhs", Path::new(&options.rhs)));
    }
    // The mesh of softbody:FILE and garment:FILE@2@0.5.
    if let Some((_, mesh)) = options.problem.as_deref().and_then(|problem| problem.split_once(':')) {
        let names = std::iter::successors(Some(mesh), |name| Some(name.rsplit_once('@')?.0));
        all.extend(names.map(Path::new).filter(|file| file.is_file()).map(|file| ("--problem", file)));
    }
    all
}
