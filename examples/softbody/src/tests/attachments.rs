//! Attachments of scene files.

use super::{Folder, check_balance, distance};
use crate::scene::SceneError;
use examples_scene::options::OptionsError;

const BODY: &str = "[[body]]\nmesh = \"bar:1\"\nmaterial = { young = 1e6 }\n\n";

/// After the pins are removed in frame 3, the body falls.
#[test]
fn attachments_of_a_scene_file_come_and_go() {
    let folder = Folder::new("attachments");
    let text = "[[attachment]]\nnodes = { top = 1.0 }\nuntil = 3\n\n\
                [[attachment]]\nnodes = { list = [0] }\nfrom = 5\nvelocity = [0.0, 3.0, 0.0]\n";
    let scene = folder.write("scene.toml", &format!("{BODY}{text}"));
    let rows = folder.run(&format!("--scene {scene} --frames 7")).unwrap();
    let height = |frame: usize| folder.surface(frame)[0][1] - folder.surface(0)[0][1];
    let heights: Vec<f64> = (0..8).map(height).collect();
    assert!(heights[2].abs() < 1e-3, "{heights:?}");
    assert!(heights[4] < -0.02 && heights[4] < heights[3], "{heights:?}");
    assert!((heights[7] - heights[4] - 0.3).abs() < 0.02, "{heights:?}");
    assert!(rows[7].work > 0.0);
    check_balance(&rows, 1e-4);
}

/// Pins at rest do no work. Pins that are removed take their energy with them, wherever checkpoints are.
#[test]
fn work_does_not_depend_on_checkpoints() {
    let folder = Folder::new("work");
    let text = "[[attachment]]\nnodes = { top = 1.0 }\nuntil = 5\n\n\
                [[attachment]]\nnodes = { list = [0] }\nfrom = 6\nvelocity = [0.0, 1.0, 0.0]\n";
    let scene = folder.write("scene.toml", &format!("{BODY}{text}"));
    let runs = [4, 5, 20].map(|checkpoint| {
        let words = format!("--scene {scene} --frames 8 --tolerance 1e-9 --checkpoint {checkpoint}");
        folder.run(&words).unwrap()
    });
    assert!(runs[0][..5].iter().all(|row| row.work == 0.0));
    assert!(runs[0][5].work < -1e-3 && runs[0][8].work > runs[0][5].work);
    for run in &runs[1..] {
        for (a, b) in run.iter().zip(&runs[0]) {
            assert!((a.work - b.work).abs() <= 1e-5 * b.work.abs(), "{a}\n{b}");
        }
    }
}

/// Attachments that would do nothing, or undo each other.
#[test]
fn attachments_that_do_nothing_are_refused() {
    let folder = Folder::new("attachment-faults");
    let run = |attachments: &str| {
        let scene = folder.write("scene.toml", &format!("{BODY}{attachments}"));
        folder.run(&format!("--scene {scene} --frames 1"))
    };
    let list = |nodes: &str, when: &str| format!("[[attachment]]\nnodes = {{ list = [{nodes}] }}\n{when}\n");
    for (text, expected) in [
        (list("0", "from = 5\nuntil = 3"), &["attachment 0", "until is 3", "after"][..]),
        (list("0", "from = 5\nuntil = 5"), &["attachment 0", "until is 5"]),
        (list("0", "until = 1"), &["attachment 0", "until is 1"]),
        (
            "[[attachment]]\nnodes = { nearest = [nan, 0.0, 0.0] }\n".into(),
            &["attachment 0", "nearest", "NaN"],
        ),
        (
            "[[attachment]]\nnodes = { nearest = [0.0, inf, 0.0] }\n".into(),
            &["attachment 0", "nearest", "inf"],
        ),
        (
            list("0, 1", "until = 9") + &list("2, 1", "from = 8"),
            &["attachments 0 and 1", "node 1 of body 0", "frame 8"],
        ),
        (
            list("3", "until = 4") + &list("3", "from = 4\nuntil = 6") + &list("3", "from = 2\nuntil = 3"),
            &["attachments 0 and 2", "node 3 of body 0", "frame 2"],
        ),
    ] {
        let error = run(&text).unwrap_err();
        assert!(error.is::<OptionsError>() || error.is::<SceneError>(), "{error}");
        let message = error.to_string();
        assert!(expected.iter().all(|word| message.contains(word)), "{text}\n{message}");
    }
    // One after the other, and a node that is listed twice.
    run(&(list("3, 4, 3", "until = 4") + &list("3", "from = 4"))).unwrap();
}

/// Only the direction of the axis counts, also where its square is 0 or infinite.
#[test]
fn the_length_of_an_axis_does_not_matter() {
    let folder = Folder::new("axis");
    let end = |axis: &str| {
        let turn = format!("turn = {{ through = [0.0, 0.0, 0.0], axis = [{axis}, 0.0, 0.0], rate = 90.0 }}");
        let text =
            format!("gravity = [0.0, 0.0, 0.0]\n{BODY}[[attachment]]\nnodes = {{ top = 1.0 }}\n{turn}\n");
        let scene = folder.write("scene.toml", &text);
        folder.run(&format!("--scene {scene} --frames 2")).unwrap();
        folder.surface(2)
    };
    let unit = end("1.0");
    assert!(distance(&folder.surface(0), &unit) > 0.01);
    for axis in ["1e-200", "1e200", "5e-324"] {
        assert_eq!(end(axis), unit, "{axis}");
    }
}
