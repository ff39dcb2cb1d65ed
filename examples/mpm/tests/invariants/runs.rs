//! Whole simulations: invariants of motion, repetition, continuation.

use coarsen::prelude::*;
use examples_run::files::read_state;
use mpm::rows::Row;
use mpm::state::State;

use super::Folder;
use super::kept_energy::check_energy;

/// A soft ball and a box of another material, in the scene file of all runs here.
const BALL: &str = r#"
gravity = [0.0, -9.8, 0.0]
grid.dx = 0.1
time.dt = 0.02
time.frames = 4

[[body]]
shape = { sphere = { centre = [0.0, 1.0, 0.0], radius = 0.25 } }
material = { density = 1000.0, young = 5e4, poisson = 0.3, per_cell = 8 }
velocity = [0.5, 0.0, 0.0]
"#;

/// A second body, and colliders.
const MORE: &str = r#"
[[body]]
shape = { box = { low = [-0.3, 0.12, -0.2], high = [0.3, 0.4, 0.2] } }
material = { density = 2000.0, young = 1e6, poisson = 0.4, yield_stress = 2e4 }

[[obstacle]]
shape = { plane = { point = [0.0, 0.1, 0.0], normal = [0.0, 1.0, 0.0] } }
kind = "separating"

[[obstacle]]
shape = { capsule = { from = [-0.4, 0.8, 0.0], to = [-0.4, 1.2, 0.0], radius = 0.25 } }
motion = [{ until = 1.0, velocity = [1.0, 0.0, 0.0], rate = 90.0 }]

[[emitter]]
shape = { sphere = { centre = [0.1, 1.6, 0.1], radius = 0.12 } }
material = { name = "tissue", granular = [0.99, 1.001] }
velocity = [0.0, -1.0, 0.0]
until = 0.1
"#;

/// A box above the plane y = -1 cm, which moves at 1 m/s along it.
const SLED: &str = r#"
gravity = [0.0, -9.8, 0.0]
grid.dx = 0.1
time.dt = 0.01

[[body]]
shape = { box = { low = [0.0, 0.0, 0.0], high = [0.3, 0.2, 0.2] } }
material = { density = 1000.0, young = 1e5, poisson = 0.2 }
velocity = [1.0, 0.0, 0.0]

"#;

/// The surface of a slab below y = -1 cm.
const FLOOR: &str = "v -0.5 -1 -0.4\nv 2 -1 -0.4\nv -0.5 -0.01 -0.4\nv 2 -0.01 -0.4\nv -0.5 -1 0.6\nv 2 -1 0.6\n\
                     v -0.5 -0.01 0.6\nv 2 -0.01 0.6\nf 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\n\
                     f 2 4 8 6\n";

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} {b}");
}

/// A body in free fall moves as a point, keeps its momentum on the other axes, and does not deform.
#[test]
fn bodies_fall_freely() {
    let folder = Folder::new("fall");
    let scene = folder.write("fall.toml", BALL);
    let rows = folder.run(&["--scene", &scene, "--tolerance", "1e-12"]).unwrap();
    let start = &rows[0];
    let mass = start.momentum[0] / 0.5;
    for row in &rows {
        let t = row.frame as f64 / 24.0;
        close(row.momentum[1], -9.8 * mass * t, 1e-6 * mass);
        close(row.momentum[0], start.momentum[0], 1e-9 * mass);
        close(row.momentum[2], 0.0, 1e-9 * mass);
        close(row.elastic, 0.0, 1e-9 * row.kinetic);
        assert_eq!((row.steps, row.converged), if row.frame == 0 { (0, 0) } else { (3, 3) });
        close(row.work, 0.0, 0.0);
    }
}

/// Steel and foam fall as everything else, though their weight is below the tolerance, and though another body lies on the
/// ground.
#[test]
fn steel_does_not_hang_in_the_air() {
    let lying = "[[body]]\nshape = { box = { low = [1.0, 0.0, -0.2], high = [1.4, 0.3, 0.2] } }\n\
                 material = { density = 1000.0, young = 5e4, poisson = 0.3 }\n\
                 [[obstacle]]\nshape = { plane = { point = [0.0, 0.1, 0.0], normal = [0.0, 1.0, 0.0] } }";
    for (density, young) in [("7800.0", "2e11"), ("0.01", "5e4")] {
        let folder = Folder::new(&format!("steel-{young}"));
        let ball = BALL.replace("1000.0", density).replace("5e4", young);
        let scene = folder.write("steel.toml", &format!("{ball}{lying}"));
        folder.run(&["--scene", &scene, "--format", "ply"]).unwrap();
        let state: State = read_state(&folder.0.join("checkpoint.bin")).unwrap();
        let fallen = -9.8 * state.time;
        for p in state.particles.iter().filter(|p| p.body == 0) {
            close(p.v[1], fallen, 1e-6 * fallen.abs());
            close(p.v[0], 0.5, 1e-6);
        }
    }
}

/// A rod of steel that is held at one end swings down: a step takes an iteration even if its gradient is within the
/// tolerance at the start.
#[test]
fn steps_move_what_is_held() {
    let folder = Folder::new("rod");
    let rod = "gravity = [0.0, -9.8, 0.0]\ngrid.dx = 0.1\ntime.dt = 0.02\n[[body]]\n\
               shape = { box = { low = [0.0, 0.0, 0.0], high = [0.6, 0.2, 0.2] } }\n\
               material = { density = 7800.0, young = 2e11, poisson = 0.3 }\n[[obstacle]]\n\
               shape = { box = { low = [-0.1, -0.1, -0.1], high = [0.1, 0.3, 0.3] } }";
    let scene = folder.write("rod.toml", rod);
    let rows = folder.run(&["--scene", &scene, "--frames", "2", "--solver", "pn-pcg"]).unwrap();
    let last = &rows[2];
    assert!(last.outer >= last.steps && last.converged == last.steps && last.momentum[1] < 0.0, "{last:?}");
}

/// Energy less the work of colliders never rises by more than a share of the energy that moves.
pub(crate) fn check_balance(rows: &[Row], share: f64) {
    check_energy(rows, share, |row| (row.energy - row.work, row.kinetic + row.elastic));
}

/// A stretched box swings without gravity: its energy falls, and its momentum stays 0. Implicit Euler changes the
/// angular momentum by Δt Σ v × m vⁿ, which is small here.
#[test]
fn energy_does_not_rise() {
    let folder = Folder::new("stretched");
    let arguments =
        ["--scene", "stretched", "--particles", "1000", "--frames", "6", "--tolerance", "1e-10", "--solver"];
    for solver in ["pn-pcg", "hot"] {
        let rows = folder.run(&[&arguments[..], &[solver]].concat()).unwrap();
        assert!(rows[0].elastic > 0.0 && rows[0].kinetic == 0.0);
        check_balance(&rows, 1e-9);
        let size = (2.0 * rows[0].elastic * 27.6).sqrt(); // √(2 E m) of a mass of 27.6 kg
        for row in &rows {
            assert!(row.momentum.iter().all(|p| p.abs() < 1e-6 * size), "{row:?}");
            assert!(row.angular.iter().all(|l| l.abs() < 1e-5 * size), "{row:?}");
            assert_eq!(row.converged, row.steps);
        }
    }
}

/// With colliders that push, slip, hold and emit, energy does not rise beyond their work.
#[test]
fn colliders_do_the_work() {
    let folder = Folder::new("work");
    let scene = folder.write("work.toml", &format!("{BALL}{MORE}"));
    let rows = folder.run(&["--scene", &scene, "--frames", "8"]).unwrap();
    check_balance(&rows, 1e-2);
    let last = rows.last().unwrap();
    assert!(last.work.abs() > 1e-2 * last.energy.abs() && last.particles > rows[0].particles, "{last:?}");
}

/// Δt = min(largest Δt, 0.6 Δx / v_max), in equal steps of a frame: a body at 5 m/s takes steps of at most 12 ms.
#[test]
fn steps_are_as_long_as_the_speed_allows() {
    let folder = Folder::new("lengths");
    let free = BALL.replace("-9.8", "0.0");
    for (speed, steps) in [(5.0, 4), (0.5, 3)] {
        let text = free.replace("velocity = [0.5,", &format!("velocity = [{speed:?},"));
        let scene = folder.write("free.toml", &text);
        let rows = folder.run(&["--scene", &scene, "--frames", "2"]).unwrap();
        assert!(rows[1..].iter().all(|row| row.steps == steps), "{speed} m/s: {rows:?}");
    }
}

/// A slab that rubs, as a mesh.
const RUBBING: &str = r#"
[[obstacle]]
kind = "slip"
friction = 0.3
mesh = "floor.obj"
"#;

#[test]
fn simulations_repeat_with_any_number_of_threads() {
    check_repetition(&["hot", "lbfgs-mas"], &[7]);
}

#[test]
#[ignore = "8 s: run by .ci/full"]
fn long_simulations_repeat_with_any_number_of_threads() {
    check_repetition(&["pn-pcg", "hot", "lbfgs-sa", "lbfgs-h", "lbfgs-mas"], &[2, 7]);
}

/// A whole simulation with all kinds of colliders has the bits of one thread with these numbers of threads.
fn check_repetition(solvers: &[&str], numbers: &[usize]) {
    let run = |count: usize, solver: &str| {
        let folder = Folder::new(&format!("threads-{count}-{solver}"));
        folder.write("floor.obj", &FLOOR.replace("-0.01", "0.13"));
        let scene = folder.write("all.toml", &format!("{BALL}{MORE}{RUBBING}"));
        let arguments = ["--scene", &scene, "--solver", solver, "--frames", "2"];
        threads(count, || folder.run(&arguments).unwrap()).unwrap();
        folder.bytes("checkpoint.bin")
    };
    for &solver in solvers {
        let one = run(1, solver);
        assert!(numbers.iter().all(|&count| run(count, solver) == one), "{solver}");
    }
}

/// A run that continues has the same bits as one that was not interrupted.
#[test]
fn continued_runs_have_the_same_bits() {
    let whole = Folder::new("whole");
    let parts = Folder::new("parts");
    let scene = whole.write("all.toml", &format!("{BALL}{MORE}"));
    let with = |frames| ["--scene", &scene, "--solver", "auto", "--format", "ply", "--frames", frames];
    whole.run(&with("4")).unwrap();
    parts.run(&with("2")).unwrap();
    let rows = parts.run(&[&with("4")[..], &["--resume"]].concat()).unwrap();
    assert_eq!(rows.len(), 5);
    for file in ["checkpoint.bin", "frame_0002.ply", "frame_0004.ply"] {
        assert!(whole.bytes(file) == parts.bytes(file), "{file}");
    }
}

/// A scene file may ask for more frames, and for another view, when a run continues; `--frames` may, also where emitters
/// decide the spacing.
#[test]
fn frames_and_view_may_change_in_a_run() {
    let folder = Folder::new("more-frames");
    let whole = Folder::new("all-frames");
    let long = BALL.replace("time.frames = 4", "time.frames = 3");
    let scene = folder.write("ball.toml", &long.replace("time.frames = 3", "time.frames = 1"));
    folder.run(&["--scene", &scene]).unwrap();
    folder.write("ball.toml", &format!("{long}[view]\nazimuth = 40.0\n"));
    assert_eq!(folder.run(&["--scene", &scene, "--resume"]).unwrap().len(), 4);
    whole.run(&["--scene", &scene]).unwrap();
    assert!(folder.bytes("checkpoint.bin") == whole.bytes("checkpoint.bin"));
    folder.write("ball.toml", &long.replace("5e4", "6e4"));
    assert!(folder.run(&["--scene", &scene, "--resume"]).is_err(), "another material");
    // A run with pictures goes on without them.
    let scene = folder.write("seen.toml", &format!("{BALL}[view]\nazimuth = 40.0\n"));
    folder.run(&["--scene", &scene, "--frames", "1", "--width", "48"]).unwrap();
    assert_eq!(folder.run(&["--scene", &scene, "--frames", "2", "--resume"]).unwrap().len(), 3);
    let scene = folder.write("flow.toml", &format!("{BALL}{MORE}"));
    let with = |frames| ["--scene", &scene, "--particles", "300", "--frames", frames];
    whole.run(&with("2")).unwrap();
    folder.run(&with("1")).unwrap();
    folder.run(&[&with("2")[..], &["--resume"]].concat()).unwrap();
    assert!(folder.bytes("checkpoint.bin") == whole.bytes("checkpoint.bin"));
}

#[test]
fn solvers_agree() {
    check_agreement(&["hot", "newton-sa", "auto"], &["hot-quadratic"]);
}

#[test]
#[ignore = "9 s: run by .ci/full"]
fn long_solvers_agree() {
    let slip = [
        "hot",
        "pn-sgs-pcg",
        "pn-mgpcg",
        "lbfgs-h",
        "newton-sa",
        "newton-mas",
        "lbfgs-sa",
        "lbfgs-mas",
        "auto",
    ];
    check_agreement(&slip, &["hot", "hot-quadratic"]);
}

/// Solvers find the steps of `pn-pcg`, each to its tolerance, where bodies may leave the colliders and where they stick to
/// them.
fn check_agreement(separating: &[&str], sticky: &[&str]) {
    let run = |solver: &str, kind: &str| {
        let folder = Folder::new(&format!("agree-{solver}"));
        let scene = folder.write("all.toml", &format!("{BALL}{MORE}").replace("separating", kind));
        let arguments = ["--scene", &scene, "--solver", solver, "--frames", "2", "--tolerance", "1e-9"];
        let rows = folder.run(&arguments).unwrap_or_else(|error| panic!("{solver}: {error}"));
        assert!(rows.iter().all(|row| row.converged == row.steps && row.norm <= 1e-9), "{solver}");
        (rows[2].momentum, rows[2].energy)
    };
    for (kind, solvers) in [("separating", separating), ("sticky", sticky)] {
        let (expected, energy) = run("pn-pcg", kind);
        for solver in solvers {
            let (found, other) = run(solver, kind);
            assert!((0..3).all(|k| (found[k] - expected[k]).abs() < 1e-3), "{solver} {found:?} {expected:?}");
            close(other, energy, 1e-4 * energy.abs());
        }
    }
}

/// The inner iterations of L-BFGS are those of the CG of `lbfgs-h`, which is on the grid itself; coarsest solves of other
/// hierarchies are not among them.
#[test]
fn inner_iterations_are_those_on_the_grid() {
    let run = |solver: &str| {
        let folder = Folder::new(&format!("inner-{solver}"));
        let arguments = ["--scene", "stretched", "--particles", "3000", "--frames", "2", "--solver", solver];
        let rows = folder.run(&arguments).unwrap();
        (rows[1].outer + rows[2].outer, rows[1].inner + rows[2].inner)
    };
    let (outer, inner) = run("lbfgs-h");
    assert!(outer > 0 && inner > outer, "{outer} {inner}");
    for solver in ["hot", "lbfgs-mas"] {
        assert_eq!(run(solver).1, 0, "{solver}");
    }
    let (outer, inner) = run("pn-pcg");
    assert!(inner > outer, "{outer} {inner}");
}

/// A solver may start without a node that can move.
#[test]
fn steps_without_unknowns_converge() {
    let folder = Folder::new("held");
    let held = "[[obstacle]]\ngone = 0.06\nshape = { sphere = { centre = [0.0, 1.0, 0.0], radius = 2.0 } }";
    let scene = folder.write("held.toml", &format!("{BALL}{held}"));
    for solver in ["auto", "hot"] {
        let rows = folder.run(&["--scene", &scene, "--solver", solver]).unwrap();
        // Without an unknown, the only point is the minimum.
        assert_eq!((rows[1].outer, rows[1].converged), (0, rows[1].steps), "{solver}");
        assert!(rows[1].steps > 0, "{solver}");
        assert!(rows[4].outer > 0 && rows[4].converged == rows[4].steps, "{solver}: {:?}", rows[4]);
    }
}

/// A box that slides on a plane loses μ times the normal impulse, up to the lag of one step; without friction it keeps
/// its momentum. A belt drags it along. A mesh is as good as a plane.
#[test]
fn friction_slows_what_slides() {
    let run = |floor: &str, collider: &str| {
        let folder = Folder::new("rub");
        folder.write("floor.obj", floor);
        let scene = folder.write("rub.toml", &format!("{SLED}[[obstacle]]\nkind = \"slip\"\n{collider}"));
        let rows = folder.run(&["--scene", &scene, "--frames", "5", "--tolerance", "1e-6"]).unwrap();
        check_balance(&rows, 1e-2);
        let mass = rows[0].momentum[0];
        let gained = |k: usize| (rows[5].momentum[k] - rows[0].momentum[k]) / mass;
        (gained(0), gained(1) + 9.8 * 5.0 / 24.0)
    };
    let plane = "shape = { plane = { point = [0.0, -0.01, 0.0], normal = [0.0, 1.0, 0.0] } }\n";
    let (gained, pressed) = run("", plane);
    assert!(gained.abs() < 1e-3 && pressed > 1.0, "{gained} {pressed}");
    let (slowed, pressed) = run("", &format!("{plane}friction = 0.2"));
    assert!((slowed / (-0.2 * pressed) - 1.0).abs() < 0.15, "{slowed} {pressed}");
    let belt = format!("{plane}friction = 0.2\nmotion = [{{ until = 9.0, velocity = [2.0, 0.0, 0.0] }}]");
    let (gained, pressed) = run("", &belt);
    assert!((gained / (0.2 * pressed) - 1.0).abs() < 0.15, "{gained} {pressed}");
    let (mesh, _) = run(FLOOR, "friction = 0.2\nmesh = \"floor.obj\"");
    assert!((mesh / slowed - 1.0).abs() < 0.05, "{mesh} {slowed}");
}

/// Steps in contact with friction take few iterations: nodes that stop sliding do not shorten the steps of the others. `auto`
/// takes Newton's method there, whose linear solves are inner iterations.
#[test]
#[ignore = "8 s: run by .ci/full"]
fn long_friction_costs_few_iterations() {
    let folder = Folder::new("wire");
    for (solver, most) in [("auto", 20), ("hot", 100)] {
        let arguments = ["--scene", "scenes/jelly.toml", "--dx", "0.04", "--frames", "5", "--solver", solver];
        let last = &folder.run(&arguments).unwrap()[5];
        assert!(last.converged == last.steps && last.outer <= most * last.steps, "{solver}: {last:?}");
        assert_eq!(last.inner > 0, solver == "auto", "{last:?}");
    }
}

/// A body between two slip walls, deep in both, moves along their edge only: no node has a coarse node, and hierarchies
/// have one level. Gravity accelerates it along the edge.
#[test]
fn a_body_between_two_walls_slips_along_their_edge() {
    let folder = Folder::new("walls");
    let wall = |normal: &str| {
        format!(
            "[[obstacle]]\nkind = \"slip\"\nshape = {{ plane = {{ point = [0.0, 2.0, 0.0], normal = {normal} }} }}\n"
        )
    };
    let walls = wall("[0.0, 1.0, 0.0]") + &wall("[0.0, 0.0, 1.0]").replace("2.0, 0.0]", "2.0, 2.0]");
    let scene = folder.write("walls.toml", &format!("{BALL}{walls}").replace("[0.0, -9.8,", "[1.0, -9.8,"));
    let run = |solver: &str| {
        let arguments = ["--scene", &scene, "--solver", solver, "--frames", "2", "--tolerance", "1e-9"];
        let rows = folder.run(&arguments).unwrap_or_else(|error| panic!("{solver}: {error}"));
        let last = &rows[2];
        assert!(last.converged == last.steps && last.outer > 0, "{solver}: {last:?}");
        let (start, mass) = (rows[0].momentum[0], rows[0].momentum[0] / 0.5);
        assert!((last.momentum[0] - start - mass * 2.0 / 24.0).abs() < 1e-6 * mass, "{solver}: {last:?}");
        assert!(last.momentum[1].abs().max(last.momentum[2].abs()) < 1e-9 * last.momentum[0], "{solver}");
    };
    for solver in ["hot", "hot-quadratic", "pn-mgpcg", "lbfgs-h", "lbfgs-sa", "auto"] {
        run(solver);
    }
}

#[test]
fn a_body_deep_in_a_wall_slips() {
    check_slip_deep_in_a_wall(&["hot"]);
}

#[test]
#[ignore = "3 s: run by .ci/full"]
fn long_a_body_deep_in_a_wall_slips() {
    check_slip_deep_in_a_wall(&["hot-quadratic", "pn-mgpcg"]);
}

/// Hierarchies also work where whole coarse nodes slip.
fn check_slip_deep_in_a_wall(solvers: &[&str]) {
    let folder = Folder::new("deep");
    let wall = "[[obstacle]]\nkind = \"slip\"\nshape = { plane = { point = [0.0, 1.0, 0.0], normal = [0.0, 1.0, 0.0] } }";
    let scene =
        folder.write("deep.toml", &format!("{BALL}{wall}").replace("grid.dx = 0.1", "grid.dx = 0.05"));
    for &solver in solvers {
        let arguments = ["--scene", &scene, "--solver", solver, "--frames", "2", "--tolerance", "1e-9"];
        let rows = folder.run(&arguments).unwrap_or_else(|error| panic!("{solver}: {error}"));
        // Without friction, a wall of any depth leaves the momentum along it.
        assert!((rows[2].momentum[0] / rows[0].momentum[0] - 1.0).abs() < 1e-6, "{solver}: {:?}", rows[2]);
        assert!(
            rows[2].converged == rows[2].steps && rows[2].outer < 40 * rows[2].steps,
            "{solver}: {:?}",
            rows[2]
        );
    }
}
