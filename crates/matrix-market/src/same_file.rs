//! Whether an output would replace another file.

use std::path::{Path, PathBuf};

/// Whether two names are those of one file, also by links, so that writing one replaces the other. A file that does not exist
/// yet is known by its folder and its name, also through links. A device or a pipe is no file: it can be written twice.
/// Of two names of which one [is standard](is_standard), both must be.
pub fn is_same_file(a: impl AsRef<Path>, b: impl AsRef<Path>) -> bool {
    let (a, b) = (a.as_ref(), b.as_ref());
    if is_standard(a) || is_standard(b) {
        return a == b;
    }
    resolved(a).is_some_and(|a| Some(a) == resolved(b)) || is_hard_link(a, b)
}

/// Whether a name is that of the standard input or output: `-`.
pub fn is_standard(file: &Path) -> bool {
    file == Path::new("-")
}

/// The links that are followed to a file that does not exist yet; as many as Linux follows.
const LINKS: usize = 40;

fn resolved(file: &Path) -> Option<PathBuf> {
    let mut file = file.to_owned();
    for _ in 0..LINKS {
        if let Ok(found) = file.canonicalize() {
            return found.is_file().then_some(found);
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match file.read_link() {
            Ok(target) => file = folder.join(target),
            Err(_) => return Some(folder.canonicalize().ok()?.join(file.file_name()?)),
        }
    }
    None
}

#[cfg(unix)]
fn is_hard_link(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |file: &Path| file.metadata().ok().filter(|at| at.is_file()).map(|at| (at.dev(), at.ino()));
    number(a).is_some_and(|a| Some(a) == number(b))
}

/// Not known here.
#[cfg(not(unix))]
fn is_hard_link(_: &Path, _: &Path) -> bool {
    false
}
