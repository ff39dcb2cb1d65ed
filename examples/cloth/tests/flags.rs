//! Every option that `--help` lists changes what the program prints or writes, or is refused.

mod cases;
#[path = "../../../tests/common/flags.rs"]
mod flags;

use cases::{CASES, WORDS, files, on_ranks};
use flags::{Example, Folder, check};

const CLOTH: Example = Example { program: &[env!("CARGO_BIN_EXE_cloth")], files };

#[test]
fn options_have_an_effect() {
    let mut listed = CLOTH.listed();
    assert!(listed.remove("threads")); // the bits do not depend on their number
    check("cloth", &listed, WORDS, &CASES, |words| CLOTH.traces(words));
    assert!(listed.remove("ranks"));
    check("cloth on ranks", &listed, WORDS, &on_ranks(), |words| {
        CLOTH.traces(&(words.replace(" && ", " --ranks 1 && ") + " --ranks 1"))
    });
}

/// Options that a run would ignore.
#[test]
fn idle_options_are_refused() {
    for (words, option, code) in [
        ("--mesh a.obj --vertices 36", "--vertices", 2),
        ("--mesh a.obj --tessellation irregular", "--tessellation", 2),
        ("--sewn", "--sewn has no effect", 1),
        ("--scene garment --sewn", "--sewn has no effect", 1),
        ("--drop-degenerate", "--drop-degenerate has no effect", 1),
        ("--scene garment --drop-degenerate", "--drop-degenerate has no effect", 1),
        ("--threads many", "--threads", 2),
        ("--ranks 1 --iterations 1", "leave out --iterations", 1),
        ("--ranks 1 --inner 1", "leave out --iterations, --inner", 1),
        ("--ranks 1 --fixed", "leave out --iterations", 1),
        ("--ranks 1 --tolerance 1", "leave out --iterations", 1),
        ("--ranks 1 --levels 5", "--levels 5 does not fit", 1),
    ] {
        let folder = Folder::new();
        files(&folder.0);
        let output = CLOTH.run(&folder.0, words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && told.contains(option), "{words}: {told}");
    }
}

/// A help or a run that cannot be printed is an error.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    CLOTH.check_full("--frames 1 --vertices 36 --dt 0.02 --width 0");
}
