//! States of the hardest frames.

use examples_common::files::{CheckpointError, fingerprint, read, read_state};
use mpm::fault::StateError;
use mpm::hardest::{file, frames, kept};
use mpm::rows::Row;
use mpm::state::State;

use super::Folder;

const RUN: [&str; 6] = ["--scene", "stretched", "--particles", "400", "--solver", "lbfgs-h"];

fn run(folder: &Folder, frames: &str, more: &[&str]) -> Vec<Row> {
    folder.run(&[&RUN[..], &["--frames", frames], more].concat()).unwrap()
}

/// The earlier of two equal frames comes first, and frames without steps do not count.
#[test]
fn the_hardest_frames_have_the_most_iterations_a_step() {
    let row = |(frame, (steps, outer))| Row { frame, steps, outer, ..Row::default() };
    let rows: Vec<Row> = (0..).zip([(0, 0), (1, 5), (2, 12), (4, 20), (0, 9), (1, 6)]).map(row).collect();
    assert_eq!(frames(&rows, 3), [2, 5, 1]);
    assert_eq!(frames(&rows, 9), [2, 5, 1, 3]);
    // Products of numbers that a damaged table may have.
    let rows: Vec<Row> =
        (0..).zip([(0, 0), (2, usize::MAX), (usize::MAX, 3), (1, usize::MAX)]).map(row).collect();
    assert_eq!(frames(&rows, 9), [3, 1, 2]);
}

/// The states before the hardest frames, with the bits of a run that ends there, also after a run was cut off.
#[test]
fn states_of_the_hardest_frames_are_kept() {
    let whole = Folder::new("hardest-whole");
    let stale = file(&whole.0, 77);
    std::fs::write(&stale, "of an earlier run").unwrap();
    let other = whole.write("state_77.bin", "of the user"); // not of four digits
    let rows = run(&whole, "8", &["--states", "3"]);
    let mut expected: Vec<usize> = frames(&rows, 3).iter().map(|frame| frame - 1).collect();
    expected.sort_unstable();
    let names = |folder: &Folder| kept(&folder.0).into_iter().map(|(frame, _)| frame).collect::<Vec<_>>();
    assert!(names(&whole) == expected && std::path::Path::new(&other).exists() && !stale.exists());
    for &frame in &expected {
        let state: State = read_state(&file(&whole.0, frame)).unwrap();
        assert_eq!(state.frame, frame);
    }

    let parts = Folder::new("hardest-parts");
    run(&parts, "2", &["--states", "3"]);
    run(&parts, "5", &["--states", "3", "--resume"]);
    run(&parts, "8", &["--states", "3", "--resume"]);
    run(&parts, "8", &["--states", "3", "--resume"]); // nothing is left to compute
    assert_eq!(names(&parts), expected);
    for (frame, path) in kept(&parts.0) {
        assert!(std::fs::read(path).unwrap() == std::fs::read(file(&whole.0, frame)).unwrap(), "{frame}");
    }
    // A state is a checkpoint of its run.
    let [.., (last, path)] = &kept(&parts.0)[..] else { panic!() };
    let other = read::<State>(path, fingerprint(b"another run"));
    assert!(matches!(other, Err(CheckpointError::Other { .. })), "{last}");
}

#[test]
fn states_that_cannot_be_kept_are_refused() {
    let folder = Folder::new("hardest-refused");
    let fault = |more: &[&str]| {
        let error = folder.run(&[&RUN[..], &["--frames", "6"], more].concat()).unwrap_err();
        *error.downcast::<StateError>().unwrap()
    };
    assert_eq!(fault(&["--states", "2", "--checkpoint", "3"]), StateError::Checkpoint { every: 3 });
    run(&folder, "3", &[]);
    // A row after the checkpoint is not lost.
    let mut before = folder.bytes("frames.csv");
    before.extend(b"4,1\n");
    folder.write("frames.csv", std::str::from_utf8(&before).unwrap());
    let missing = fault(&["--states", "2", "--resume"]);
    assert!(matches!(missing, StateError::Missing { .. }) && missing.to_string().contains("--states"));
    assert!(before == folder.bytes("frames.csv") && kept(&folder.0).is_empty());
}
