//! Files of garments and bodies: cloth that is sewn from flat pieces, on bodies that move, and on closed ones.

use super::*;
use crate::simulation::{described, prepared};
use crate::world::World;
use coarsen_contact::ContactError;
use examples_scene::closed::MeshFault;

/// Writes a square of `side` m whose middle is at the height y, turned about the x axis by the angle `tilt`, with texture
/// coordinates (u, v) of its points.
fn square(folder: &Folder, [side, y, tilt]: [f64; 3], texture: impl Fn([f64; 2]) -> [f64; 2]) -> String {
    const N: usize = 9;
    let at = |k: usize| [k % N, k / N].map(|i| i as f64 / (N - 1) as f64);
    let mut text = String::new();
    for k in 0..N * N {
        let ([u, v], [s, t]) = (at(k), texture(at(k)));
        let (along, across) = (side * (u - 0.5), side * (v - 0.5));
        let (up, z) = (y + across * tilt.sin(), across * tilt.cos());
        text += &format!("v {along} {up} {z}\nvt {s} {t}\n");
    }
    for (i, j) in (0..(N - 1) * (N - 1)).map(|c| (c % (N - 1), c / (N - 1))) {
        let [a, b, c, d] = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)].map(|(i, j)| j * N + i + 1);
        text += &format!("f {a}/{a} {b}/{b} {c}/{c} {d}/{d}\n");
    }
    folder.write("garment.obj", &text)
}

/// Writes a ball of triangles of radius 0.15 m around a centre.
fn ball(folder: &Folder, frame: usize, centre: [f64; 3]) -> String {
    const RINGS: usize = 6;
    const AROUND: usize = 10;
    let mut text = String::new();
    let mut point = |polar: f64, angle: f64| {
        let p = [polar.sin() * angle.cos(), polar.cos(), polar.sin() * angle.sin()];
        let [x, y, z] = [0, 1, 2].map(|k| centre[k] + 0.15 * p[k]);
        text += &format!("v {x} {y} {z}\n");
    };
    let pi = std::f64::consts::PI;
    point(0.0, 0.0);
    for k in 0..(RINGS - 1) * AROUND {
        point(pi * (k / AROUND + 1) as f64 / RINGS as f64, 2.0 * pi * (k % AROUND) as f64 / AROUND as f64);
    }
    point(pi, 0.0);
    let number = |ring: usize, k: usize| 2 + ring * AROUND + k % AROUND;
    for k in 0..AROUND {
        text += &format!("f 1 {} {}\n", number(0, k + 1), number(0, k));
        let last = (RINGS - 1) * AROUND + 2;
        text += &format!("f {last} {} {}\n", number(RINGS - 2, k), number(RINGS - 2, k + 1));
        for ring in 0..RINGS - 2 {
            let [a, b] = [number(ring, k), number(ring, k + 1)];
            text += &format!("f {a} {b} {} {}\n", number(ring + 1, k + 1), number(ring + 1, k));
        }
    }
    folder.write(&format!("body_{frame}.obj"), &text)
}

fn run(folder: &Folder, words: &str) -> Result<Vec<Row>, Failure> {
    folder.run(&format!("--width 32 {words}"))
}

/// Texture coordinates of any scale are the rest shape; others of the same area strain the cloth at the start.
#[test]
fn garments_are_sewn_from_flat_pieces() {
    let folder = Folder::new("sewn");
    let body = ball(&folder, 0, [0.0, 0.4, 0.0]);
    for material in ["woven", "corotational", "shell"] {
        for (stretch, strained) in [(1.0, false), (1.05, true)] {
            let file =
                square(&folder, [0.5, 0.7, 0.3], |[u, v]| [0.2 + 3.0 * stretch * u, 3.0 / stretch * v]);
            let of = format!("--body {body} --mesh {file} --sewn --material {material}");
            let rows = run(&folder, &format!("--scene dressed {of} --frames 0")).unwrap();
            assert_eq!(rows[0].elastic > 1e-3, strained, "{material}: {}", rows[0]);
            assert!(strained || rows[0].elastic < 1e-9, "{material}: {}", rows[0]);
        }
    }
    let file = square(&folder, [0.5, 0.7, 0.3], |[u, _]| [u, 0.0]);
    let flat = format!("--scene dressed --body {body} --mesh {file} --sewn --frames 0");
    let error = run(&folder, &flat).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(SceneError::Sheet(SheetFault::Degenerate { .. }))),
        "{error}"
    );
    assert!(error.to_string().contains("--drop-degenerate"), "{error}");
    let error = run(&folder, &format!("--scene pinned --mesh {file} --sewn")).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Sewn)), "{error}");
}

/// A garment with a triangle without area in its pattern is sewn without it on request, and the number is said.
#[test]
fn triangles_without_area_are_left_out_on_request() {
    let folder = Folder::new("degenerate");
    let body = ball(&folder, 0, [0.0, 0.4, 0.0]);
    let file = square(&folder, [0.5, 0.7, 0.3], |p| p);
    let text = std::fs::read_to_string(&file).unwrap().replace("f 1/1 10/10 11/11", "f 1/1 10/1 11/11");
    std::fs::write(&file, text).unwrap();
    let fixed = format!("--scene dressed --body {body} --mesh {file} --sewn --frames 1");
    let error = run(&folder, &fixed).unwrap_err();
    assert!(error.to_string().contains("triangle 0 (from 0) is degenerate"), "{error}");
    let more = format!("{fixed} --drop-degenerate");
    assert_eq!(run(&folder, &more).unwrap()[1].penetrations, 0);
    // Frames have the cloth and the body in groups of their own, and the cloth keeps the texture coordinates of its file.
    let frame = folder.text("frame_0001.obj");
    let [cloth, obstacle] =
        ["g cloth\nusemtl cloth\n", "g obstacle\nusemtl obstacle\n"].map(|g| frame.find(g).unwrap());
    assert!(frame[cloth..obstacle].matches("\nf ").count() == 127);
    let texture = mesh::parse_texture(&frame.as_bytes()[..obstacle]).unwrap();
    let expected = mesh::read_texture(&file).unwrap();
    assert!(texture == expected[1..] && frame[obstacle..].contains("\nf 82//82 "), "{}", &frame[obstacle..]);
    let options = parsed(&more);
    let (sheet, scene) = prepared(&options).unwrap();
    assert_eq!((sheet.triangles.len(), sheet.dropped), (127, 1));
    assert!(described(&sheet, &scene).ends_with("127 triangles, 1 without area left out"));
}

/// The texture coordinates of the T-shirt of the test data are an atlas of many scales, not a pattern: that is said, and not
/// that 42 of its triangles have no area. In its own shape it is a garment.
#[test]
fn the_supplied_shirt_has_no_pattern() {
    let Some(data) = super::data::data() else { return };
    let file = data.join("meshes/diffcloth_tshirt1900.obj.gz");
    let with = |more: &str| prepared(&parsed(&format!("--scene garment --mesh {} {more}", file.display())));
    for more in ["--sewn", "--sewn --drop-degenerate"] {
        let error = with(more).unwrap_err();
        assert!(matches!(error, SceneError::Sheet(SheetFault::Pattern { count: 300.., .. })), "{error}");
        assert!(error.to_string().contains("leave out --sewn"), "{error}");
    }
    assert_eq!(with("").unwrap().0.triangles.len(), 3726);
}

/// A body of files comes up under a sheet, lifts it and carries it along. A run that continues has the same bits.
#[test]
fn bodies_of_files_move_the_cloth() {
    let folder = Folder::new("dressed");
    let cloth = square(&folder, [0.5, 0.66, 0.0], |p| p);
    let centre = |frame: usize| [0.005 * frame as f64, 0.5 + 0.01 * frame as f64, 0.0];
    let bodies: Vec<String> = (0..5).map(|frame| ball(&folder, frame, centre(frame))).collect();
    let all = format!("--scene dressed --mesh {cloth} --dt 0.003 --checkpoint 3 --body {}", bodies.join(" "));
    let rows = run(&folder, &format!("{all} --frames 8")).unwrap();
    assert!(rows.iter().all(|row| row.penetrations == 0 && row.converged == row.steps));
    assert!(rows[8].contacts > 0);
    let end = folder.surface(8);
    let top = |points: &[[f64; 3]]| points.iter().map(|p| p[1]).fold(0.0, f64::max);
    assert!(top(&end[..81]) > 0.5 + 4.0 * 0.01 + 0.15, "{}", top(&end[..81]));
    let body = mesh::read(&bodies[4]).unwrap().positions; // it rests after its last file
    assert!(distance(&end[81..], &body) < 1e-9);

    let again = Folder::new("dressed-again");
    run(&again, &format!("{all} --frames 4")).unwrap();
    run(&again, &format!("{all} --frames 8 --resume")).unwrap();
    assert_eq!(again.surface(8), end);

    let other = folder.write("other.obj", "v 0 0 0\nv 0.1 0 0\nv 0 0 0.1\nf 1 2 3\n");
    let error = run(&folder, &format!("{all} {other}")).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Sequence { .. })), "{error}");
    for wrong in ["--scene dressed".to_owned(), format!("--scene sphere --body {other}")] {
        let error = run(&folder, &wrong).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(SceneError::Dressed)), "{error}");
    }
}

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
        let (sheet, mut scene) = prepared(&options).unwrap();
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
