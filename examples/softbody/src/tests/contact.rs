//! Contact: what barriers keep, and scenes that they refuse.

use coarsen::{StepFault, mesh};
use coarsen_contact::Crossings;
use examples_run::frames::Failed;

use super::{Folder, check_balance, distance, outputs};
use crate::rows::Row;
use crate::scene::SceneError;

/// Two bars on the ground; the upper one falls across the lower one at 3 m/s.
const PRESSED: &str = "[[body]]\nmesh = \"bar:2\"\ncentre = [0.0, 0.15, 0.0]\n\n\
    [[body]]\nmesh = \"bar:2\"\ncentre = [0.05, 0.5, 0.02]\nrotate = [0.0, 80.0, 5.0]\n\
    velocity = [0.0, -3.0, 0.0]\n\n\
    [[obstacle]]\nshape = { plane = { point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] } }\n";

/// Two nodes with a third one between them, and one on each side.
const SEAM: &str = "v 0 0 0\nv 1 0 0\nv 0.5 0 1\nv 0.5 0 0\nv 0.5 0 -1\n";

/// Runs a scene and returns its rows, and the number of edges that cross triangles in each frame, by a test that
/// knows nothing of contact.
fn crossed(folder: &Folder, text: &str, words: &str) -> (Vec<Row>, Vec<usize>) {
    let scene = folder.write("scene.toml", text);
    let rows = folder.run(&format!("--scene {scene} {words}")).unwrap();
    let count = |row: &Row| {
        let file = folder.0.join(format!("frame_{:04}.vtk", row.frame));
        let surface = mesh::read(file).unwrap();
        let nodes = vec![false; surface.positions.len()];
        Crossings::new(surface.triangles, nodes).find(&surface.positions).len()
    };
    let counts = rows.iter().map(count).collect();
    (rows, counts)
}

/// Soft bodies that are pressed together do not intersect and are not below the ground, though most of their frames do
/// not converge; with penalties the same bodies cross. Energy only falls.
#[test]
fn bodies_that_are_pressed_together_do_not_intersect() {
    let folder = Folder::new("pressed");
    let soft = "--frames 24 --young 2e4 --iterations 4 --dt 0.0167";
    let (rows, counts) = crossed(&folder, PRESSED, soft);
    assert!(counts.iter().all(|count| *count == 0), "{counts:?}");
    assert!(rows.iter().all(|row| row.deepest() == 0.0) && rows[24].contacts > 10);
    assert!((0..=24).all(|frame| folder.surface(frame).iter().all(|p| p[1] > 0.0)));
    check_balance(&rows, 1e-3);
    let (rows, counts) = crossed(&folder, PRESSED, &format!("{soft} --contact penalty"));
    assert!(counts.iter().any(|count| *count > 0) && rows.iter().any(|row| row.deepest() > 0.0));
}

/// Newton's method with the exact Hessian of contact, which has the turning of normals, takes few iterations at impact.
#[test]
fn impacts_take_few_iterations() {
    let folder = Folder::new("few");
    for young in ["2e4", "1e5"] {
        let words = format!("--frames 13 --young {young} --dt 0.0167 --iterations 100");
        let (rows, _) = crossed(&folder, PRESSED, &words);
        let outer: Vec<usize> = rows.iter().map(|row| row.outer).collect();
        assert!(rows[1..].iter().all(|row| row.outcome == "converged" && row.outer <= 11), "{outer:?}");
        assert!(rows[13].contacts > 10);
    }
}

/// Bodies with a stiffness at which penalties gain energy at impact do not intersect either, and come to rest without
/// inverted elements.
#[test]
fn stiff_bodies_gain_no_energy_at_impact() {
    let folder = Folder::new("impact");
    let (rows, counts) = crossed(&folder, PRESSED, "--frames 30 --young 1e6 --dt 0.0167");
    assert!(counts.iter().all(|count| *count == 0), "{counts:?}");
    check_balance(&rows, 1e-3);
    assert!(rows[30].inverted == 0 && rows[30].contacts > 0);
}

/// A sheet that falls on a bar, which penalties refuse.
#[test]
fn sheets_fall_on_bodies() {
    let folder = Folder::new("sheet");
    let text = "[[body]]\nmesh = \"bar:1\"\ncentre = [0.0, 0.2, 0.0]\n\n\
        [[body]]\nmesh = \"sheet:9\"\ncentre = [0.0, 0.36, 0.0]\nsize = 0.6\n\n\
        [[obstacle]]\nshape = { plane = { point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] } }\n";
    let (rows, counts) = crossed(&folder, text, "--frames 12 --dt 0.0167");
    assert!(counts.iter().all(|count| *count == 0), "{counts:?}");
    assert!(rows[12].contacts > 0);
    check_balance(&rows, 1e-3);
    let scene = folder.write("scene.toml", text);
    let error = folder.run(&format!("--scene {scene} --contact penalty")).unwrap_err();
    assert!(error.downcast_ref::<SceneError>().is_some(), "{error}");
    let message = error.to_string();
    assert!(
        ["body 1", "sheet", "contact.bodies = false"].iter().all(|word| message.contains(word)),
        "{message}"
    );
}

/// Parts of a body that are near at rest do not repel: without gravity it does not move. A thickness of 0 is refused.
#[test]
fn a_body_at_rest_does_not_touch_itself() {
    let folder = Folder::new("alone");
    let text = "contact.bodies = true\ngravity = [0.0, 0.0, 0.0]\n[[body]]\nmesh = \"bar:2\"\n";
    let (rows, _) = crossed(&folder, text, "--frames 2");
    assert!(rows.iter().all(|row| row.contacts == 0 && row.energy.abs() < 1e-9));
    assert!(distance(&folder.surface(0), &folder.surface(2)) < 1e-9);
    let thick = crossed(&folder, &format!("contact.thickness = 0.13\n{text}"), "--frames 0").0;
    assert!(thick[0].contacts > 0 && thick[0].energy > 0.0);
    let scene = folder.write("scene.toml", &format!("contact.thickness = 0.0\n{text}"));
    let error = folder.run(&format!("--scene {scene} --frames 1")).unwrap_err();
    assert!(error.to_string().contains("contact.thickness is 0"), "{error}");
}

/// Bodies whose surfaces cross, that are one inside the other, that nearly touch, or that are inside an obstacle.
#[test]
fn starts_that_intersect_are_refused() {
    let page = include_str!("../../../../book/src/tutorials/simulation.md");
    let message = SceneError::Intersect { first: 0, second: 1, node: 5 }.to_string();
    assert!(outputs::words(page).contains(&message), "{message}");
    let folder = Folder::new("intersect");
    let message = |second: &str| {
        let text = format!("[[body]]\nmesh = \"bar:1\"\ncentre = [0.0, 1.0, 0.0]\n\n{second}");
        let scene = folder.write("scene.toml", &text);
        let run = |more: &str| folder.run(&format!("--scene {scene} --frames 1 {more}"));
        run("--contact penalty").unwrap();
        let error = run("").unwrap_err();
        assert!(error.downcast_ref::<SceneError>().is_some(), "{error}");
        error.to_string()
    };
    let other = |rest: &str| format!("[[body]]\nmesh = \"bar:1\"\n{rest}\n");
    let ball = "[[obstacle]]\nshape = { sphere = { centre = [0.5, 1.1, 0.1], radius = 0.1 } }\n";
    let between = "[[obstacle]]\nshape = { sphere = { centre = [-0.375, 1.125, 0.125], radius = 0.05 } }\n";
    for (second, expected) in [
        (other("centre = [0.3, 1.2, 0.1]\nrotate = [0.0, 40.0, 0.0]"), &["bodies 0 and 1", "intersect"][..]),
        (other("centre = [0.01, 1.02, 0.01]\nsize = 0.1"), &["bodies 1 and 0", "intersect"]),
        (other("centre = [0.0, 1.2501, 0.0]"), &["at the start", "nearer than"]),
        (ball.to_owned(), &["of body 0", "inside obstacle 0"]),
        (between.to_owned(), &["an edge at node", "of body 0", "inside obstacle 0"]),
    ] {
        let message = message(&second);
        assert!(expected.iter().all(|word| message.contains(word)), "{second}\n{message}");
    }
}

/// Triangles without area, which contact cannot take, in scenes without contact.
#[test]
fn flat_triangles_are_accepted_without_contact() {
    let folder = Folder::new("flat");
    let mesh = folder.write("flat.obj", &format!("{SEAM}f 1 4 2\nf 1 2 3\nf 1 5 4\nf 4 5 2\n"));
    let body = format!("[[body]]\nmesh = \"{mesh}\"\nmaterial = \"mass-spring\"\ncentre = [0.0, 0.5, 0.0]\n");
    let ground = "[[obstacle]]\nshape = { plane = { point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] } }\n";
    for text in [&body, &format!("{body}{ground}")] {
        let (rows, _) = crossed(&folder, text, "--frames 2");
        check_balance(&rows, 1e-3);
    }
    let scene = folder.write("scene.toml", &format!("contact.bodies = true\n{body}"));
    let error = folder.run(&format!("--scene {scene}")).unwrap_err();
    assert!(["body 0", "triangle 0"].iter().all(|word| error.to_string().contains(word)), "{error}");
}

/// Nodes that coincide leave no room for barriers; the error names the second body and its parts.
#[test]
fn nodes_that_coincide_are_refused() {
    let folder = Folder::new("seam");
    let mesh = folder
        .write("seam.obj", "v 0 0 0\nv 1 0 0\nv 0.5 0 1\nv 0 0 0\nv 1 0 0\nv 0.5 0 -1\nf 1 2 3\nf 5 4 6\n");
    let text = format!(
        "[[body]]\nmesh = \"bar:1\"\n\n[[body]]\nmesh = \"{mesh}\"\nmaterial = \"mass-spring\"\n\
         rotate = [0.0, 20.0, 10.0]\ncentre = [0.0, 1.0, 0.0]\n"
    );
    let scene = folder.write("scene.toml", &text);
    let error = folder.run(&format!("--scene {scene} --frames 1")).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Touches { index: 1, .. })), "{error}");
    let message = error.to_string();
    let words = ["body 1", "vertex 0 and triangle 4, 3, 5", "merge nodes"];
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
    crossed(&folder, &format!("contact.bodies = false\n{text}"), "--frames 1");
    let (rows, _) = crossed(&folder, &format!("weld = true\n{text}"), "--frames 1");
    assert!(rows[1].contacts == 0 && folder.surface(1).len() == 20 + 4);
}

/// A displacement along which contacts cannot be detected is an error of contact that names the frame and a node.
#[test]
fn faults_of_detection_are_reported() {
    let folder = Folder::new("fault");
    let fast = PRESSED.replace("-3.0", "-1e308");
    let scene = folder.write("scene.toml", &fast);
    let error = folder.run(&format!("--scene {scene} --frames 1 --dt 20")).unwrap_err();
    let fault = error.downcast_ref();
    assert!(matches!(fault, Some(Failed { frame: 1, fault: StepFault::Contact(_), .. })), "{error}");
    assert!(error.to_string().contains("not finite"), "{error}");
}
