//! Every option that `--help` lists changes what the program prints or draws, or is refused.

#[path = "../../../tests/common/flags.rs"]
mod flags;

use std::path::Path;

use flags::{Example, Folder, check};

const HEAT: Example = Example { program: &[env!("CARGO_BIN_EXE_heat")], files };

/// Two surfaces.
fn files(folder: &Path) {
    for (name, z) in [("a.obj", 0.3), ("b.obj", 0.6)] {
        let text = format!("v 0 0 0\nv 1 0 0\nv 1 1 {z}\nv 0 1 0\nv 2 1 0\nf 1 2 3 4\nf 2 5 3\n");
        std::fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn options_have_an_effect() {
    let cases = [
        ("steady", "--grid 12 --steps 1", "--steady"),
        ("mesh", "@ --mesh a.obj", "@ --mesh b.obj"),
        ("grid", "@ --grid 12", "@ --grid 13"),
        ("steps", "--steady --grid 12", "--steps 2"),
        ("dt", "--grid 12 --steps 1", "--dt 0.01"),
        ("beta", "@ --grid 12", "--beta 0.1"),
        ("azimuth", "@ --mesh a.obj", "--azimuth 10"),
        ("out", "@ --grid 12", "--out no/such/folder"),
        ("backend", "@ --grid 12", "--backend opencl:99"),
    ];
    let mut listed = HEAT.listed();
    assert!(listed.remove("threads")); // the bits do not depend on their number
    // The table of the setup has times.
    let is_timed = |line: &String| {
        let rows = ["coarsening", "products", "smoothers", "coarse solve", "together"];
        rows.iter().any(|row| line.starts_with(row))
    };
    check("heat", &listed, "--steady --steps 1", &cases, |words| {
        HEAT.traces(words).into_iter().filter(|line| !is_timed(line)).collect()
    });
}

/// Options that a run would ignore.
#[test]
fn idle_options_are_refused() {
    for (words, option) in [
        ("--mesh a.obj --grid 12", "--grid"),
        ("--steady --dt 0.1", "--dt"),
        ("--grid 12 --azimuth 10", "--azimuth"),
        ("--threads many", "--threads"),
    ] {
        let folder = Folder::new();
        files(&folder.0);
        let output = HEAT.run(&folder.0, words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains(option), "{words}: {told}");
    }
}

/// A help or a run that cannot be printed is an error.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    HEAT.check_full("--grid 12 --steps 1");
}
