//! Solids as barriers, files with double triangles, and the default thickness.

use super::contact::is_undetected;
use super::*;
use crate::sheet::Tessellation;
use crate::solids::Crushed;
use crate::state::State;
use crate::step::Stepper;
use crate::thickness::thickness;
use crate::world::{World, all};
use coarsen_contact::Shape;
use examples_scene::Shape as Solid;
use examples_scene::shape::GROUND;

/// The scene pushed with a small ball that moves by 0.4 m in the first step, and its place.
fn shot(sheet: &Sheet, radius: f64) -> Scene {
    let ball = Solid::Sphere { centre: [0.0, 0.8, radius + 0.05], radius };
    let motion = Motion::Formula(Formula::Push { reach: 0.8, period: 0.16 });
    Scene { solids: vec![GROUND, ball], motion, ..placed("pushed", sheet) }
}

/// The scene pushed with a leg beside the sheet, whose foot moves by 0.4 m in a step from 0.5 s on; the other leg swings away.
fn swung(sheet: &Sheet, radius: f64) -> Scene {
    let leg = |x: f64| {
        let z = radius + 0.05;
        Solid::Capsule { from: [x, 1.2, z], to: [x, 0.6, z], radius }
    };
    let motion = Motion::Formula(Formula::Walk { swing: 1.0_f64.to_degrees(), pace: 4.0, bob: 0.0 });
    Scene { solids: vec![GROUND, leg(0.0), leg(0.45)], motion, ..placed("pushed", sheet) }
}

/// Solids that move by several of their diameters in one step do not pass through cloth unseen: a ball, and the foot of a figure,
/// which turns about its other end. The cloth goes with them, or the step fails and names an obstacle or a pair.
#[test]
fn solids_do_not_pass_through_cloth_in_a_long_step() {
    let options = parsed("--solver direct --dt 0.04");
    let sheet = Sheet::square(13, Tessellation::Regular, false);
    let shot = shot as fn(&Sheet, f64) -> Scene;
    for (scene, radius, begun) in
        [(shot, 0.05, 0.0), (shot, 0.15, 0.0), (swung, 0.05, 0.5), (swung, 0.15, 0.5)]
    {
        let scene = scene(&sheet, radius);
        let world = World::new(&scene, &sheet, &options).unwrap();
        let mut state = State { begun, time: begun, ..State::start(&world.fixed) };
        let mut stepper = Stepper::new(world, &state, &options.method, &Cpu::new()).unwrap();
        if let Err(error) = stepper.frame(&mut state) {
            assert!(error.downcast_ref::<Crushed>().is_some() || is_undetected(&error), "{error}");
            // Large solids are wider than an edge, so the cloth goes with them.
            assert!(radius < 0.1, "{error}");
            continue;
        }
        let at = all(&stepper.fixed.nodes, &state.x);
        let shape = stepper.fixed.shapes(state.time, false).unwrap().remove(1);
        assert!(at.iter().all(|x| shape.distance(*x) > 0.0));
        let (solid, near) = (scene.motion.solids(&scene.solids, state.time)[1], 0.5 * radius.max(0.09));
        // z of the middle of the solid beside a vertex, if it is near.
        let middle = |[x, y, _]: [f64; 3]| match solid {
            Solid::Capsule { from, to, .. } => {
                let s = (from[1] - y) / (from[1] - to[1]);
                (x.abs() < near && (0.1..1.0).contains(&s)).then(|| from[2] + s * (to[2] - from[2]))
            }
            ball => {
                let [u, v, z] = ball.centre();
                ((x - u).hypot(y - v) < near).then_some(z)
            }
        };
        let far = if let Solid::Capsule { to, .. } = solid { to[2] < -0.2 } else { solid.centre()[2] < -0.1 };
        assert!(far, "{solid:?}");
        let passed: Vec<bool> = at.iter().filter_map(|x| Some(x[2] > middle(*x)?)).collect();
        assert!(!passed.is_empty() && !passed.contains(&true), "{radius}: {passed:?}");
    }
}

/// No vertex and no edge comes into a ball, bars or the legs of a figure that walks, also where edges are longer than the
/// solids are thick, and all steps converge.
#[test]
fn vertices_and_edges_stay_outside_of_solids() {
    for (scene, vertices, dt) in
        [("sphere", "100", "0.008"), ("bars", "81", "0.008"), ("garment", "150", "0.004")]
    {
        let folder = Folder::new(&format!("barrier-{scene}"));
        let words = format!("--scene {scene} --vertices {vertices} --dt {dt} --frames 9 --solver direct");
        let rows = folder.run(&words).unwrap();
        let options = parsed(&words);
        let (sheet, placed) = crate::simulation::prepared(&options).unwrap();
        let kept = 0.1 * thickness(&sheet, &options).unwrap();
        assert!(rows.iter().all(|row| row.penetrations == 0), "{scene}");
        assert!(rows[9].contacts > 0, "{scene}");
        let still = World::new(&placed, &sheet, &options).unwrap().fixed;
        for (frame, row) in rows.iter().enumerate() {
            let at = folder.surface(frame);
            let solids = placed.motion.solids(&placed.solids, options.method.pace().time(0.0, frame));
            let shapes: Vec<Box<dyn Shape>> = solids.iter().map(|solid| solid.grown(0.0).unwrap()).collect();
            for [a, b] in still.edges_outside(&[]) {
                let [p, q] = [a, b].map(|v| at[v as usize]);
                let point = |s: f64| [0, 1, 2].map(|k| (1.0 - s) * p[k] + s * q[k]);
                for (k, shape) in shapes.iter().enumerate() {
                    let least = (0..=40).map(|s| shape.distance(point(f64::from(s) / 40.0)));
                    let least = least.fold(f64::INFINITY, f64::min);
                    // Files have seven digits.
                    assert!(
                        least > kept - 1e-6,
                        "{scene} {frame}: {least:e} of {kept:e}, {a} {b}, solid {k}\n{row}"
                    );
                }
            }
        }
    }
}

/// A sheet that is held at one side droops over a bar, or is lifted by it, so that the bar presses only edges with a held end:
/// they stay outside. Edges that are held in the bar have no contact with it, which the summary says.
#[test]
fn edges_with_a_held_end_stay_outside_of_solids() {
    let folder = Folder::new("held-edges");
    let run = |bar: [f64; 2], motion: &str| {
        let [x, y] = bar;
        let text = format!(
            "{SQUARE}size = 0.4\nvertices = 25\ncentre = [0.0, 0.8, 0.0]\n[[attachment]]\nnodes = {{ sides = [\"west\"] }}\n\
             [[obstacle]]\nshape = {{ capsule = {{ from = [{x}, {y}, -0.5], to = [{x}, {y}, 0.5], radius = 0.03 }} }}\n{motion}"
        );
        let file = folder.write("own.toml", &text);
        let rows = folder.run(&format!("{file} --frames 8 --dt 0.005 --solver direct"));
        let said = folder.text("summary.txt").contains("edges with an end");
        (rows.unwrap(), said)
    };
    for (bar, motion) in [
        ([-0.15, 0.76], ""),
        ([-0.15, 0.76], "motion = [{ until = 0.3, velocity = [0.0, 0.2, 0.0] }]\n"),
        ([-0.17, 0.76], "motion = [{ until = 0.3, velocity = [0.0, 0.1, 0.0] }]\n"),
    ] {
        let (rows, said) = run(bar, motion);
        assert!(!said && rows.iter().any(|row| row.contacts > 0), "{bar:?} {motion}: {}", rows[8]);
        for row in rows {
            assert!(row.penetrations == 0 && row.converged == row.steps, "{bar:?} {motion}: {row}");
        }
        let lifted = folder.surface(8)[1][1];
        assert!(motion.is_empty() || lifted > 0.8, "the bar lifts the cloth: {lifted}");
    }
    // The held side is 0.5 mm over the bar, or 0.01 mm: nearer than barriers keep.
    assert!(!run([-0.2, 0.7695], "").1 && run([-0.2, 0.76999], "").1);
    for scene in ["pushed", "garment", "drooping", "sphere"] {
        folder.run(&format!("--scene {scene} --frames 0")).unwrap();
        let summary = folder.text("summary.txt");
        assert!(!summary.contains("edges with an end"), "{scene}: {summary}");
    }
}

/// A ball that moves through the side of a sheet that is held stops the run, and the error says so: no time step is small enough.
#[test]
fn solids_that_reach_held_vertices_are_named() {
    let folder = Folder::new("held-reached");
    let text = format!(
        "{SQUARE}size = 0.4\nvertices = 25\ncentre = [0.0, 0.8, 0.0]\n[[attachment]]\nnodes = {{ sides = [\"west\"] }}\n\
         [[obstacle]]\nshape = {{ sphere = {{ centre = [-0.2, 0.65, 0.0], radius = 0.1 }} }}\n\
         motion = [{{ until = 1.0, velocity = [0.0, 0.4, 0.0] }}]\n"
    );
    let file = folder.write("own.toml", &text);
    let error = folder.run(&format!("{file} --frames 12 --dt 0.005 --solver direct")).unwrap_err();
    let told = error.to_string();
    assert!(error.downcast_ref::<Crushed>().is_some(), "{told}");
    assert!(told.contains("which is held") && told.contains("does not help"), "{told}");
}

/// A face that is twice in the file of a sheet or of a body is an error that names both, and --weld removes it.
#[test]
fn double_triangles_of_files_are_named() {
    let folder = Folder::new("double");
    let write = |name: &str, y: f64, more: &str| {
        let n = 5;
        let mut text = String::new();
        for k in 0..n * n {
            text += &format!("v {} {y} {}\n", 0.25 * (k % n) as f64, 0.25 * (k / n) as f64);
        }
        for c in 0..(n - 1) * (n - 1) {
            let a = c / (n - 1) * n + c % (n - 1) + 1;
            text += &format!("f {a} {} {}\nf {a} {} {}\n", a + n, a + n + 1, a + n + 1, a + 1);
        }
        folder.write(name, &(text + more))
    };
    let (sheet, body) = (write("sheet.obj", 0.0, "f 7 1 6\n"), write("body.obj", 0.1, "f 6 1 7\n"));
    let run = |more: &str| folder.run(&format!("--frames 0 --mesh {more}"));
    let error = run(&sheet).unwrap_err();
    assert!(error.to_string().contains("triangles 0 and 32 (from 0) have the same corners"), "{error}");
    assert!(error.to_string().contains("--weld"), "{error}");
    run(&format!("{sheet} --weld")).unwrap();

    let good = write("good.obj", 1.0, "");
    let dressed = |more: &str| run(&format!("{good} --scene dressed --body {body} {more}"));
    let error = dressed("").unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Double { triangles: [0, 32], .. })), "{error}");
    assert!(error.to_string().contains("body.obj"), "{error}");
    dressed("--weld").unwrap();

    let Some(data) = super::data::data() else { return };
    let file = data.join("cases/duplicate-face.obj").display().to_string();
    let error = run(&file).unwrap_err();
    assert!(error.to_string().contains("triangles 0 and 32 (from 0)"), "{error}");
    run(&format!("{file} --weld")).unwrap();
}

/// Vertices that are split at a seam, as those of files with texture coordinates, are one vertex with --weld, and the pieces
/// of a garment keep their coordinates.
#[test]
fn split_vertices_are_welded() {
    let folder = Folder::new("weld");
    // Two squares side by side whose common side is there twice, at a distance in texture coordinates.
    let mut text = String::new();
    for side in 0..2 {
        for k in 0..25 {
            let (x, y) = (f64::from(side) + 0.25 * f64::from(k % 5), 0.25 * f64::from(k / 5));
            text += &format!("v {x} {y} 0\nvt {} {y}\n", x + 0.5 * f64::from(side));
        }
        for c in 0..16 {
            let a = 25 * side + c / 4 * 5 + c % 4 + 1;
            let [b, c, d] = [a + 5, a + 6, a + 1];
            text += &format!("f {a}/{a} {d}/{d} {c}/{c} {b}/{b}\n");
        }
    }
    let file = folder.0.join("seam.obj");
    std::fs::write(&file, text).unwrap();
    let split = Sheet::sewn(&file, false, false).unwrap();
    let welded = Sheet::sewn(&file, false, true).unwrap();
    assert_eq!((split.rest.len(), welded.rest.len()), (50, 45));
    assert_eq!((split.triangles.len(), &split.pattern), (welded.triangles.len(), &welded.pattern));
    assert_eq!(welded.boundary().len(), 24);
    // The sides of the seam are at distance 0 of each other.
    let options = parsed("");
    let error = thickness(&split, &options).unwrap_err();
    assert!(matches!(error, SceneError::Near { distance: 0.0, .. }), "{error}");
    assert!(thickness(&welded, &options).is_ok());
}

/// A body keeps the texture coordinates of the triangles that --weld leaves, as an obstacle that moves and as a statue.
#[test]
fn welded_bodies_keep_their_texture() {
    let folder = Folder::new("weld-texture");
    // A tetrahedron whose vertices are split; the first triangle is there twice, with other coordinates.
    let points = "v 0 0.1 0\nv 0.1 0.1 0\nv 0 0.1 0.1\nv 0 0.2 0\nv 0 0.1 0\n";
    let texture: String = (0..5).map(|k| format!("vt 0.{k} 0.{}\n", 9 - k)).collect();
    let faces = "f 1/1 2/2 3/3\nf 3/4 2/5 5/1\nf 1/1 4/4 2/2\nf 2/2 4/4 3/3\nf 5/5 3/3 4/4\n";
    let body = folder.write("body.obj", &format!("{points}{texture}{faces}"));
    let all = mesh::read_texture(&body).unwrap();
    let expected = [0, 2, 3, 4].map(|t| all[t]).to_vec();
    let faces = "v -1 1 -1\nv 1 1 -1\nv 1 1 1\nv -1 1 1\nv 0 1 0\nf 1 5 2\nf 2 5 3\nf 3 5 4\nf 4 5 1\n";
    let sheet = folder.write("sheet.obj", faces);
    for scene in [format!("dressed --mesh {sheet}"), "statue".to_owned()] {
        let options = parsed(&format!("--weld --body {body} --scene {scene}"));
        let (_, placed) = crate::simulation::prepared(&options).unwrap();
        assert_eq!(placed.still.triangles.len(), 4);
        assert_eq!(placed.texture.as_ref(), Some(&expected), "{scene}");
    }
}

/// The default thickness is not above the distance of layers, and of the parts of thin triangles: nothing touches at rest.
#[test]
fn the_default_thickness_is_below_the_distance_of_parts() {
    let options = parsed("");
    let strips = Sheet::strips(9, 3, 1.5e-3);
    assert!((thickness(&strips, &options).unwrap() - 1.5e-3).abs() < 1e-11);
    let twist = placed("twist", &strips);
    let World { fixed, mut forces } = World::new(&twist, &strips, &options).unwrap();
    let start = State::start(&fixed);
    assert_eq!(forces.first.second.detect(&start.x).unwrap().len(), 0);
    // Layers that are too near for the default need a thickness from the command line.
    let near = Sheet::strips(9, 3, 1e-5);
    let error = thickness(&near, &options).unwrap_err();
    assert!(matches!(error, SceneError::Near { .. }) && error.to_string().contains("--thickness"), "{error}");
    let chosen = parsed("--thickness 1e-5");
    assert!(thickness(&near, &chosen).is_ok());
    assert!((thickness(&Sheet::strips(9, 3, 0.01), &options).unwrap() - 2e-3).abs() < 1e-15);
}
