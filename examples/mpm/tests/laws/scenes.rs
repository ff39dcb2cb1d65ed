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

use super::runs::check_balance;
use super::{Folder, cloud};

/// The number of particles at the paper's spacing is near that of Table 2, where the shapes are the authors'.
#[test]
fn scenes_have_the_size_of_the_paper() {
    for (name, thousands, share) in [
        ("twist", 230.0, 0.05),
        ("boxes", 805.0, 0.1),
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

/// The surface of an octahedron, closed.
const DIAMOND: &str = "v 0.4 0 0\nv -0.4 0 0\nv 0 0.4 0\nv 0 -0.4 0\nv 0 0 0.4\nv 0 0 -0.4\nf 1 3 5\nf 3 2 5\nf 2 4 5\n\
                       f 4 1 5\nf 3 1 6\nf 2 3 6\nf 4 2 6\nf 1 4 6\n";

/// Every scene computes a frame at a small size, with pictures, and its energy does not rise beyond the work of the
/// colliders by more than 1 % of what moves or is strained. In place of the armadillo is another closed surface.
#[test]
fn scenes_run() {
    let data = Folder::new("scene-data");
    std::fs::create_dir(data.0.join("meshes")).unwrap();
    data.write("meshes/hot_Armadillo.obj.gz", DIAMOND);
    let given = ["--data", data.0.to_str().unwrap()];
    let soft = ["twist", "chain", "boards", "faceless", "sauce", "wheel", "stretched", "bar"];
    let soft = soft.map(|name| (name, "600", "1e-4", &[][..]));
    // The tolerance is relative to the stiffness: to balance soft bodies beside metal it has to be smaller.
    let metal = ["boxes", "donut"].map(|name| (name, "600", "1e-9", &[][..]));
    // Sheets need two particles across.
    let sheets = [("armacat", "4000", "1e-4", &given[..]), ("sheets", "4000", "1e-7", &[])];
    for (name, particles, tolerance, more) in soft.into_iter().chain(metal).chain(sheets) {
        let folder = Folder::new(&format!("scene-{name}"));
        let arguments = ["--scene", name, "--particles", particles, "--frames", "1", "--width", "64"];
        let solver = ["--solver", "hot", "--tolerance", tolerance];
        let rows = folder.run(&[&arguments[..], &solver, more].concat()).unwrap();
        assert!(rows[1].steps > 0 && rows[1].particles > 0, "{name}: {:?}", rows[1]);
        check_balance(&rows, 1e-2);
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
