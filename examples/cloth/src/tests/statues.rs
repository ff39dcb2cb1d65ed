//! A sheet that falls on a closed mesh of a file.

use super::garments::ball;
use super::*;
use crate::world::World;
use coarsen_contact::ContactError;
use examples_scene::closed::MeshFault;

/// Vertices of the cloth lie on the statue, with constraints at its skin and with barriers between that and a tenth of it: none
/// is in it, no edge crosses it, and energy does not grow. A start inside is refused.
#[test]
fn statues_carry_the_cloth() {
    let folder = Folder::new("statue");
    let file = ball(&folder, 0, [3.0, -2.0, 5.0]);
    for (obstacles, low, high) in [("barrier", -0.018, 0.0), ("constraints", -2e-5, 2e-5)] {
        let sheet = format!("--vertices 196 --thickness 0.02 --obstacles {obstacles}");
        let all = format!("--scene statue --body {file} {sheet} --dt 0.006 --frames 8");
        let rows = folder.run(&all).unwrap();
        check_balance(&rows, 2e-3);
        assert!(rows.iter().all(|row| row.penetrations == 0), "{obstacles}");
        assert!(rows[8].contacts > 4 && rows.iter().all(|row| row.converged == row.steps), "{obstacles}");

        let options = parsed(&all);
        let (sheet, mut scene) = crate::simulation::prepared(&options).unwrap();
        let statue = scene.statue.clone().unwrap();
        let shape = statue.shape(crate::thickness::thickness(&sheet, &options).unwrap());
        let end = folder.surface(8);
        let heights = end[..196].iter().map(|x| shape.distance(*x)).collect::<Vec<_>>();
        let least = heights.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        let resting = heights.iter().filter(|h| **h <= high).count();
        assert!(least >= low && resting > 4, "{obstacles}: {least:e}, {resting} at rest");
        assert!(distance(&end[196..], &statue.mesh().positions) < 1e-9);

        // It stands on the ground, at its size; lower, the sheet is in it before an edge crosses it.
        let [low, high] = statue.mesh().bounds();
        assert!(low[1].abs() < 1e-12 && (high[1] - 0.6).abs() < 1e-9 && (low[0] + high[0]).abs() < 1e-9);
        scene.middle[1] = 0.35;
        let error = World::new(&scene, &sheet, &options).err().expect("a fault");
        assert!(matches!(error, SceneError::Inside { depth, obstacle: 1, .. } if depth > 0.0), "{error}");
    }
}

#[test]
fn meshes_that_are_no_statues_are_refused() {
    let folder = Folder::new("statue-faults");
    let good = ball(&folder, 0, [0.0; 3]);
    let text = std::fs::read_to_string(&good).unwrap();
    let open: String =
        text.lines().filter(|line| *line != "f 1 3 2").map(|line| format!("{line}\n")).collect();
    assert!(open.len() < text.len());
    let turn = |line: &str| match line.strip_prefix("f ") {
        Some(corners) => format!("f {}\n", corners.split(' ').rev().collect::<Vec<_>>().join(" ")),
        None => format!("{line}\n"),
    };
    let (open, inverted) = (
        folder.write("open.obj", &open),
        folder.write("inverted.obj", &text.lines().map(turn).collect::<String>()),
    );
    let run =
        |body: &str| folder.run(&format!("--scene statue --frames 0 --thickness 0.02 {body}")).unwrap_err();
    let fault = |body: &str| match *run(&format!("--body {body}")).downcast::<SceneError>().unwrap() {
        SceneError::Statue(fault) => fault,
        other => panic!("{other}"),
    };
    let source = |body: &str| match fault(body) {
        MeshFault::Surface { file, source } if file.ends_with(body) => source,
        other => panic!("{other}"),
    };
    assert!(matches!(source(&open), ContactError::Open { edge: [0, 1 | 2] | [1, 2], count: 1 }));
    assert!(matches!(source(&inverted), ContactError::Inverted { volume } if volume < 0.0));
    assert!(matches!(fault("nowhere.obj"), MeshFault::Read(_)));
    for wrong in [String::new(), format!("--body {good} {good}")] {
        let error = run(&wrong);
        assert!(matches!(error.downcast_ref(), Some(SceneError::Unnamed)), "{error}");
    }
}
