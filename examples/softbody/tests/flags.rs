//! Every option that `--help` lists changes what the program prints or writes, or is refused.

#[path = "../../../tests/common/flags.rs"]
mod flags;

use std::path::Path;

use flags::{Example, Folder, check};

const SOFTBODY: Example = Example { program: &[env!("CARGO_BIN_EXE_softbody")], files };

/// A sheet whose nodes at a seam are there twice, and a bar that slides on another one.
fn files(folder: &Path) {
    let seam = "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 1 0 0\nv 0 0 1\nv 1 0 1\nf 1 3 2\nf 4 5 6\n";
    std::fs::write(folder.join("seam.obj"), seam).unwrap();
    let bars = "[[body]]\nmesh = \"bar:1\"\ncentre = [0.0, 0.13, 0.0]\n\n[[body]]\nmesh = \"bar:1\"\n\
                centre = [0.05, 0.385, 0.03]\nvelocity = [0.5, -0.5, 0.0]\n\n\
                [[obstacle]]\nshape = { plane = { point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] } }\n";
    std::fs::write(folder.join("bars.toml"), bars).unwrap();
}

#[test]
fn options_have_an_effect() {
    const BAR: &str = "@ --frames 2 --mesh bar:1";
    const BARS: &str = "@ --frames 4 --scene bars.toml";
    let cases = [
        ("scene", BAR, "--scene twist"),
        ("mesh", "@ --frames 1", "--mesh bar:2"),
        ("weld", "@ --frames 1 --scene hang --mesh seam.obj", "--weld"),
        ("material", BAR, "--material arap"),
        ("young", BAR, "--young 2e5"),
        ("poisson", BAR, "--poisson 0.3"),
        ("density", BAR, "--density 500"),
        ("dt", BAR, "--dt 0.01"),
        ("integrator", BAR, "--integrator lbfgs"),
        ("solver", BAR, "--solver gs"),
        ("iterations", BAR, "--iterations 1"),
        ("inner", BAR, "--inner 1"),
        ("refresh", BAR, "--refresh 1"),
        ("tolerance", BAR, "--tolerance 1"),
        ("levels", "@ --frames 1 --mesh bar:2 --solver skinning", "--levels 8"),
        ("checkpoint", BAR, "--checkpoint 1"),
        ("friction", BARS, "--friction 0.5"),
        ("contact", BARS, "--contact penalty"),
        ("backend", BAR, "--backend opencl:99"),
        ("frames", "@ --mesh bar:1 --frames 2", "@ --mesh bar:1 --frames 3"),
        ("out", BAR, "--out other"),
        (
            "resume",
            "@ --mesh bar:1 --frames 1 --checkpoint 1 && @ --mesh bar:1 --frames 2 --checkpoint 1",
            "--resume",
        ),
        ("format", BAR, "--format obj"),
        ("width", "--frames 1 --mesh bar:1", "--width 32"),
    ];
    let mut listed = SOFTBODY.listed();
    assert!(listed.remove("threads")); // the bits do not depend on their number
    check("softbody", &listed, "--width 0", &cases, |words| SOFTBODY.traces(words));
}

/// The exit code of a run with a checkpoint in each frame, and what it prints of faults.
fn run(folder: &Folder, words: &str) -> (Option<i32>, String) {
    let output = SOFTBODY.run(&folder.0, &format!("--mesh bar:1 --checkpoint 1 --out o {words}"));
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Files for other programs; those of all frames are the same after an interruption.
#[test]
fn formats_write_their_files() {
    for (format, files) in [
        ("vtk", &["frame_0000.vtk", "frame_0003.vtk"][..]),
        ("obj", &["frame_0000.obj", "frame_0003.obj", "frames.mtl"]),
        ("pc2", &["surface.obj", "surface.pc2", "frames.mtl"]),
        ("gltf", &["surface.pc2", "surface.glb"]),
        ("pvd", &["frame_0000.vtu", "frame_0003.vtu", "frames.pvd"]),
        ("none", &[]),
    ] {
        let [whole, parts] = [Folder::new(), Folder::new()];
        for (folder, words) in [(&whole, "3"), (&parts, "1"), (&parts, "3 --resume")] {
            let done = run(folder, &format!("--width 0 --format {format} --frames {words}"));
            assert_eq!(done.0, Some(0), "{format}: {}", done.1);
        }
        for file in files {
            let [all, continued] =
                [&whole, &parts].map(|folder| std::fs::read(folder.0.join("o").join(file)));
            assert_eq!(
                all.unwrap_or_else(|error| panic!("{format}: {file}: {error}")),
                continued.unwrap(),
                "{file}"
            );
        }
    }
}

/// A run that continues in the folder of another run does not take the frames of that one for its own.
#[test]
fn frames_of_another_run_are_refused() {
    for (shown, told) in [
        ("--width 0 --format vtk", "frame_0000.vtk: frame 0 was not written by the run that is continued"),
        ("--width 0 --format obj", "frame_0000.obj: frame 0 was not written by the run that is continued"),
        ("--width 0 --format pc2", "surface.obj: the frames before frame 2"),
        ("--width 0 --format gltf", "surface.pc2: the frames before frame 2"),
        ("--width 0 --format pvd", "frame_0001.vtu: the frames before frame 2"),
        ("--width 32 --format none", "frame_0000.png: frame 0 was not written by the run that is continued"),
    ] {
        let folder = Folder::new();
        let none = "--young 2e5 --width 0 --format none --frames";
        assert_eq!(run(&folder, &format!("--frames 3 {shown}")).0, Some(0), "{shown}");
        assert_eq!(run(&folder, &format!("{none} 1")).0, Some(0), "{shown}");
        let table = std::fs::read(folder.0.join("o/frames.csv")).unwrap();
        let (code, error) = run(&folder, &format!("--young 2e5 --frames 3 {shown} --resume"));
        assert!(code == Some(1) && error.contains(told), "{shown}: {error}");
        assert_eq!(std::fs::read(folder.0.join("o/frames.csv")).unwrap(), table, "{shown}");
        assert_eq!(run(&folder, &format!("{none} 3 --resume")).0, Some(0), "{shown}");
    }
}

/// A closed surface without tetrahedra is said to be hollow before the first frame, and in the summary.
#[test]
fn hollow_bodies_are_printed() {
    let folder = Folder::new();
    let points = "v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\n";
    let faces = "f 1 3 5\nf 3 2 5\nf 2 4 5\nf 4 1 5\nf 3 1 6\nf 2 3 6\nf 4 2 6\nf 1 4 6\n";
    std::fs::write(folder.0.join("closed.obj"), format!("{points}{faces}")).unwrap();
    let output = SOFTBODY.run(&folder.0, "--scene hang --mesh closed.obj --frames 1 --width 0");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let note = err.find(
        "closed.obj: a closed surface of 8 triangles without tetrahedra is simulated as a hollow shell",
    );
    assert!(note.is_some() && note < err.find("frame 1 of 1"), "{err}");
    assert!(out.contains("note: ") && out.contains("hollow shell"), "{out}{err}");
}

/// A help or a run that cannot be printed is an error.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    SOFTBODY.check_full("--frames 1 --mesh bar:1 --width 0");
}
