//! Built-in scenes, and files of rows and points.

use coarsen::mesh::{Format, parse};
use examples_common::files::{Record, read, write};
use mpm::collider::Obstacle;
use mpm::pictures::view;
use mpm::rows::{Row, Summary};
use mpm::scene::SceneChoice;
use mpm::seed::Seeds;
use mpm::state::State;
use mpm::tries::Tries;

use super::{Folder, cloud};

/// The number of particles at the paper's spacing is near that of Table 2, where the shapes are the authors'.
#[test]
fn scenes_have_the_size_of_the_paper() {
    for (name, thousands, share) in [
        ("twist", 230.0, 0.05),
        ("chain", 308.0, 0.2),
        ("donut", 247.0, 0.02),
        ("faceless", 110.0, 0.1),
        ("wheel", 550.0, 0.1),
    ] {
        let scene: SceneChoice = name.parse().unwrap();
        let setting = scene.setting(None, 1, None).unwrap();
        let (particles, _) = Seeds::new(&setting).unwrap().fill(setting.dx).unwrap();
        let found = particles.len() as f64 / 1e3;
        assert!((found / thousands - 1.0).abs() < share, "{name}: {found}");
    }
}

/// Every scene computes a frame at a small size, with pictures.
#[test]
fn scenes_run() {
    for name in
        ["twist", "boxes", "donut", "chain", "boards", "faceless", "sauce", "wheel", "stretched", "bar"]
    {
        let folder = Folder::new(&format!("scene-{name}"));
        let arguments = ["--scene", name, "--particles", "600", "--frames", "1", "--width", "64"];
        let rows =
            folder.run(&[&arguments[..], &["--solver", "hot", "--tolerance", "1e-4"]].concat()).unwrap();
        assert!(rows[1].energy.is_finite() && rows[1].steps > 0, "{name}: {:?}", rows[1]);
        for file in ["frame_0001.png", "mpm.gif", "frames.csv", "summary.txt", "checkpoint.bin"] {
            assert!(!folder.bytes(file).is_empty(), "{name}: {file}");
        }
    }
}

/// Without a view, pictures show the particles, the colliders, and the ground onto which bodies fall.
#[test]
fn a_view_shows_where_bodies_fall() {
    let scene: SceneChoice = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/jelly.toml").parse().unwrap();
    let setting = scene.setting(None, 1, None).unwrap();
    let (particles, _) = Seeds::new(&setting).unwrap().fill(setting.dx).unwrap();
    let obstacles = Obstacle::all(&setting.collider, setting.dx).unwrap();
    let [low, high] = view(&setting, &obstacles, &particles).corners.unwrap();
    assert!(low[0] <= -0.3 && high[0] >= 0.3, "the wire: {low:?} {high:?}");
    assert!(low[1].abs() < 1e-12 && high[1] > 0.49, "the ground and the jelly: {low:?} {high:?}");
}

#[test]
fn rows_come_back() {
    let row = Row {
        frame: 3,
        steps: 2,
        cycles: 7,
        energy: 1.0 / 3.0,
        angular: [0.1, -1e-9, 5.0],
        ..Row::default()
    };
    assert_eq!(row.to_string().parse(), Ok(row.clone()));
    assert_eq!(row.to_string().split(',').count(), Row::HEADER.split(',').count());
    for damaged in ["", "1,2", &format!("{row},1"), &row.to_string().replacen('3', "x", 1)] {
        assert_eq!(damaged.parse::<Row>(), Err(()), "{damaged}");
    }
    let text = Summary(&[Row::default(), Row { converged: 2, ..row }]).to_string();
    assert!(text.contains("2 of 2 steps converged"), "{text}");
}

#[test]
fn points_and_states_come_back() {
    let particles = cloud(20, 0.1, 1);
    let ply = parse(Format::Ply, &mpm::points::ply(&particles)).unwrap();
    let vtk = parse(Format::Vtk, &mpm::points::vtk(&particles)).unwrap();
    for mesh in [ply, vtk] {
        assert_eq!(mesh.positions.len(), particles.len());
        for (x, p) in mesh.positions.iter().zip(&particles) {
            assert!((0..3).all(|k| (x[k] - p.x[k]).abs() < 1e-6));
        }
    }
    let folder = Folder::new("state");
    let pressures = vec![([-3, 0, 7], 0.25), ([1, 2, 3], 0.0)];
    let tries = Tries { steps: 7, last: [4, 0, 7], work: [2e6, 0.0, 3e5] };
    let state = State { frame: 2, time: 0.1, emitted: 0.05, work: 3.0, particles, pressures, tries };
    let file = folder.0.join("checkpoint.bin");
    write(&file, 7, &state).unwrap();
    assert_eq!(read(&file, 7), Ok(state));
}
