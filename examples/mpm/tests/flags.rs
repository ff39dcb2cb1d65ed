//! Every option that `--help` lists changes what the program prints or writes, or is refused.

#[path = "../../../tests/common/flags.rs"]
mod flags;

use flags::{Example, check};

const MPM: Example = Example { program: &[env!("CARGO_BIN_EXE_mpm")], files: |_| () };

#[test]
fn options_have_an_effect() {
    const TWIST: &str = "@ --frames 1 --particles 100";
    let cases = [
        ("scene", TWIST, "--scene boxes"),
        ("particles", "@ --frames 1 --particles 100", "@ --frames 1 --particles 150"),
        ("dx", "@ --frames 1 --dx 0.25", "@ --frames 1 --dx 0.2"),
        ("dt", TWIST, "--dt 0.01"),
        ("stiff", "@ --frames 1 --scene bar --particles 100", "--stiff 1e7"),
        ("seed", "@ --frames 1 --scene stretched --particles 100", "--seed 2"),
        ("data", "@ --frames 0 --scene armacat --particles 100", "--data nowhere"),
        ("solver", TWIST, "--solver pn-pcg"),
        ("tolerance", TWIST, "--tolerance 1e-2"),
        ("iterations", TWIST, "--iterations 1"),
        ("inner", "@ --frames 1 --particles 100 --solver pn-pcg", "--inner 1"),
        ("checkpoint", "@ --frames 1 --particles 100", "--checkpoint 3"),
        ("backend", TWIST, "--backend opencl:99"),
        ("frames", "@ --particles 100 --frames 1", "@ --particles 100 --frames 2"),
        ("out", TWIST, "--out other"),
        ("resume", "@ --frames 1 --particles 100 && @ --frames 2 --particles 100", "--resume"),
        ("states", TWIST, "--states 1"),
        ("format", TWIST, "--format pvd"),
        ("width", "--frames 1 --particles 100", "--width 32"),
    ];
    let mut listed = MPM.listed();
    assert!(listed.remove("threads")); // the bits do not depend on their number
    check("mpm", &listed, "--width 0", &cases, |words| MPM.traces(words));
}

/// A help or a run that cannot be printed is an error.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    MPM.check_full("--frames 1 --particles 100 --width 0");
}
