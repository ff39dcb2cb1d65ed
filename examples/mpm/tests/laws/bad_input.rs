//! Bad input: typed errors that name what is wrong, and nothing is lost.

use clap::Parser;
use coarsen::prelude::*;
use examples_common::closed::MeshFault;
use examples_common::files::CheckpointError;
use mpm::energy::Memory;
use mpm::fault::{SceneError, StepError};
use mpm::grid::Grid;
use mpm::options::Options;
use mpm::particles::Particle;
use mpm::scene::Setting;
use mpm::solver::Minimizer;
use mpm::state::State;
use mpm::step::Stepper;

use super::{DX, Folder, bodies, cloud};

const BODY: &str = "[[body]]\nshape = { sphere = { centre = [0.0, 0.0, 0.0], radius = 0.2 } }\n";
const FLOW: &str = "velocity = [0.0, -1.0, 0.0]\nuntil = 1.0\n";
const OF: &str = "of = { density = 1000.0, young = 1e5, poisson = 0.3 }\n";

#[test]
fn scenes_name_the_key_that_is_wrong() {
    let folder = Folder::new("keys");
    let run = |text: &str| {
        let scene = folder.write("scene.toml", text);
        folder.run(&["--scene", &scene, "--frames", "1"]).unwrap_err()
    };
    let ball = format!("{BODY}{OF}");
    for (text, part) in [
        (format!("gravitation = 3\n{ball}"), "gravitation"),
        (format!("{ball}colour = 3\n"), "colour"),
        (format!("{BODY}of = {{ densty = 3.0 }}\n"), "densty"),
        (format!("{ball}[[collider]]\nshape = {{ cone = {{ radius = 3.0 }} }}\n"), "cone"),
        (format!("{ball}[[collider]]\nshape = {{ sphere = {{ centre = [0.0, 0.0, 0.0] }} }}\n"), "radius"),
    ] {
        let error = run(&text);
        assert!(matches!(error.downcast_ref(), Some(SceneError::Format { .. })), "{error}");
        let message = error.to_string();
        assert!(
            message.contains(part) && message.contains("scene.toml") && message.contains("line"),
            "{message}"
        );
    }
    for (text, expected) in [
        (format!("dx = 0.0\n{ball}"), ("scene", "dx")),
        (format!("gravity = [0.0, nan, 0.0]\n{ball}"), ("scene", "gravity")),
        (format!("{BODY}of = {{ density = -1.0, young = 1.0, poisson = 0.3 }}\n"), ("body", "of.density")),
        (format!("{BODY}of = {{ density = 1.0, young = 1.0, poisson = 0.5 }}\n"), ("body", "of.poisson")),
        (format!("{ball}velocity = [inf, 0.0, 0.0]\n"), ("body", "velocity")),
        (ball.replace("0.2", "-0.2"), ("body", "sphere.radius")),
        (
            format!(
                "{ball}[[collider]]\nshape = {{ plane = {{ point = [0.0, 0.0, 0.0], normal = [0.0, 0.0, 0.0] }} }}\n"
            ),
            ("collider", "plane.normal, its length"),
        ),
        (format!("{ball}{}gone = nan\n", BODY.replace("body", "collider")), ("collider", "gone")),
        (format!("{ball}[view]\nazimuth = nan\n"), ("scene", "view.azimuth")),
        (format!("{ball}[view]\nelevation = inf\n"), ("scene", "view.elevation")),
        (
            format!(
                "{ball}[[emitter]]\nshape = {{ plane = {{ point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] }} }}\n{FLOW}{OF}"
            ),
            ("emitter", "shape.plane, its volume"),
        ),
    ] {
        let error = run(&text);
        let Some(SceneError::Value { table, key, index: 0, .. }) = error.downcast_ref() else {
            panic!("{error}")
        };
        assert_eq!((*table, *key), expected);
    }
    for dt in ["0.1", "1e-9"] {
        let step = run(&format!("dt = {dt}\n{ball}"));
        assert!(matches!(step.downcast_ref(), Some(SceneError::Step { .. })), "{step}");
    }
    let missing = run(BODY);
    assert!(
        matches!(
            missing.downcast_ref(),
            Some(SceneError::Missing { table: "body", index: 0, key: "density" })
        ),
        "{missing}"
    );
    let missing = run(&format!("{ball}{}{FLOW}of = {{ density = 1.0 }}\n", BODY.replace("body", "emitter")));
    assert!(
        matches!(
            missing.downcast_ref(),
            Some(SceneError::Missing { table: "emitter", index: 0, key: "young" })
        ),
        "{missing}"
    );
    let both = run(&format!("{ball}mesh = {{ file = \"ball.obj\" }}\n"));
    assert!(matches!(both.downcast_ref(), Some(SceneError::Outline { table: "body", index: 0 })), "{both}");
    let empty = run("dx = 0.1\n");
    assert!(matches!(empty.downcast_ref(), Some(SceneError::Empty)), "{empty}");
    let nowhere = folder.run(&["--scene", "nowhere.toml"]).unwrap_err();
    assert!(matches!(nowhere.downcast_ref(), Some(SceneError::Read { .. })), "{nowhere}");
    let data = folder.run(&["--scene", "armacat"]).unwrap_err();
    assert!(matches!(data.downcast_ref(), Some(SceneError::Data { .. })), "{data}");
}

/// Without a largest step, steps are as long as a frame at any rate.
#[test]
fn a_rate_alone_is_a_scene() {
    let folder = Folder::new("rate");
    let scene = folder.write("scene.toml", &format!("rate = 48.0\ndx = 0.1\n{BODY}{OF}"));
    let rows = folder.run(&["--scene", &scene, "--frames", "2"]).unwrap();
    assert_eq!((rows[1].steps, rows[2].steps), (1, 1));
}

#[test]
fn options_that_a_scene_does_not_use_are_refused() {
    let folder = Folder::new("options");
    for (arguments, expected) in [
        (["--scene", "twist", "--stiff", "1e6"], "--stiff"),
        (["--scene", "bar", "--seed", "3"], "--seed"),
        (["--scene", "stretched", "--data", "."], "--data"),
    ] {
        let error = folder.run(&arguments).unwrap_err();
        let Some(SceneError::Option { option, .. }) = error.downcast_ref() else { panic!("{error}") };
        assert_eq!(*option, expected);
    }
}

#[test]
fn scenes_that_are_too_large_are_refused() {
    let folder = Folder::new("large");
    let long =
        format!("dx = 0.1\n{}{}{OF}", BODY.replace("body", "emitter"), FLOW.replace("1.0\n", "1e30\n"));
    let long = folder.write("long.toml", &long.replace("dx", "frames = 1000000000000\ndx"));
    for arguments in [
        ["--scene", "boxes", "--dx", "1e-6"],
        ["--scene", "boxes", "--particles", "1000000000000"],
        ["--scene", &long, "--dx", "0.1"],
    ] {
        let error = folder.run(&arguments).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(SceneError::Large { index: 0, .. })), "{error}");
    }
}

#[test]
fn bodies_without_volume_are_refused() {
    let folder = Folder::new("volume");
    let hidden = format!("dx = 0.05\n{BODY}{OF}{}{OF}", BODY.replace("0.2", "0.5"));
    let small = format!("dx = 1.0\n{}{OF}", BODY.replace("0.2", "0.001"));
    for text in [hidden, small] {
        let scene = folder.write("scene.toml", &text);
        let error = folder.run(&["--scene", &scene]).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(SceneError::Volume { index: 0, .. })), "{error}");
    }
}

#[test]
fn open_meshes_are_refused() {
    let folder = Folder::new("mesh");
    folder.write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n");
    let scene = folder.write("scene.toml", &format!("[[body]]\nmesh = {{ file = \"open.obj\" }}\n{OF}"));
    let error = folder.run(&["--scene", &scene]).unwrap_err();
    let Some(SceneError::Mesh { index: 0, source: MeshFault::Open { file, edge, .. } }) =
        error.downcast_ref()
    else {
        panic!("{error}")
    };
    assert!(file.ends_with("open.obj") && [[0, 2], [0, 3], [2, 3]].contains(edge), "{error}");
    std::fs::remove_file(folder.0.join("open.obj")).unwrap();
    let error = folder.run(&["--scene", &scene]).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(SceneError::Mesh { source: MeshFault::Read(_), .. })),
        "{error}"
    );
}

#[test]
fn particles_outside_the_domain_are_named() {
    for bad in [f64::NAN, f64::INFINITY, -1e6] {
        let mut particles = cloud(50, 0.1, 1);
        particles[17].x[1] = bad;
        let refused = Grid::around(&mut particles, DX).err();
        assert!(matches!(refused, Some(StepError::Outside { particle: 17, .. })), "{refused:?}");
    }
    // In a run, the state before the frame stays.
    let folder = Folder::new("outside");
    let text = format!("dx = 0.1\ncfl = 1e9\n{BODY}{OF}velocity = [1e7, 0.0, 0.0]\n");
    let scene = folder.write("scene.toml", &text);
    let error = folder.run(&["--scene", &scene, "--frames", "3"]).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(StepError::Outside { .. })), "{error}");
}

/// `--dt` is refused as the key of a scene is, and not cut to a frame.
#[test]
fn steps_that_are_too_long_or_too_short_are_refused() {
    let folder = Folder::new("step");
    let scene = folder.write("scene.toml", &format!("dx = 0.1\n{BODY}{OF}"));
    let run = |dt: &str| folder.run(&["--scene", &scene, "--frames", "1", "--dt", dt]);
    for (dt, length) in [("0.05", 0.05), ("1e-20", 1e-20)] {
        let error = run(dt).unwrap_err();
        let Some(SceneError::Step { found, .. }) = error.downcast_ref() else { panic!("{error}") };
        assert_eq!(*found, length);
    }
    assert_eq!(run("0.025").unwrap()[1].steps, 2);
}

/// A finite speed may be so large that time would not go on.
#[test]
fn particles_that_are_too_fast_are_named() {
    let (setting, bodies) = (Setting::default(), bodies());
    let minimizer = Minimizer::new(&Options::parse_from(["mpm"]).method, Cpu::<f64>::new());
    let (obstacles, dx, largest, memory) = (&[][..], DX, 0.01, Memory::default());
    let mut stepper =
        Stepper { setting: &setting, obstacles, bodies: &bodies, dx, largest, memory, minimizer };
    for fast in [1e10, 1e200] {
        let mut particles = cloud(50, 0.1, 1);
        particles[17].v = [3e9, -fast, 0.0];
        let mut state = State { particles, time: 0.5, frame: 12, ..State::default() };
        let (before, error) = (state.clone(), stepper.frame(&mut state).unwrap_err());
        let Some(StepError::Fast { particle: 17, speed, time: 0.5 }) = error.downcast_ref() else {
            panic!("{error}")
        };
        assert!((speed / fast.hypot(3e9) - 1.0).abs() < 1e-12 && state == before, "{error}");
    }
}

/// A step whose energy overflows is refused, and the state is that before.
#[test]
fn a_step_without_a_finite_energy_is_refused() {
    let (setting, bodies) = (Setting::default(), bodies());
    let method = Options::parse_from(["mpm", "--solver", "pn-mf"]).method; // without a matrix, which is refused before
    let minimizer = Minimizer::new(&method, Cpu::<f64>::new());
    let (obstacles, dx, largest, memory) = (&[][..], DX, 0.01, Memory::default());
    let mut stepper =
        Stepper { setting: &setting, obstacles, bodies: &bodies, dx, largest, memory, minimizer };
    let mut particles = cloud(50, 0.1, 1);
    particles[17].f[0][0] = 1e200; // its square is not finite
    let mut state = State { particles, ..State::default() };
    let (before, error) = (state.clone(), stepper.frame(&mut state).unwrap_err());
    assert!(matches!(error.downcast_ref(), Some(StepError::Energy { time: 0.0, .. })), "{error}");
    assert!(state == before);
}

#[test]
fn particles_that_are_not_finite_are_named() {
    let (setting, bodies) = (Setting::default(), bodies());
    let minimizer = Minimizer::new(&Options::parse_from(["mpm"]).method, Cpu::<f64>::new());
    let (obstacles, dx, largest, memory) = (&[][..], DX, 0.1, Memory::default());
    let stepper = Stepper { setting: &setting, obstacles, bodies: &bodies, dx, largest, memory, minimizer };
    let spoils: [fn(&mut Particle); 3] =
        [|p| p.v[2] = f64::NAN, |p| p.c[0][1] = f64::INFINITY, |p| p.f[1][1] = f64::NAN];
    for spoil in spoils {
        let mut particles = cloud(50, 0.1, 1);
        spoil(&mut particles[17]);
        let mut state = State { particles, ..State::default() };
        let refused = stepper.begin(&mut state, 0.1).err();
        assert!(matches!(refused, Some(StepError::NotFinite { particle: 17 })), "{refused:?}");
    }
}

/// A checkpoint that is cut, changed, of another run or with NaN is refused; all files stay as they are.
#[test]
fn damaged_checkpoints_are_refused() {
    let folder = Folder::new("damaged");
    let scene = folder.write("scene.toml", &format!("dx = 0.1\n{BODY}{OF}"));
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
    let mut state: State = examples_common::files::read(&file, run_of(&good)).unwrap();
    state.particles[5].f[1][2] = f64::NAN;
    examples_common::files::write(&file, run_of(&good), &state).unwrap();
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
    let mesh = "[[collider]]\nmesh = { file = \"floor.obj\" }\n";
    let scene = folder.write("fall.toml", &format!("dx = 0.25\n{BODY}{OF}{mesh}"));
    let start = |more: &[&str]| folder.run(&[&["--scene", &scene, "--frames"], more].concat());
    start(&["1"]).unwrap();
    start(&["2", "--resume"]).unwrap();
    folder.write("floor.obj", &corners.replace("-3", "-4"));
    let other = start(&["3", "--resume"]).unwrap_err();
    assert!(matches!(other.downcast_ref(), Some(CheckpointError::Other { .. })), "{other}");
}

/// The fingerprint of the run, which a checkpoint has after its first 24 bytes.
fn run_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[24..32].try_into().unwrap())
}
