//! Which files are read and written: no output replaces an input or another output, `-` is the standard stream, and the
//! exit code tells of results that are lost.

use std::fs::File;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Done, Folder, coarsen, command, ended, fed, succeeds};

const MATRIX: &str = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n";
const VECTOR: &str = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n";

#[test]
fn outputs_never_replace_inputs() {
    let folder = Folder::new();
    let a = folder.file("a.mtx", MATRIX);
    let [v, picture, plot] = ["v.mtx", "a.png", "a.svg"].map(|name| folder.path(name).display().to_string());
    let other = a.replace("a.mtx", "./a.mtx");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&a, folder.path("link.mtx")).unwrap();
    #[cfg(not(unix))]
    std::fs::copy(&a, folder.path("link.mtx")).unwrap();
    let link = folder.path("link.mtx").display().to_string();
    for (words, file, text) in [
        (format!("solve {a} --out {a}"), &a, MATRIX),
        (format!("solve {a} --out {other}"), &a, MATRIX),
        (format!("solve {link} --out {a}"), &a, MATRIX),
        (format!("solve {a} --report {a}"), &a, MATRIX),
        (format!("solve {plot} --plot {plot}"), &plot, MATRIX),
        (format!("solve {a} --rhs {v} --out {v}"), &v, VECTOR),
        (format!("solve {a} --x0 {v} --out {v}"), &v, VECTOR),
        (format!("solve {a} --near-kernel {v} --out {v}"), &v, VECTOR),
        (format!("solve {a} --null-space {v} --report {v}"), &v, VECTOR),
        (format!("solve {a} --coordinates {v} --report {v}"), &v, VECTOR),
        (format!("solve {a} --contact {v} --report {v}"), &v, MATRIX),
        (format!("solve --problem softbody:{v} --report {v}"), &v, VECTOR),
        (format!("solve --problem garment:{v}@2 --report {v}"), &v, VECTOR),
        (format!("solve --problem garment:{v}@2@0.5 --report {v}"), &v, VECTOR),
        (format!("compare {a} --report {a}"), &a, MATRIX),
        (format!("compare {plot} --plot {plot}"), &plot, MATRIX),
        (format!("spy {picture} --out {picture}"), &picture, MATRIX),
        (format!("minimize --problem armadillo-stretch --mesh {plot} --plot {plot}"), &plot, MATRIX),
    ] {
        std::fs::write(file, text).unwrap();
        let done = coarsen(&words);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{words}: {}", done.err);
        assert!(done.err.contains("the same file"), "{words}: {}", done.err);
        assert_eq!(std::fs::read_to_string(file).unwrap(), text, "{words}");
    }
}

#[test]
fn outputs_never_replace_each_other() {
    let folder = Folder::new();
    let dump = folder.path("dump").display().to_string();
    let [f, plot] = ["f.mtx", "f.svg"].map(|name| folder.path(name).display().to_string());
    for words in [
        format!("solve --out {f} --report {f}"),
        format!("solve --report {plot} --plot {plot}"),
        format!("solve --steps 2 --problem stack:3 --report {plot} --plot {plot}"),
        format!("compare --report {plot} --plot {plot}"),
        "solve --out - --report -".to_owned(),
        format!("solve --dump {dump} --out {dump}/b.mtx"),
    ] {
        std::fs::create_dir_all(&dump).unwrap();
        let done = coarsen(&words);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{words}: {}", done.err);
        assert!(done.err.contains("the same file") || done.err.contains("both"), "{words}: {}", done.err);
        assert!(!folder.path("f.mtx").exists() && !folder.path("f.svg").exists(), "{words}");
    }
}

#[test]
fn minus_is_the_standard_stream() {
    let folder = Folder::new();
    let words = "solve --problem poisson2d:4 --out -";
    let done = succeeds(words);
    let x = coarsen::matrix_market::Source::new(std::io::Cursor::new(done.out)).vector().unwrap();
    assert_eq!(x.len(), 16);
    assert!(done.err.contains("converged"), "the text moves to the standard error: {}", done.err);
    for words in [
        "solve --problem poisson2d:4 --report -",
        "solve --problem stack:3 --steps 2 --report -",
        "compare --problem poisson2d:4 --report -",
    ] {
        let done = coarsen(words);
        assert!(serde_json::from_str::<Value>(&done.out).is_ok(), "{words}: {}", done.out);
    }
    let a = folder.file("a.mtx", MATRIX);
    for option in ["rhs", "x0", "near-kernel", "null-space"] {
        let done = fed(&format!("solve {a} --{option} - --method minres"), VECTOR.as_bytes());
        assert!(!done.err.contains("-: "), "--{option}: {}", done.err);
        assert_ne!(done.code, 2, "--{option}: {}", done.err);
    }
    for (words, cause) in [
        (format!("solve - --rhs - --out {a}"), "both"),
        ("generate poisson2d:4 --out -".to_owned(), "folder"),
        ("solve --problem poisson2d:4 --dump -".to_owned(), "folder"),
        ("spy --problem poisson2d:4 --out -".to_owned(), ".png"),
        ("solve --problem poisson2d:4 --plot -".to_owned(), ".svg"),
    ] {
        let done = ended(command(&words).current_dir(folder.path("")).stdin(Stdio::null()));
        assert!(done.code == 2 && done.err.contains(cause), "{words}: {}", done.err);
        assert!(!folder.path("-").exists(), "{words}");
    }
}

/// Every command, with the standard output on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn full_standard_output_is_an_error() {
    let folder = Folder::new();
    let file = |name: &str| folder.path(name).display().to_string();
    for words in [
        "--help".to_owned(),
        "solve --help".to_owned(),
        "--version".to_owned(),
        "solve --problem poisson2d:4".to_owned(),
        "solve --problem poisson2d:4 --out -".to_owned(),
        "solve --problem poisson2d:4 --report -".to_owned(),
        "solve --problem stack:3 --steps 2".to_owned(),
        "compare --problem poisson2d:4".to_owned(),
        "info --problem poisson2d:4".to_owned(),
        format!("spy --problem poisson2d:4 --out {}", file("a.png")),
        format!("generate poisson2d:4 --out {}", file("p")),
        "minimize --problem bar-twist:1 --max-iterations 2".to_owned(),
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let Done { code, err, .. } = ended(command(&words).stdout(full));
        assert!(code == 2 && err.contains("<stdout>: cannot be written"), "{words}: {err}");
    }
}

/// `head` closes its input early.
#[test]
fn closed_pipe_is_no_error() {
    let mut run = command("solve --problem poisson2d:4");
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
