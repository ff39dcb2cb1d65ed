//! From the gallery to files and back.

use crate::common::{Folder, coarsen, solve, solves};

#[test]
fn generated_files_are_the_problem() {
    let folder = Folder::new();
    for spec in [
        "poisson2d:9",
        "jump3d:8",
        "elasticity3d:5 --jump 1e4",
        "cloth:12 --dt 0.01",
        "pinned:12 --share 0.2",
        "graph:100",
    ] {
        let out = folder.path("made");
        assert_eq!(coarsen(&format!("generate {spec} --out {}", out.display())).code, 0, "{spec}");
        let file = |name: &str| out.join(name).display().to_string();
        let files = format!(
            "{} --rhs {} --coordinates {} --near-kernel {}",
            file("A.mtx"),
            file("b.mtx"),
            file("coordinates.mtx"),
            file("near_kernel.mtx")
        );
        let (_, read) = solves(&folder, &format!("{files} --method cg"));
        let (_, made) = solve(&folder, &format!("--problem {spec} --method cg"));
        for field in ["n", "block_size", "iterations", "history"] {
            assert_eq!(read[field], made[field], "{spec}: {field}");
        }
    }
}
