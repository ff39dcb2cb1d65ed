//! Every option that `--help` lists changes what the program prints or writes under `mpirun`, or is refused.

#[path = "../../cloth/tests/cases/mod.rs"]
mod cases;
#[path = "../../../tests/common/flags.rs"]
mod flags;

use cases::{WORDS, files, on_ranks};
use flags::{Example, check};

const CLOTH: Example = Example {
    program: &[
        "env",
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "mpirun",
        "--oversubscribe",
        "-n",
        "1",
        env!("CARGO_BIN_EXE_cloth-mpi"),
    ],
    files,
};

#[test]
fn options_have_an_effect() {
    let mut listed = CLOTH.listed();
    assert!(listed.remove("threads")); // the bits do not depend on their number
    check("cloth-mpi", &listed, WORDS, &on_ranks(), |words| CLOTH.traces(words));
}
