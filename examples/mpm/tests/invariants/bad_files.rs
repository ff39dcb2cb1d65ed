//! Files of an earlier run with faults: the error names the file and the line or number, and nothing is changed.

use examples_run::files::{CheckpointError, OutputError, read, write};
use mpm::fault::{StateError, StepError};
use mpm::state::State;

use super::Folder;
use super::bad_scenes::{BODY, OF};

/// A checkpoint that is cut, changed, of another run or with NaN is refused; all files stay as they are.
#[test]
fn damaged_checkpoints_are_refused() {
    let folder = Folder::new("damaged");
    let scene = folder.write("scene.toml", &format!("grid.dx = 0.1\n{BODY}{OF}"));
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
    let mut state: State = read(&file, run_of(&good)).unwrap();
    state.particles[5].f[1][2] = f64::NAN;
    write(&file, run_of(&good), &state).unwrap();
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
    let mesh = "[[obstacle]]\nmesh = \"floor.obj\"\n";
    let scene = folder.write("fall.toml", &format!("grid.dx = 0.25\n{BODY}{OF}{mesh}"));
    let start = |more: &[&str]| folder.run(&[&["--scene", &scene, "--frames"], more].concat());
    start(&["1"]).unwrap();
    start(&["2", "--resume"]).unwrap();
    folder.write("floor.obj", &corners.replace("-3", "-4"));
    let other = start(&["3", "--resume"]).unwrap_err();
    assert!(matches!(other.downcast_ref(), Some(CheckpointError::Other { .. })), "{other}");
}

/// A row with a number that is not finite is refused as a cut one, with its line; all files stay as they are.
#[test]
fn damaged_rows_are_refused() {
    let folder = Folder::new("rows");
    let scene = folder.write("scene.toml", &format!("grid.dx = 0.1\n{BODY}{OF}"));
    let start = |more: &[&str]| folder.run(&[&["--scene", &scene, "--frames"], more].concat());
    start(&["2"]).unwrap();
    let (file, good) = (folder.0.join("frames.csv"), folder.bytes("frames.csv"));
    let text = String::from_utf8(good.clone()).unwrap();
    let columns = text.lines().next().unwrap().split(',').count();
    for (line, column, bad) in
        [(2, 9, "nan"), (3, 13, "NaN"), (4, columns - 1, "inf"), (3, 3, "-1"), (3, 12, "")]
    {
        let damaged = text.lines().enumerate().map(|(at, row)| {
            let mut fields: Vec<&str> = row.split(',').collect();
            if at + 1 == line {
                fields[column] = bad;
            }
            fields.join(",") + "\n"
        });
        let damaged: String = damaged.collect();
        std::fs::write(&file, &damaged).unwrap();
        let error = start(&["3", "--resume"]).unwrap_err();
        let Some(OutputError::Table { file: named, line: found }) = error.downcast_ref() else {
            panic!("{error}")
        };
        assert!(*named == file && *found == line, "{line}: {error}");
        assert!(error.to_string().contains("not finite") && folder.bytes("frames.csv") == damaged.as_bytes());
    }
    std::fs::write(&file, &good).unwrap();
    start(&["3", "--resume"]).unwrap();
}

/// A checkpoint whose sum is right names the first number that no run writes.
#[test]
fn numbers_of_a_checkpoint_are_named() {
    let folder = Folder::new("numbers-of");
    let scene = folder.write("scene.toml", &format!("grid.dx = 0.1\n{BODY}{OF}"));
    let start = |more: &[&str]| folder.run(&[&["--scene", &scene, "--frames"], more].concat());
    start(&["2"]).unwrap();
    let (file, good) = (folder.0.join("checkpoint.bin"), folder.bytes("checkpoint.bin"));
    let state: State = read(&file, run_of(&good)).unwrap();
    let spoils: [(fn(&mut State), &str); 9] = [
        (|s| s.particles[5].f[1][2] = f64::NAN, "the F of particle 5"),
        (|s| s.particles[7].c[0][0] = f64::INFINITY, "the C of particle 7"),
        (|s| s.particles[6].v[2] = f64::NAN, "the velocity of particle 6"),
        (|s| s.particles[0].x[0] = f64::NAN, "the position of particle 0"),
        (|s| s.particles[3].body = u32::MAX, "particle 3 (from 0) has a body"),
        (|s| s.emitted = f64::NAN, "emitted until NaN s"),
        (|s| s.emitted = f64::INFINITY, "emitted until inf s"),
        (|s| s.time = f64::NAN, "its time is NaN s"),
        (|s| s.pressures = vec![([1, 2, 3], 0.5), ([1, -2, 3], f64::NAN)], "node [1, -2, 3] is NaN N"),
    ];
    for (spoil, named) in spoils {
        let mut bad = state.clone();
        spoil(&mut bad);
        write(&file, run_of(&good), &bad).unwrap();
        let error = start(&["3", "--resume"]).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(CheckpointError::Damaged { .. })), "{error}");
        let text = error.to_string();
        assert!(text.contains(named) && text.contains("checkpoint.bin"), "{named}: {text}");
    }
    // The number of bodies is that of the scene.
    let mut other = state.clone();
    other.particles[4].body = 1;
    write(&file, run_of(&good), &other).unwrap();
    let error = start(&["3", "--resume"]).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(StepError::Particle { particle: 4, .. })), "{error}");
    // The time is that of the frame, and emitters have emitted.
    let late: fn(&mut State) = |s| s.time += 1e3;
    let none: fn(&mut State) = |s| s.emitted = f64::NEG_INFINITY;
    for (spoil, is_late) in [
        (late, true),
        (|s| (s.time, s.emitted) = (-1e6, -1e6), true),
        (none, false),
        (|s| s.emitted = -1e6, false),
        (|s| s.emitted = s.time, false),
    ] {
        let mut other = state.clone();
        spoil(&mut other);
        write(&file, run_of(&good), &other).unwrap();
        let error = start(&["3", "--resume"]).unwrap_err();
        let Some(StateError { frame: 2, why }) = error.downcast_ref() else { panic!("{error}") };
        assert!(why.contains(if is_late { "the time is" } else { "emitters" }), "{error}");
    }
    write(&file, run_of(&good), &state).unwrap();
    start(&["3", "--resume"]).unwrap();
}

/// A run goes on without a picture that was drawn before only if it draws none.
#[test]
fn lost_pictures_are_named() {
    let folder = Folder::new("lost");
    let scene = folder.write("scene.toml", &format!("grid.dx = 0.1\n{BODY}{OF}"));
    let start = |more: &[&str]| folder.run(&[&["--scene", &scene, "--frames"], more].concat());
    start(&["2", "--width", "64"]).unwrap();
    let (picture, table) = (folder.0.join("frame_0001.png"), folder.bytes("frames.csv"));
    std::fs::remove_file(&picture).unwrap();
    for _ in 0..2 {
        let error = start(&["3", "--resume", "--width", "64"]).unwrap_err();
        let Some(OutputError::Picture { file, frame: 1, .. }) = error.downcast_ref() else {
            panic!("{error}")
        };
        let text = error.to_string();
        assert!(*file == picture && text.contains("--width 0") && text.contains("--resume"), "{text}");
        assert!(folder.bytes("frames.csv") == table);
        std::fs::write(&picture, "no picture").unwrap();
    }
    start(&["3", "--resume", "--width", "0"]).unwrap();
}

/// The fingerprint of the run, which a checkpoint has after its first 32 bytes.
fn run_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[32..40].try_into().unwrap())
}
