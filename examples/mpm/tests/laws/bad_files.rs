//! Files of an earlier run with faults.

use examples_common::files::CheckpointError;
use mpm::state::State;

use super::Folder;
use super::bad_scenes::{BODY, OF};

/// A checkpoint that is cut, changed, of another run or with NaN is refused; all files stay as they are.
#[test]
fn damaged_checkpoints_are_refused() {
    let folder = Folder::new("damaged");
    let scene = folder.write("scene.toml", &format!("dx = 0.1\n{BODY}{OF}"));
    let start = |more: &[&str]| folder.run(&[&["--scene", &scene, "--frames"], more].concat());
    start(&["2"]).unwrap();
    let (good, table) = (folder.bytes("checkpoint.bin"), folder.bytes("frames.csv"));
    let file = folder.0.join("checkpoint.bin");
    let mut changed = good.clone();
    changed[300] ^= 1;
    for damaged in [&good[..good.len() - 8], &good[..good.len() - 3], &changed[..]] {
        std::fs::write(&file, damaged).unwrap();
        let error = start(&["3", "--resume"]).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(CheckpointError::Damaged { .. })), "{error}");
        assert!(folder.bytes("checkpoint.bin") == damaged && folder.bytes("frames.csv") == table);
    }
    std::fs::write(&file, &good).unwrap();
    let other = start(&["3", "--resume", "--tolerance", "1e-6"]).unwrap_err();
    assert!(matches!(other.downcast_ref(), Some(CheckpointError::Other { .. })), "{other}");

    // NaN in a file whose sum is right.
    let mut state: State = examples_common::files::read(&file, run_of(&good)).unwrap();
    state.particles[5].f[1][2] = f64::NAN;
    examples_common::files::write(&file, run_of(&good), &state).unwrap();
    let error = start(&["3", "--resume"]).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(CheckpointError::Damaged { .. })), "{error}");
    assert!(error.to_string().contains("not finite"), "{error}");

    std::fs::write(&file, &good).unwrap();
    start(&["3", "--resume"]).unwrap();
}

/// A run does not go on with another surface of a collider in a file of the same name.
#[test]
fn a_checkpoint_belongs_to_the_surfaces_of_colliders() {
    let folder = Folder::new("surface");
    let corners = "v 0 -1 0\nv 2 -1 0\nv 0 -1 2\nv 0 -3 0\nf 2 1 3\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
    folder.write("floor.obj", corners);
    let mesh = "[[collider]]\nmesh = { file = \"floor.obj\" }\n";
    let scene = folder.write("fall.toml", &format!("dx = 0.25\n{BODY}{OF}{mesh}"));
    let start = |more: &[&str]| folder.run(&[&["--scene", &scene, "--frames"], more].concat());
    start(&["1"]).unwrap();
    start(&["2", "--resume"]).unwrap();
    folder.write("floor.obj", &corners.replace("-3", "-4"));
    let other = start(&["3", "--resume"]).unwrap_err();
    assert!(matches!(other.downcast_ref(), Some(CheckpointError::Other { .. })), "{other}");
}

/// The fingerprint of the run, which a checkpoint has after its first 24 bytes.
fn run_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[24..32].try_into().unwrap())
}
