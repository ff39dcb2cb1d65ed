//! What `auto` takes, without a word on the command line; how its work compares with the best, `crates/auto/tests` asserts.

use crate::common::{Folder, solve};
use crate::scramble;

#[test]
fn scrambled_problems_are_solved_without_a_word() {
    let folder = Folder::new();
    for spec in [
        "poisson2d:30",
        "poisson3d:9",
        "anisotropic2d:25",
        "jump3d:8",
        "elasticity3d:5",
        "cloth:12",
        "graph:600",
    ] {
        let a = scramble::file(&folder, spec);
        for words in ["", "--precond sa"] {
            let (done, report) = solve(&folder, &format!("{a} {words}"));
            assert_eq!((done.code, report["outcome"].as_str()), (0, Some("converged")), "{spec} {words}");
            assert!(report["choice"].as_array().unwrap().iter().all(|line| line.as_str().unwrap().len() > 6));
        }
    }
}

#[test]
fn scales_do_not_hide_the_near_kernel() {
    let folder = Folder::new();
    let plain =
        solve(&folder, "--problem poisson2d:60 --method cg --precond sa").1["iterations"].as_u64().unwrap();
    let a = scramble::file(&folder, "poisson2d:60");
    let scrambled =
        solve(&folder, &format!("{a} --method cg --precond sa")).1["iterations"].as_u64().unwrap();
    // In another norm the same tolerance is reached a few iterations earlier or later.
    assert!(scrambled <= 2 * plain + 4, "{scrambled} {plain}");
}
