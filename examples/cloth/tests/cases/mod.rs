//! Runs of cloth on small sheets, which each option changes.

use std::fmt::Write;
use std::path::Path;

use crate::flags::Case;

/// The files that options name: flat sheets, with texture coordinates and with faults, and closed bodies.
pub(crate) fn files(folder: &Path) {
    let sheet = |name: &str, [wide, stretched]: [f64; 2], more: &str| {
        let mut text = String::new();
        for (i, j) in (0..25).map(|k| (f64::from(k % 5), f64::from(k / 5))) {
            let _ = writeln!(text, "v {} 0.6 {}", 0.05 * wide * i, 0.05 * j);
            let _ = writeln!(text, "vt {} {}", 0.05 * wide * stretched * i, 0.05 * j);
        }
        for a in (0..20).filter(|k| k % 5 < 4).map(|k| k + 1) {
            let [b, c, d] = [a + 5, a + 6, a + 1];
            let _ = writeln!(text, "f {a}/{a} {b}/{b} {c}/{c}\nf {a}/{a} {c}/{c} {d}/{d}");
        }
        std::fs::write(folder.join(name), text + more).unwrap();
    };
    sheet("a.obj", [1.0, 1.05], "");
    sheet("b.obj", [1.2, 1.0], "");
    sheet("double.obj", [1.0, 1.0], "f 1/1 6/6 7/7\n");
    sheet("degenerate.obj", [1.0, 1.0], "v 0.2 0.6 0.025\nvt 0.2 0.025\nf 5/5 26/26 10/10\n");
    for (name, height) in [("low.obj", 0.1), ("high.obj", 0.2)] {
        let points = format!(
            "v 0.1 0.2 0.1\nv -0.1 0.2 0.1\nv -0.1 0.2 -0.1\nv 0.1 0.2 -0.1\nv 0 {} 0\nv 0 0.1 0\n",
            0.2 + height
        );
        let faces = ["1 4 5", "4 3 5", "3 2 5", "2 1 5", "4 1 6", "3 4 6", "2 3 6", "1 2 6"];
        let faces: String = faces.iter().map(|face| format!("f {face}\n")).collect();
        std::fs::write(folder.join(name), points + &faces).unwrap();
    }
}

/// What `@` stands for.
pub(crate) const WORDS: &str = "--dt 0.02 --width 0";

const SHEET: &str = "@ --frames 1 --vertices 36";
const BALL: &str = "@ --frames 2 --vertices 36 --scene sphere --thickness 0.06"; // touches at the start
const DRESS: &str = "@ --frames 1 --scene dressed --mesh a.obj --body low.obj";

/// A case of each option.
pub(crate) const CASES: [Case; 41] = [
    ("scene", SHEET, "--scene pinned"),
    ("vertices", SHEET, "@ --frames 1 --vertices 49"),
    ("sheets", SHEET, "--sheets 2"),
    ("tessellation", SHEET, "--tessellation irregular"),
    ("mesh", "@ --frames 1 --mesh a.obj", "@ --frames 1 --mesh b.obj"),
    ("subdivide", SHEET, "--subdivide 1"),
    (
        "start",
        "@ --frames 1 --vertices 36 --checkpoint 1 --out first && @ --frames 1 --vertices 36",
        "--start first/checkpoint.bin",
    ),
    ("body", DRESS, "@ --frames 1 --scene dressed --mesh a.obj --body high.obj"),
    ("sewn", DRESS, "--sewn"),
    ("drop-degenerate", "@ --frames 1 --mesh degenerate.obj", "--drop-degenerate"),
    ("weld", "@ --frames 1 --mesh double.obj", "--weld"),
    ("material", SHEET, "--material springs"),
    ("stiffness", SHEET, "--stiffness 2"),
    ("bending", SHEET, "--bending 2"),
    ("density", SHEET, "--density 0.3"),
    ("thickness", "@ --frames 2 --vertices 36 --scene sphere", "--thickness 0.06"),
    ("friction", BALL, "--friction 0"),
    (
        "self-friction",
        "@ --frames 2 --vertices 36 --scene drop-horizontal --thickness 0.06 --wind 3 0 0",
        "--self-friction 0",
    ),
    ("air", SHEET, "--air 0"),
    ("damping", SHEET, "--damping 5"),
    ("wind", SHEET, "--wind 1 0 0"),
    ("dt", "--width 0 --frames 1 --vertices 36", "--dt 0.02"),
    ("frame-steps", SHEET, "--frame-steps 3"),
    ("solver", "@ --frames 1 --vertices 36 --solver gs", "@ --frames 1 --vertices 36 --solver sa"),
    ("levels", "@ --frames 1 --vertices 400 --solver skinning", "--levels 20"),
    ("obstacles", BALL, "--obstacles constraints"),
    (
        "no-self-contact",
        "@ --frames 2 --vertices 36 --scene drop-horizontal --thickness 0.06 --wind 3 0 0",
        "--no-self-contact",
    ),
    ("iterations", SHEET, "--iterations 1"),
    ("inner", SHEET, "--inner 1"),
    ("fixed", SHEET, "--fixed"),
    ("tolerance", SHEET, "--tolerance 1"),
    ("checkpoint", SHEET, "--checkpoint 1"),
    ("backend", SHEET, "--backend opencl:99"),
    ("frames", SHEET, "@ --frames 2 --vertices 36"),
    ("systems", SHEET, "--systems 1"),
    ("ranks", SHEET, "--ranks 1"),
    ("out", SHEET, "--out other"),
    ("keep", "@ --frames 1 --vertices 36 --checkpoint 1", "--keep"),
    (
        "resume",
        "@ --frames 1 --vertices 36 --checkpoint 1 && @ --frames 2 --vertices 36 --checkpoint 1",
        "--resume",
    ),
    ("format", SHEET, "--format gltf"),
    ("width", "--dt 0.02 --frames 1 --vertices 36", "--width 32"),
];

/// The cases of runs on ranks, which have no skinning.
pub(crate) fn on_ranks() -> Vec<Case> {
    let levels = ("levels", "@ --frames 1 --vertices 400 --solver mas", "--levels 1");
    CASES.into_iter().filter(|case| case.0 != "levels").chain([levels]).collect()
}
