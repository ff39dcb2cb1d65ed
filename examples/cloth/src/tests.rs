//! Small runs of the program.

use clap::ValueEnum;
use coarsen::elastic::{Curvature, Hinge, Potential};
use coarsen::mesh;
use coarsen::prelude::*;
use examples_run::Failure;
use examples_run::arguments::{Program, exit_code};
use examples_run::device::opencl;
use examples_run::files::{CheckpointError, OutputError};
use examples_run::scales::Unresolved;
use examples_run::solver::Solver;
use examples_scene::Motion as Formula;
use examples_scene::options::{OptionsError, parse};

use crate::fault::{SceneError, SheetFault};
use crate::material::Material;
use crate::motion::Motion;
use crate::options::Options;
use crate::options::SCENES;
use crate::run;
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::state::Row;
use crate::world::{Fixed, fabrics};

mod contact;
#[path = "../../../tests/common/data.rs"]
mod data;
#[cfg(feature = "opencl")]
mod device;
#[path = "../../../tests/common/energy.rs"]
mod energy;
#[path = "../../../tests/common/folder.rs"]
pub(crate) mod folder;
mod garments;
mod solids;

use energy::{check_energy, distance};
use folder::Folder;

impl Folder {
    /// Runs a command line with this folder for its output; row k is that of frame k.
    fn run(&self, words: &str) -> Result<Vec<Row>, Failure> {
        run(Cpu::new(), &self.parse(words)?)
    }

    /// The options of a command line: of a small sheet without pictures, if the words do not say more.
    pub(crate) fn parse(&self, words: &str) -> Result<Options, OptionsError> {
        let says = |some: &[&str]| some.iter().any(|word| words.contains(word));
        let vertices = if says(&["--vertices", "--mesh", ".toml"]) { "" } else { "--vertices 121" };
        let width = if says(&["--width"]) { "" } else { "--width 0" };
        parse(format!("cloth --out {} {vertices} {width} {words}", self.path()).split_whitespace())
    }

    /// The positions of cloth and obstacle after a frame.
    fn surface(&self, frame: usize) -> Vec<[f64; 3]> {
        mesh::read(self.0.join(format!("frame_{frame:04}.obj"))).unwrap().positions
    }
}

/// Checks that energy less the work of the air does not grow.
fn check_balance(rows: &[Row], share: f64) {
    check_energy(rows, share, |row| (row.energy - row.work, row.kinetic + row.elastic));
}

/// The scenes that need no file.
fn alone() -> impl Iterator<Item = &'static str> {
    SCENES.iter().map(|(name, _)| *name).filter(|name| !["dressed", "statue"].contains(name))
}

/// The options of a command line and its scene.
pub(crate) fn parsed(words: &str) -> Options {
    parse(["cloth"].into_iter().chain(words.split_whitespace())).unwrap()
}

fn placed(name: &str, sheet: &Sheet) -> Scene {
    Scene::new(sheet, &parsed(&format!("--scene {name}"))).unwrap()
}

fn name(of: &impl ValueEnum) -> String {
    of.to_possible_value().expect("every value has a name").get_name().to_owned()
}

/// Without air, before anything is touched, all nodes fall freely: momentum is that of the weight, and energy is kept but
/// for what implicit Euler loses.
#[test]
fn sheets_fall_freely() {
    let folder = Folder::new("free");
    for tessellation in ["regular", "irregular"] {
        let sheet = format!("--tessellation {tessellation} --density 0.3 --air 0");
        let rows = folder.run(&format!("--scene sphere --frames 2 --tolerance 1e-6 {sheet}")).unwrap();
        for (row, steps) in rows.iter().zip([0.0, 20.0, 41.0]) {
            let expected = [0.0, -0.3 * 9.81 * 2e-3 * steps, 0.0];
            let gap = (0..3).map(|k| (row.momentum[k] - expected[k]).abs()).fold(0.0, f64::max);
            assert!(gap < 1e-6 && row.elastic < 1e-9, "{tessellation} {expected:?}: {row}");
            // Each step loses M h² g² / 2.
            let lost = rows[0].energy - row.energy;
            let expected = 0.5 * 0.3 * (2e-3 * 9.81_f64).powi(2) * steps;
            assert!((lost - expected).abs() < 1e-7, "{lost:e} for {expected:e}");
        }
    }
}

/// What is held stays, and the rest droops as far as the cloth lets it.
#[test]
fn held_vertices_stay() {
    for (scene, held) in [("pinned", 40), ("drooping", 21), ("reentrant", 13), ("flag", 11)] {
        let folder = Folder::new(scene);
        let rows = folder.run(&format!("--scene {scene} --frames 6 --dt 0.005")).unwrap();
        check_balance(&rows, 1e-3);
        for row in &rows {
            assert!(row.penetrations == 0 && row.converged == row.steps, "{scene}: {row}");
        }
        let (before, after) = (folder.surface(0), folder.surface(6));
        let stay = before.iter().zip(&after).filter(|(a, b)| a == b).count();
        assert_eq!(stay, held, "{scene}");
        assert!(distance(&before, &after) > 0.01, "{scene}");
    }
}

/// The times of frames in a file are those of the run, also where a frame is some steps.
#[test]
fn files_have_the_times_of_frames() {
    let folder = Folder::new("times");
    for (more, delay) in [("", 1.0 / 24.0), ("--frame-steps 3", 0.006)] {
        folder.run(&format!("--frames 2 --format pvd {more}")).unwrap();
        let list = folder.text("frames.pvd");
        let times =
            list.lines().filter_map(|line| line.split_once("timestep=\"")?.1.split('"').next()?.parse().ok());
        let times: Vec<f64> = times.collect();
        assert_eq!(times.len(), 3);
        assert!(times.iter().enumerate().all(|(k, t)| (t - k as f64 * delay).abs() < 1e-12), "{times:?}");
    }
}

/// The bending of cotton is 3 · 5e-5 N m to the last bit, in a block that two tips of a hinge alone have.
#[test]
fn bending_is_that_of_cotton() {
    let options = parsed("--scene sphere");
    let sheet = Sheet::square(5, crate::sheet::Tessellation::Regular, false);
    let fixed = Fixed::new(&placed("sphere", &sheet), &sheet, &options).unwrap();
    let mut parts = fabrics(&fixed, &sheet, &options).unwrap();
    let (bending, x) = (&mut parts.parts_mut()[0], fixed.nodes.gather(&fixed.positions));
    let mut values = vec![0.0; 9 * bending.pattern().len()];
    bending.add_hessian(&x, Curvature::Exact, &mut values);
    let hinges = Hinge::all(&sheet.triangles, |i| sheet.rest[i as usize], 3.0 * 5e-5);
    let both = |[.., a, b]: [u32; 4]| move |h: &&Hinge| h.corners.contains(&a) && h.corners.contains(&b);
    let mut compared = 0;
    for hinge in hinges.iter().filter(|h| hinges.iter().filter(both(h.corners)).count() == 1) {
        let [.., a, b] = hinge.corners;
        let at = 9 * bending.pattern().find(a as usize, b as usize).unwrap();
        assert_eq!(values[at].to_bits(), hinge.stiffness(2, 3).to_bits());
        compared += 1;
    }
    assert!(compared > 9, "{compared}");
}

/// Every material droops, keeps its energy, and is refused where it has no rest shape.
#[test]
fn every_material_hangs() {
    for material in Material::value_variants() {
        let folder = Folder::new(&format!("material-{}", name(material)));
        let of = format!("--material {} --dt 0.01", name(material));
        let rows = folder.run(&format!("{of} --scene drooping --frames 4")).unwrap();
        check_balance(&rows, 1e-3);
        assert!(rows.iter().all(|row| row.converged == row.steps), "{material:?}");
        let drop = distance(&folder.surface(0), &folder.surface(4));
        assert!((0.05..0.15).contains(&drop), "{material:?}: {drop}");
        let garment = folder.run(&format!("{of} --scene garment --frames 1"));
        match (material, garment) {
            (Material::Corotational | Material::Shell | Material::Anisotropic, Err(error)) => {
                assert!(matches!(error.downcast_ref(), Some(SceneError::Curved { .. })), "{error}");
                let option = format!("--material {} needs", name(material)); // as it is typed
                assert!(error.to_string().contains(&option), "{error}");
            }
            (_, rows) => assert_eq!(rows.unwrap()[1].penetrations, 0),
        }
    }
}

/// Steps that end at the limit of iterations give the program the exit code 4, on one host and on ranks; linearised steps
/// and a fixed number of iterations are not to converge.
#[test]
fn unconverged_steps_have_an_exit_code() {
    let folder = Folder::new("limit");
    let run = |more: &str| {
        Program::run(&folder.parse(&format!("--frames 1 --dt 0.02 {more}")).unwrap(), Cpu::new())
    };
    for more in ["--iterations 2", "--inner 1 --iterations 3"] {
        let error = run(more).unwrap_err();
        assert!(exit_code(&error) == 4 && error.to_string().contains("steps did not converge"), "{error}");
    }
    for more in ["--iterations 1", "--iterations 2 --fixed", ""] {
        run(more).unwrap();
    }
    assert_eq!(exit_code(&run("--scene statue").unwrap_err()), 1);
}

/// The waist of a skirt follows the hips, and legs push the rest.
#[test]
fn skirts_walk() {
    let folder = Folder::new("walk");
    let rows = folder.run("--scene garment --vertices 200 --frames 14 --dt 0.01").unwrap();
    assert!(rows.iter().all(|row| row.penetrations == 0 && row.converged == row.steps));
    assert!(rows.iter().any(|row| row.contacts > 0));
    let (start, time) = (folder.surface(0), 33.0 * 0.01); // the last step before 8/24 s
    let walk = Motion::Formula(Formula::Walk { swing: 0.6_f64.to_degrees(), pace: 0.8, bob: 0.03 });
    let (expected, found) = (walk.held(&start, time), folder.surface(8));
    let held = start.iter().position(|p| p[1] < 0.99).unwrap();
    assert!(distance(&expected[..held], &found[..held]) < 1e-9 && expected[0][1] < start[0][1] - 5e-3);
}

#[test]
fn the_wind_does_work() {
    let folder = Folder::new("wind");
    let flag = |more: &str| folder.run(&format!("--scene flag --frames 3 --dt 0.005 {more}")).unwrap();
    let (windy, still) = (flag(""), flag("--wind 0 0 0"));
    assert!(windy[3].work > 0.0 && still[3].work == 0.0);
    check_balance(&windy, 1e-3);
    let damped = flag("--wind 0 0 0 --damping 5");
    assert!(damped[3].work < 0.0 && damped[3].kinetic < 0.8 * still[3].kinetic);
}

/// The air takes the motion of a sheet that hangs, and without air it swings on.
#[test]
fn a_hanging_sheet_comes_to_rest_in_air() {
    let folder = Folder::new("rest");
    let swing = |more: &str| {
        let rows = folder.run(&format!("--vertices 81 --dt 0.01 --frames 40 --format none {more}")).unwrap();
        check_balance(&rows, 1e-3);
        rows[24..].iter().map(|row| row.kinetic).fold(0.0, f64::max)
    };
    let (air, none) = (swing(""), swing("--air 0"));
    assert!(air < 0.1 * none && none > 0.02, "{air:e} J with air, {none:e} J without");
}

/// Solids hold the cloth, whose nodes stay outside of them.
#[test]
fn solids_hold_the_cloth() {
    for scene in ["sphere", "bars"] {
        let folder = Folder::new(scene);
        let rows = folder.run(&format!("--scene {scene} --frames 8 --vertices 196 --dt 0.006")).unwrap();
        check_balance(&rows, 1e-3);
        assert!(rows[8].contacts > 0 && rows.iter().all(|row| row.penetrations == 0), "{}", rows[8]);
    }
}

/// The ball drags the cloth along by friction, and turns it about its axis.
#[test]
fn the_ball_turns_the_cloth() {
    let gripped = check_turn_by_a_barrier();
    let sticks = spin("0.8", "constraints");
    assert!((sticks.0 - gripped.0).abs() < 0.5 * gripped.0, "{sticks:?} {gripped:?}");
}

/// Runs with the given friction, and returns the turn of the sheet about the vertical axis, positive from +z to +x, and the
/// work of the ball.
fn spin(friction: &str, obstacles: &str) -> (f64, f64) {
    let folder = Folder::new("turn");
    let of = format!("--friction {friction} --self-friction 0 --obstacles {obstacles} --air 0");
    let rows = folder.run(&format!("--scene sphere --frames 10 --dt 0.006 {of}")).unwrap();
    check_balance(&rows, 1e-3);
    let (before, after) = (folder.surface(0), folder.surface(10));
    let turn = |(a, b): (&[f64; 3], &[f64; 3])| a[2] * b[0] - a[0] * b[2];
    (before.iter().zip(&after).map(turn).sum::<f64>(), rows[10].work)
}

/// Checks that the friction of a ball with a barrier turns the sheet; returns what `spin` does with friction.
fn check_turn_by_a_barrier() -> (f64, f64) {
    let (free, gripped) = (spin("0", "barrier"), spin("0.8", "barrier"));
    assert!(free.1 == 0.0 && gripped.1 != 0.0);
    assert!(gripped.0 > free.0.abs() + 0.1, "{gripped:?} {free:?}");
    gripped
}

/// Constraints slide and stick like a barrier.
#[test]
#[ignore = "4 s: run by .ci/full"]
fn long_the_ball_turns_the_cloth() {
    let gripped = check_turn_by_a_barrier();
    let (slides, sticks) = (spin("0", "constraints"), spin("0.8", "constraints"));
    assert!(sticks.0 > slides.0.abs() + 0.1, "{sticks:?} {slides:?}");
    assert!((sticks.0 - gripped.0).abs() < 0.5 * gripped.0, "{sticks:?} {gripped:?}");
}

/// All solvers lead to the same positions.
#[test]
fn solvers_agree() {
    let folder = Folder::new("solvers");
    let fixed = "--frames 1 --dt 0.01 --tolerance 1e-6 --iterations 40";
    let mut found = Vec::new();
    for solver in Solver::value_variants() {
        let rows = folder.run(&format!("{fixed} --solver {}", name(solver))).unwrap();
        assert_eq!(rows[1].converged, rows[1].steps, "{solver:?}");
        found.push(folder.surface(1));
    }
    assert!(found.iter().all(|x| distance(x, &found[0]) < 1e-6));
}

#[test]
fn threads_do_not_change_bits() {
    let surface = |n: usize| {
        let folder = Folder::new(&format!("threads{n}"));
        let words = "--scene drop-vertical --vertices 2000 --frames 1 --dt 0.01";
        threads(n, || folder.run(words).map(drop)).unwrap().unwrap();
        folder.surface(1)
    };
    assert_eq!(surface(1), surface(3));
}

/// A continued run has the same bits and table as an uninterrupted run, also if frames were computed after
/// the checkpoint.
#[test]
fn a_run_continues_to_the_same_bits() {
    for scene in ["sphere", "flag", "garment"] {
        let [at_once, pieces] = ["at-once", "pieces"].map(|name| Folder::new(&format!("{scene}-{name}")));
        let fixed = format!("--scene {scene} --checkpoint 2 --width 32 --dt 0.006");
        let run = |folder: &Folder, more: &str| folder.run(&format!("{fixed} {more}")).unwrap();
        let bits = |rows: Vec<Row>| -> Vec<Row> {
            rows.into_iter().map(|row| Row { setup: 0.0, solve: 0.0, ..row }).collect()
        };
        let whole = run(&at_once, "--frames 5");
        run(&pieces, "--frames 3");
        let continued = run(&pieces, "--frames 5 --resume");
        assert_eq!(bits(whole), bits(continued));
        for file in ["frame_0005.obj", "frame_0005.png", "cloth.gif", "checkpoint.bin"] {
            let [a, b] = [&at_once, &pieces].map(|folder| folder.bytes(file));
            assert!(a == b, "{scene}: {file}");
        }
        let error = pieces.run(&format!("{fixed} --resume --bending 2")).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(CheckpointError::Other { .. })), "{error}");
    }
}

/// A run that begins from the checkpoint in its own folder would replace it.
#[test]
fn the_state_of_the_start_is_not_replaced() {
    let [own, other] = ["own-start", "other-start"].map(Folder::new);
    let fixed = "--scene sphere --dt 0.01 --solver direct --frames 1 --checkpoint 1";
    own.run(fixed).unwrap();
    let (file, before) = (own.0.join("checkpoint.bin"), own.bytes("checkpoint.bin"));
    let start = format!("{fixed} --start {}", file.display());
    let error = own.run(&start).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(OutputError::Input { file: found }) if *found == file),
        "{error}"
    );
    assert!(error.to_string().contains("--out") && own.bytes("checkpoint.bin") == before, "{error}");
    other.run(&start).unwrap();
}

/// A sheet of a file moves as the same generated sheet; one that is not flat is refused.
#[test]
fn sheets_come_from_files() {
    let folder = Folder::new("files");
    let write = |name: &str, lift: f64| {
        let line = |k: usize| format!("v {} {} {}\n", 2 * (k % 3), if k == 4 { lift } else { 0.0 }, k / 3);
        let points: String = (0..9).map(line).collect();
        let faces = "f 1 2 5 4\nf 2 3 6 5\nf 4 5 8 7\nf 5 6 9 8\n";
        folder.write(name, &(points + faces))
    };
    let run = |file: &str, scene: &str| folder.run(&format!("--frames 1 --mesh {file} --scene {scene}"));
    let rows = run(&write("flat.obj", 0.0), "drooping").unwrap();
    assert!(rows[1].energy < rows[0].energy);
    let error = run(&write("curved.obj", 0.3), "drooping").unwrap_err();
    let curved = matches!(error.downcast_ref(), Some(SceneError::Sheet(SheetFault::Curved { .. })));
    assert!(curved, "{error}");
    let error = run(&write("flat.obj", 0.0), "twist").unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Strips)), "{error}");
    let error = run(&write("flat.obj", 0.0), "reentrant").unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Cut)), "{error}");
}

/// The scene of the book runs.
#[test]
fn the_scene_of_the_page_runs() {
    let page = include_str!("../../../book/src/guides/scenes.md");
    let text = page.split("```").find_map(|block| block.strip_prefix("toml\n# cloth\n")).expect("a listing");
    let folder = Folder::new("page");
    let scene = folder.write("scene.toml", text);
    let rows = folder.run(&format!("{scene} --frames 2 --width 32")).unwrap();
    assert!(rows.len() == 3 && rows[2].converged == rows[2].steps && rows[2].penetrations == 0);
}

/// A sheet of a user's own, without Rust: a file that keeps its place or is placed and scaled, what holds it, an obstacle that
/// moves, numbers of material and solver. The command line overrides these, and faults name the line and the key.
#[test]
fn sheets_of_a_user_are_placed_by_a_file() {
    let folder = Folder::new("own");
    let line = |k: usize| format!("v {} 0.7 {}\n", 0.05 * (k % 5) as f64, 0.05 * (k / 5) as f64);
    let points: String = (0..25).map(line).collect();
    let cell = |c: usize| {
        let a = c / 4 * 5 + c % 4 + 1;
        format!("f {a} {} {} {}\n", a + 5, a + 6, a + 1)
    };
    let faces: String = (0..16).map(cell).collect();
    folder.write("sheet.obj", &(points + &faces));
    let write = |placed: &str, more: &str| {
        let text = format!(
            "version = 1\n[[body]]\nmesh = \"sheet.obj\"\n{placed}material = {{ name = \"springs\", density = 0.3 }}\n\n\
             [[attachment]]\nnodes = {{ box = [[-1.0, -1.0, -1.0], [0.01, 9.0, 9.0]] }}\n\n[[obstacle]]\n\
             shape = {{ sphere = {{ centre = [0.1, 0.6, 0.1], radius = 0.05 }} }}\n\
             motion = [{{ until = 0.1, velocity = [0.0, 0.5, 0.0] }}]\n\n[time]\ndt = 0.005\nframes = 3\n\n\
             [solver]\nsolver = \"direct\"\n{more}\n[output]\nwidth = 0\n"
        );
        folder.write("own.toml", &text)
    };
    let scene = write("", "");
    let rows = folder.run(&scene).unwrap();
    assert!(rows.len() == 4 && rows.iter().all(|row| row.penetrations == 0 && row.converged == row.steps));
    let (start, end) = (folder.surface(0), folder.surface(3));
    let held = (0..25).filter(|k| start[*k] == end[*k]).collect::<Vec<_>>();
    assert!(distance(&start[24..25], &[[0.2, 0.7, 0.2]]) < 1e-12 && held == [0, 5, 10, 15, 20], "{held:?}");
    assert!(end[12][1] > 0.7, "the ball lifts the middle: {:?}", end[12]);
    assert_eq!(folder.run(&format!("{scene} --frames 0 --drop-degenerate")).unwrap().len(), 1);
    let lighter = folder.run(&format!("--scene {scene} --density 0.1 --frames 1")).unwrap();
    assert!(lighter.len() == 2 && lighter[0].energy < 0.5 * rows[0].energy);
    let placed =
        write("size = 0.4\ncentre = [0.0, 1.0, 0.2]\naxes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]\n", "");
    folder.run(&format!("{placed} --frames 0")).unwrap();
    assert!(distance(&folder.surface(0)[24..25], &[[0.2, 1.2, 0.2]]) < 1e-12, "{:?}", folder.surface(0)[24]);
    for (placed, more, expected) in [
        ("stretch = [1.0, 1.0, 1.0]\n", "", &["line 4", "body 0", "stretch has no effect", "body.rest"][..]),
        ("rest = \"bent\"\n", "", &["line 4", "bent", "fitted"]),
        ("", "tolerance = -1.0\n", &["line 19", "solver.tolerance", "expected 0 or"]),
        ("", "iteratons = 3\n", &["line 19", "solver.iteratons", "solver.iterations"]),
    ] {
        let text = folder.run(&write(placed, more)).unwrap_err().to_string();
        assert!(expected.iter().all(|word| text.contains(word)), "{text}");
    }
}

/// The scene of a user's text, and its sheet.
fn scene_of(text: &str) -> Result<(Scene, Sheet), SceneError> {
    let mut options = parsed("--vertices 121");
    options.choice.name = "own.toml".to_owned();
    options.choice.setting = examples_scene::Scene::parse(text, "own.toml".into())?;
    let sheet = crate::scene::sheet(&options)?;
    Ok((Scene::new(&sheet, &options)?, sheet))
}

const SQUARE: &str = "[[body]]\nmesh = \"square\"\naxes = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]\n";
const BALL: &str = "[[obstacle]]\nshape = { sphere = { centre = [0.0, 0.5, 0.0], radius = 0.1 } }\n";

/// A generated square is scaled, and is above the highest obstacle that is not a plane.
#[test]
fn generated_squares_have_a_size_above_obstacles() {
    let plane = "[[obstacle]]\nshape = { plane = { point = [0.0, 5.0, 0.0], normal = [0.0, 1.0, 0.0] } }\n";
    for (obstacles, height) in
        [(format!("{plane}{BALL}"), 0.7), (plane.to_owned(), 0.1), (String::new(), 0.1)]
    {
        let (scene, sheet) = scene_of(&format!("{SQUARE}size = 0.5\nabove = 0.1\n{obstacles}")).unwrap();
        let positions = scene.positions(&sheet);
        let [low, high] = mesh::Mesh { positions, ..mesh::Mesh::default() }.bounds();
        assert!(
            distance(&[low, high], &[[-0.25, height, -0.25], [0.25, height, 0.25]]) < 1e-12,
            "{low:?} {high:?}"
        );
    }
}

/// Keys that a run would ignore, and a mesh that has the name of one of the built-in scenes.
#[test]
fn keys_of_scenes_without_effect_are_refused() {
    let turn = "motion = [{ until = inf, rate = 90.0 }]\n";
    let still = "has no effect on a mesh, nor beside [motion] or `frames`; leave it out";
    scene_of(&format!("{SQUARE}{BALL}axis = [1.0, 0.0, 0.0]\n{turn}")).unwrap();
    for (text, key, why) in [
        (format!("{SQUARE}[[obstacle]]\nmesh = \"x.obj\"\n{turn}"), "obstacle 0 (from 0): motion", still),
        (
            format!("{SQUARE}[[obstacle]]\nmesh = \"x.obj\"\nsolid = true\n{turn}"),
            "obstacle 0 (from 0): motion",
            still,
        ),
        (
            format!("{SQUARE}{BALL}{turn}[motion]\npush = {{ reach = 0.5, period = 1.0 }}\n"),
            "obstacle 0 (from 0): motion",
            still,
        ),
        (
            format!("{SQUARE}[[obstacle]]\nframes = [\"x.obj\"]\n{BALL}{turn}"),
            "obstacle 1 (from 0): motion",
            still,
        ),
        (format!("{SQUARE}{BALL}axis = [1.0, 0.0, 0.0]\n"), "obstacle 0 (from 0): axis", "without `motion`"),
        ("[[body]]\nmesh = \"skirt\"\nsize = 2.0\n".to_owned(), "body 0 (from 0): size", "has no effect"),
        (
            "[[body]]\nmesh = \"x.obj\"\nrest = \"space\"\nsize = 2.0\n".to_owned(),
            "body 0 (from 0): size",
            "garment",
        ),
    ] {
        let error = scene_of(&text).unwrap_err().to_string();
        assert!(error.contains(&format!("{key} ")) && error.contains(why), "{error}\n{text}");
    }
    let error = scene_of(&format!("{SQUARE}[[obstacle]]\nmesh = \"box.obj\"\n")).unwrap_err();
    assert!(matches!(error, SceneError::Sheet(SheetFault::Read(_))), "{error}");
}

/// Cloth whose weight is below the round-off of its forces: no step could converge.
#[test]
fn scales_that_cannot_be_resolved_are_refused() {
    let folder = Folder::new("scales");
    for scene in ["drooping", "drop-vertical"] {
        for extreme in ["--density 1e-300", "--stiffness 1e300", "--density 1e-18"] {
            for more in ["", "--fixed --iterations 1", "--tolerance 0"] {
                let error = folder.run(&format!("--scene {scene} --frames 1 {extreme} {more}")).unwrap_err();
                let Some(Unresolved { noise, limit, what }) = error.downcast_ref() else { panic!("{error}") };
                assert!(noise > limit && what.contains("weight") != more.is_empty(), "{error}");
            }
        }
        // A thousand times lighter or stiffer than cotton.
        for hard in ["--density 2e-4", "--stiffness 1e3"] {
            let rows = folder.run(&format!("--scene {scene} --frames 1 --dt 0.02 {hard}")).unwrap();
            assert_eq!(rows[1].converged, rows[1].steps, "{hard}");
        }
    }
}

#[test]
fn arguments_out_of_range_are_refused() {
    let wrong = "--dt 0.05, --friction -0.1, --stiffness 0, --density nan, --density 0, --density inf, --thickness 0, \
                 --tolerance nan, --threads 1025, --damping -1, --vertices 4, --iterations 0, --scene nowhere, \
                 --mesh a.obj --vertices 100, --wind 1 2, --self-friction -1";
    let folder = Folder::new("arguments");
    for words in wrong.split(", ") {
        assert!(folder.parse(words).is_err(), "{words}");
    }
    let message = |words: &str| folder.run(words).unwrap_err().to_string();
    assert!(message("--solver direct --levels 3").contains("--levels"));
    assert!(message("--wind 1 inf 2").contains("--wind"));
    for scene in alone() {
        folder.run(&format!("--scene {scene} --frames 0")).unwrap();
    }
}

/// In 62 steps positions stay within a thousandth of an edge of those of the CPU: a sheet that droops, and one that
/// falls for 50 steps and then touches. Later the rounding at impacts grows, but nothing crosses and energy does not.
/// The host synchronises less than ten times a step.
#[test]
fn a_device_takes_the_steps_of_the_cpu() {
    let Some(backend) = opencl() else { return };
    for scene in ["drooping", "drop-horizontal"] {
        // A linearised step with 64 inner iterations (Wu et al. 2022, §8).
        let step = "--solver mas --iterations 1 --inner 64 --fixed";
        let words = format!("--scene {scene} {step} --frames 4 --vertices 441");
        let [here, there] = ["here", "there"].map(|name| Folder::new(&format!("{scene}-{name}")));
        let expected = here.run(&words).unwrap();
        let found = run(backend.clone(), &there.parse(&words).unwrap()).unwrap();
        assert_eq!(found.iter().map(|row| row.steps).sum::<usize>(), 83, "{scene}");
        let edge = 1.0 / 20.0;
        for frame in 1..=3 {
            let gap = distance(&here.surface(frame), &there.surface(frame));
            assert!(gap < 1e-3 * edge, "{scene}, frame {frame}: {gap:e}");
        }
        assert!(found.iter().all(|row| row.penetrations == 0), "{scene}");
        check_balance(&found, 1e-3);
        for row in &found[1..] {
            assert!(
                row.synchronisations > 0 && row.synchronisations < 10 * row.steps as u64,
                "{scene}: {row}"
            );
            assert_eq!(row.inner, 64 * row.outer);
        }
        assert!(
            expected.iter().all(|row| row.synchronisations == 0) && backend.transfers().synchronisations > 0
        );
        assert_eq!(scene == "drop-horizontal", found[3].contacts > 0, "{scene}");
    }
}
