//! Runs that continue, and those that cannot.

use super::{Folder, contents};
use crate::scene::{Setting, World};
use crate::state::State;
use crate::step::Stepper;
use crate::{identity, run};
use coarsen::prelude::*;
use examples_run::files::{CheckpointError, OutputError};

/// Pictures of another size cannot be in the same animation: this is found before any frame is computed.
#[test]
fn another_width_is_refused_at_once() {
    let folder = Folder::new("width");
    let start = |more: &str| folder.run(&format!("--mesh bar:1 --checkpoint 2 --frames {more}"));
    start("2 --width 32").unwrap();
    let before = contents(&folder.0);
    let error = start("4 --width 64 --resume").unwrap_err();
    let found = matches!(error.downcast_ref(), Some(OutputError::Width { found: (32, 24), .. }));
    assert!(found && error.to_string().contains("--width 32"), "{error}");
    assert!(before == contents(&folder.0));
    start("3 --width 0 --resume").unwrap();
    start("4 --width 32 --resume").unwrap();
}

/// The same vertices with other tetrahedra are another run.
#[test]
fn other_elements_are_refused() {
    let folder = Folder::new("elements");
    let points =
        "MeshVersionFormatted 2\nDimension 3\nVertices 5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n1 1 1 0\n";
    let (two, three) = ("1 2 3 4 0\n2 3 4 5 0\n", "1 2 3 5 0\n1 3 4 5 0\n1 4 2 5 0\n");
    let start = |count: usize, elements: &str, more: &str| {
        let mesh = folder.write("body.mesh", &format!("{points}Tetrahedra {count}\n{elements}End\n"));
        folder.run(&format!("--checkpoint 1 --frames 2 --mesh {mesh} {more}"))
    };
    start(2, two, "").unwrap();
    start(2, two, "--resume").unwrap();
    let error = start(3, three, "--resume").unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(CheckpointError::Other { .. })), "{error}");
    start(3, three, "").unwrap();
}

/// A run from the start removes the checkpoint of the run before, even if it writes none itself.
#[test]
fn a_run_from_the_start_leaves_no_older_checkpoint() {
    let folder = Folder::new("older");
    let start = |more: &str| folder.run(&format!("--mesh bar:1 --frames {more}"));
    start("2 --checkpoint 1").unwrap();
    start("2 --checkpoint 9 --dt 0.02").unwrap();
    let error = start("3 --checkpoint 1 --resume").unwrap_err();
    assert!(error.to_string().contains("checkpoint.bin"), "{error}");
}

/// A run does not replace the mesh that it reads: one in its folder by the name of a surface of a run.
#[test]
fn meshes_are_not_replaced() {
    let [own, other] = ["own-mesh", "other-mesh"].map(Folder::new);
    let text = "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 1 0 1\nf 1 3 2\nf 2 3 4\n";
    let mesh = own.write("surface.obj", text);
    let words = format!("--scene hang --mesh {mesh} --frames 0 --format pc2");
    let error = own.run(&words).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(OutputError::Input { .. })), "{error}");
    assert!(error.to_string().contains("surface.obj") && own.text("surface.obj") == text, "{error}");
    assert_eq!(std::fs::read_dir(&own.0).unwrap().count(), 1, "nothing is written");
    other.run(&words).unwrap();
}

/// `--backend auto` may choose another backend than in the run before.
#[test]
fn a_run_continues_only_on_its_backend() {
    let folder = Folder::new("backend");
    let options = folder.options("--mesh bar:1 --backend auto");
    let setting = Setting::of(&options).unwrap();
    let meshes = setting.meshes().unwrap();
    let of = |backend: &str| identity(&setting, &options.method, &meshes, &meshes[0].positions, backend);
    assert!(of("cpu") == of("cpu") && of("cpu") != of("opencl"));
}

/// A step that fails leaves the state as it was, with attachments that begin in it.
#[test]
fn a_failed_step_leaves_the_state() {
    let folder = Folder::new("failed");
    let options = folder.options("--mesh bar:1");
    let setting = Setting::of(&options).unwrap();
    let meshes = setting.meshes().unwrap();
    let world = World::new(&setting, &meshes, &options.method).unwrap();
    let mut state = State::start(&world);
    state.v[0] = f64::INFINITY;
    let before = state.clone();
    let mut stepper = Stepper::new(world, &state, &options.method, &Cpu::new()).unwrap();
    let error = stepper.step(&mut state).unwrap_err();
    assert!(error.to_string().contains("frame 1"), "{error}");
    assert!(state == before && before.anchors.iter().all(Vec::is_empty));
    state.v[0] = 0.0;
    stepper.step(&mut state).unwrap();
    assert!(state.frame == 1 && !state.anchors[0].is_empty());
}

/// The table and the summary are there, also where the animation cannot be written.
#[test]
fn the_summary_does_not_wait_for_the_animation() {
    let folder = Folder::new("animation");
    std::fs::create_dir(folder.0.join("softbody.gif")).unwrap();
    let options = folder.options("--mesh bar:1 --frames 1 --width 32");
    let error = run(Cpu::new(), &options).unwrap_err();
    assert!(error.to_string().contains("softbody.gif"), "{error}");
    let summary = folder.text("summary.txt");
    assert!(summary.contains("1 of 1 frames converged"), "{summary}");
    let table = folder.text("frames.csv");
    assert_eq!(table.lines().count(), 3, "{table}");
}
