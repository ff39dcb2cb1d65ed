//! Contact with obstacles and of cloth with itself.

use super::*;
use crate::motion::Motion;
use crate::sheet::Tessellation;
use crate::state::State;
use crate::step::Stepper;
use crate::world::{Fixed, World, solids};
use coarsen::StepFault;
use examples_run::frames::Failed;
use examples_scene::Shape as Solid;
use examples_scene::shape::GROUND;

/// Whether contact could not be resolved in a step.
pub(super) fn is_undetected(error: &Failure) -> bool {
    matches!(error.downcast_ref(), Some(Failed { fault: StepFault::Contact(_), .. }))
}

/// The solver of a scene, and the state at its start.
fn begun(scene: &Scene, sheet: &Sheet, options: &Options) -> (Stepper<Cpu>, State) {
    let world = World::new(scene, sheet, options).unwrap();
    let state = State::start(&world.fixed);
    (Stepper::new(world, &state, &options.method, &Cpu::new()).unwrap(), state)
}

/// In any frame of six scenes; the others run in `held_vertices_stay`, `sheets_fold_without_penetration`,
/// `every_solver_carries_contact`, and, of a garment, `skirts_walk` and `vertices_and_edges_stay_outside_of_solids`.
#[test]
fn no_scene_penetrates() {
    check_scenes(&["sphere", "bars", "funnel", "twist", "pushed", "stitching"]);
}

#[test]
#[ignore = "8 s: run by .ci/full"]
fn long_no_scene_penetrates() {
    check_scenes(&alone().collect::<Vec<_>>());
}

/// The independent test finds no penetration in any frame of these scenes, and energy does not grow.
fn check_scenes(names: &[&str]) {
    let scenes = alone().enumerate().filter(|(_, scene)| names.contains(scene)).collect::<Vec<_>>();
    assert_eq!(scenes.len(), names.len(), "{scenes:?} of {names:?}");
    for (k, scene) in scenes {
        let folder = Folder::new(&format!("scene-{scene}"));
        let tessellation = ["regular", "irregular"][k % 2];
        let sheet = format!("--vertices 100 --tessellation {tessellation}");
        let rows = folder.run(&format!("--scene {scene} {sheet} --frames 9 --dt 0.008")).unwrap();
        // Held vertices, solids and seams that move do work that is not counted.
        if !["twist", "garment", "pushed", "stitching"].contains(&scene) {
            check_balance(&rows, 2e-3);
        }
        let all = rows.iter().map(|row| row.penetrations).sum::<usize>();
        assert_eq!(all, 0, "{scene:?}");
        let touches = rows.iter().any(|row| row.contacts > 0);
        assert!(rows.iter().all(|row| row.converged == row.steps), "{scene:?}");
        let hangs = ["pinned", "drooping", "reentrant", "flag", "twist", "garment"].contains(&scene);
        assert!(touches || hangs, "{scene:?}");
    }
}

#[test]
fn sheets_fold_without_penetration() {
    check_folds(&[("0.01", "regular")]);
}

#[test]
#[ignore = "3 s: run by .ci/full"]
fn long_sheets_fold_without_penetration() {
    check_folds(&[("0.004", "irregular"), ("0.01", "regular")]);
}

/// Sheets that fall upright fold on themselves, each with a time step and a tessellation.
fn check_folds(sheets: &[(&str, &str)]) {
    for (dt, tessellation) in sheets {
        let folder = Folder::new(&format!("fold-{dt}"));
        let of = format!("--tessellation {tessellation} --frames 11 --dt {dt}");
        let rows = folder.run(&format!("--scene drop-vertical {of}")).unwrap();
        check_balance(&rows, 2e-3);
        assert!(rows.iter().all(|row| row.penetrations == 0), "{dt}");
        assert!(rows.iter().any(|row| row.contacts > 10), "{}", rows[11]);
    }
}

#[test]
fn every_solver_carries_contact() {
    let folder = Folder::new("solvers-contact");
    let mut heights = Vec::new();
    for solver in Solver::value_variants() {
        let fixed = "--scene drop-horizontal --vertices 81 --frames 6 --dt 0.01";
        let rows = folder.run(&format!("{fixed} --solver {}", name(solver))).unwrap();
        check_balance(&rows, 2e-3);
        assert!(rows[6].contacts > 0 && rows.iter().all(|row| row.penetrations == 0), "{solver:?}");
        heights.push(rows[6].energy);
    }
    let [low, high] = heights.iter().fold([9.0_f64, -9.0], |[l, h], &e| [l.min(e), h.max(e)]);
    assert!(high - low < 1e-2 * high, "{heights:?}");
}

/// Contact that is too thin to stop the cloth: the step fails, names a pair, and keeps the frames before.
#[test]
fn steps_that_are_blocked_name_the_pair() {
    let folder = Folder::new("blocked");
    let words = "--scene drop-horizontal --frames 12 --thickness 1e-12 --dt 0.01 --iterations 12";
    let error = folder.run(words).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error.downcast_ref(), Some(Failed { fault: StepFault::Blocked(_), .. })), "{text}");
    assert!(text.contains("vertex") || text.contains("edges"), "{text}");
    let table = folder.text("frames.csv");
    let last = table.lines().count() - 2;
    assert!(last >= 1 && folder.surface(last).len() == 121 + 16);
    assert!(!folder.0.join(format!("frame_{:04}.obj", last + 1)).exists());
}

/// Velocities that are not finite: the step fails and names the node, and the state stays.
#[test]
fn steps_without_detection_fail() {
    let options = parsed("--solver direct");
    let sheet = Sheet::square(9, Tessellation::Regular, false);
    for speed in [f64::NAN, f64::INFINITY] {
        let (mut stepper, mut state) = begun(&placed("drop-vertical", &sheet), &sheet, &options);
        state.v[3 * 7] = speed;
        let before = state.x.clone();
        let error = stepper.frame(&mut state).unwrap_err();
        let text = error.to_string();
        assert!(is_undetected(&error) && text.contains("node 7"), "{text}");
        assert!(state.x == before && state.frame == 0);
    }
}

/// Ends that turn by a right angle in one step would pass through the next strip: the step fails and names a pair.
#[test]
fn held_vertices_do_not_pass_through_cloth() {
    let options = parsed("--solver direct --dt 0.01");
    let sheet = Sheet::strips(12, 3, 0.01);
    let twist = placed("twist", &sheet);
    let motion = Motion::Formula(Formula::Twist { through: [0.0, 1.0, 0.0], rate: 157.0_f64.to_degrees() });
    let (mut stepper, mut state) = begun(&Scene { motion, ..twist }, &sheet, &options);
    let before = state.x.clone();
    let error = stepper.frame(&mut state).unwrap_err();
    let text = error.to_string();
    assert!(is_undetected(&error) && text.contains(" meet at "), "{text}");
    assert!(state.x == before && state.frame == 0);
}

/// The ends turn until strips meet, in a step that is not the first of its frame. Held vertices are then where they were
/// before the frame, and a second attempt fails in the same step with the same words.
#[test]
fn failed_frames_take_held_vertices_back() {
    let options = parsed("--solver direct --dt 0.01");
    let sheet = Sheet::strips(12, 3, 0.01);
    let twist = placed("twist", &sheet);
    let motion = Motion::Formula(Formula::Twist { through: [0.0, 1.0, 0.0], rate: 40.0_f64.to_degrees() });
    let (mut stepper, mut state) = begun(&Scene { motion, ..twist }, &sheet, &options);
    let error = (0..40).find_map(|_| stepper.frame(&mut state).err()).expect("a frame that fails");
    assert!(is_undetected(&error), "{error}");
    let Failed { frame, step, .. } = error.downcast_ref().expect("a step");
    let good = options.method.pace().last(state.frame);
    assert!(*frame == state.frame + 1 && *step > good + 1, "{error}");
    let Fixed { nodes, positions, motion, .. } = &stepper.fixed;
    let expected = motion.held(positions, good as f64 * 0.01);
    let mut held = (0..nodes.count() as u32).filter(|&node| nodes.slot(node).is_none()).peekable();
    assert!(held.peek().is_some());
    held.for_each(|node| assert_eq!(nodes.at(node, &state.x), expected[node as usize], "node {node}"));
    assert_eq!(stepper.frame(&mut state).unwrap_err().to_string(), error.to_string());
}

/// The system of a state is that of the step after it: a solver that was created for the state gives the same bits as
/// one that computed it, with the friction of cloth on cloth, and the air is in the right-hand side.
#[test]
fn systems_are_those_of_the_next_step() {
    let mut options = parsed("--solver direct --dt 0.004");
    let sheet = Sheet::square(11, Tessellation::Irregular, false);
    let scene = placed("drop-vertical", &sheet);
    let create = |state: Option<&State>, options: &Options| {
        let world = World::new(&scene, &sheet, options).unwrap();
        let state = state.cloned().unwrap_or_else(|| State::start(&world.fixed));
        (Stepper::new(world, &state, &options.method, &Cpu::new()).unwrap(), state)
    };
    let (mut stepper, mut state) = create(None, &options);
    for _ in 0..11 {
        stepper.frame(&mut state).unwrap();
    }
    let before = state.clone();
    let of = |stepper: &mut Stepper<Cpu>, state: &State| {
        let (system, rhs) = stepper.system(state).unwrap();
        (system.system().whole().unwrap().values().to_vec(), rhs)
    };
    let (matrix, rhs) = of(&mut stepper, &state);
    assert!(
        state == before && of(&mut create(Some(&state), &options).0, &state) == (matrix.clone(), rhs.clone())
    );
    options.cloth.self_friction = 0.0;
    assert!(of(&mut create(Some(&state), &options).0, &state).0 != matrix);
    options.cloth.wind = Some(vec![3.0, 0.0, 0.0]);
    assert!(of(&mut create(Some(&state), &options).0, &state).1 != rhs);
}

/// With constraints, a frame that fails takes back what obstacles hold too.
#[test]
fn failed_frames_take_supports_back() {
    let options = parsed("--solver block-jacobi --iterations 4 --inner 50 --dt 0.01 --obstacles constraints");
    let sheet = Sheet::strips(12, 3, 0.01);
    let twist = placed("twist", &sheet);
    let motion = Motion::Formula(Formula::Twist { through: [0.0, 1.0, 0.0], rate: 40.0_f64.to_degrees() });
    // Below the middle of the strips, so near that they fall on it.
    let ball = Solid::Sphere { centre: [0.0, 0.897, 0.0], radius: 0.1 };
    let (mut stepper, mut state) = begun(&Scene { motion, solids: vec![ball], ..twist }, &sheet, &options);
    let held = |stepper: &Stepper<Cpu>| format!("{:?}", stepper.supported.as_ref().unwrap().states);
    let (mut before, start) = (held(&stepper), held(&stepper));
    let error = (0..40).find_map(|_| {
        before = held(&stepper);
        stepper.frame(&mut state).err()
    });
    assert!(error.is_some() && held(&stepper) == before && before != start, "{error:?}");
}

#[test]
fn systems_without_constraints_are_refused() {
    let folder = Folder::new("systems-constraints");
    let error = folder.run("--systems 1 --obstacles constraints").unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Systems)), "{error}");
}

#[test]
fn starts_that_intersect_are_refused() {
    let options = parsed("");
    let sheet = Sheet::square(9, Tessellation::Regular, false);
    let fault = |scene: &Scene, options: &Options| World::new(scene, &sheet, options).err().expect("a fault");
    let sphere = placed("sphere", &sheet);
    let lowered = Scene { middle: [0.0, 0.7, 0.0], ..sphere.clone() };
    let error = fault(&lowered, &options);
    assert!(matches!(error, SceneError::Inside { obstacle: 1, .. }), "{error}");
    let below = Scene { middle: [0.0, -0.1, 0.0], ..sphere.clone() };
    assert!(matches!(fault(&below, &options), SceneError::Inside { vertex: 0, obstacle: 0, .. }));
    // The last vertex is in the ball; the first row is held.
    let corner = Solid::Sphere { centre: [0.5, 1.0, 0.5], radius: 0.1 };
    let row = Scene {
        middle: [0.0, 1.0, 0.0],
        held: (0..81).map(|v| v < 9).collect(),
        solids: vec![corner],
        spins: vec![],
        ..sphere.clone()
    };
    let error = fault(&row, &options);
    assert!(matches!(error, SceneError::Inside { vertex: 80, obstacle: 0, .. }), "{error}");
    // Between two vertices.
    let small = Solid::Sphere { centre: [-0.4375, 0.8, -0.5], radius: 0.02 };
    let between = Scene { solids: vec![GROUND, small], spins: vec![], ..sphere.clone() };
    let error = fault(&between, &options);
    assert!(matches!(error, SceneError::Touches { ends: [0, 1], obstacle: 1 }), "{error}");
    let flat = Scene { solids: vec![Solid::Sphere { centre: [0.0; 3], radius: -1.0 }], ..sphere.clone() };
    assert!(matches!(fault(&flat, &options), SceneError::Obstacle { index: 0, .. }));
    // Its radius overflows where the skin is added.
    let large = Solid::Sphere { centre: [0.0, -f64::MAX, 0.0], radius: f64::MAX };
    let mut fixed = Fixed::new(&sphere, &sheet, &options).unwrap();
    fixed.solids = vec![fixed.solids[0], large];
    fixed.skins = vec![fixed.skins[0], f64::MAX];
    let errors = [
        fixed.shapes(0.0, true).err(),
        fixed.obstructions(0.0, 0.01).err(),
        solids(&fixed, 81, &options).err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(SceneError::Obstacle { index: 1, .. })), "{error:?}");
    }
    let held = Scene { held: vec![true; 81], ..sphere };
    assert!(matches!(fault(&held, &options), SceneError::Held { vertices: 81 }));

    let upright = placed("drop-vertical", &sheet);
    let crossing = Scene { middle: [0.0, 0.7, 0.0], ..upright.clone() };
    assert!(matches!(fault(&crossing, &options), SceneError::Crossing { .. }));
    let thick = parsed("--thickness 2");
    let error = fault(&upright, &thick);
    assert!(matches!(error, SceneError::Thick { length: 0.125, .. }), "{error}");
    // A vertex is as far from the opposite side as the height of its triangle.
    let high = parsed("--thickness 0.1");
    let error = fault(&upright, &high);
    assert!(
        matches!(error, SceneError::Near { distance, .. } if (distance - 0.125 / 2.0_f64.sqrt()).abs() < 1e-9),
        "{error}"
    );
    // Strips that lie on each other.
    let strips = Sheet::strips(9, 3, 1e-5);
    let twist = placed("twist", &strips);
    let error = World::new(&twist, &strips, &options).err().expect("a fault");
    assert!(matches!(error, SceneError::Near { .. }), "{error}");
}

/// A state that lies on the ball, nearer than a tenth of the thickness of the run that begins from it, is in the barrier of
/// the ball: the run names a part, the obstacle and the cure, and does not stay there.
#[test]
fn states_in_a_barrier_are_refused() {
    let folder = Folder::new("start-inside");
    let fixed = "--scene sphere --dt 0.01 --solver direct";
    folder.run(&format!("{fixed} --frames 5 --checkpoint 5")).unwrap();
    let start = format!("{fixed} --frames 1 --start {}/checkpoint.bin", folder.path());
    let other = Folder::new("start-inside-other");
    other.run(&start).unwrap();
    let error = other.run(&format!("{start} --thickness 0.06")).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Pressed { obstacle: 1, .. })), "{error}");
    assert!(error.to_string().contains("a smaller --thickness"), "{error}");
}

/// A sheet that folds on itself.
const FOLDS: &str = "--scene drop-vertical --vertices 400 --frames 9 --dt 0.004";

/// Steps that end after a few short linear solves: nothing crosses, and energy does not grow.
#[test]
fn steps_may_end_before_they_converge() {
    let folder = Folder::new("early");
    let early = "--solver sa --iterations 4 --inner 10";
    let rows = folder.run(&format!("{FOLDS} {early}")).unwrap();
    check_balance(&rows, 2e-3);
    // Steps that contact cuts short may take more than the four that are asked for.
    let within = rows.iter().all(|row| row.penetrations == 0 && row.outer <= 5 * row.steps);
    assert!(within, "{}", rows.iter().map(|row| format!("{row}\n")).collect::<String>());
    let last = &rows[9];
    assert!(last.contacts > 10 && last.converged < last.steps, "{last}");
}

/// Where a close pair cuts the one iteration of a step short, the step takes more of them.
#[test]
fn steps_that_contact_cuts_short_go_on() {
    let folder = Folder::new("cut");
    let rows = folder.run(&format!("{FOLDS} --solver sa --iterations 1")).unwrap();
    check_balance(&rows, 2e-2); // a linearised step keeps energy to first order only
    assert!(rows.iter().all(|row| row.penetrations == 0 && row.outer <= 11 * row.steps));
    assert!(rows.iter().take(3).all(|row| row.outer == row.steps), "nothing is near before");
    assert!(rows.iter().any(|row| row.outer > row.steps));
}

/// On the ball, `the_ball_turns_the_cloth` runs with constraints.
#[test]
fn constraints_hold_cloth() {
    check_thickness(&[("bars", "sa")]);
}

#[test]
#[ignore = "4 s: run by .ci/full"]
fn long_constraints_hold_cloth() {
    check_thickness(&[
        ("sphere", "auto"),
        ("bars", "sa"),
        ("drop-horizontal", "mas"),
        ("drop-vertical", "block-jacobi"),
    ]);
}

/// With obstacles as constraints, cloth lies on the obstacles of each scene at its thickness: no vertex is below it, and
/// some are at it. Nothing penetrates, and energy does not grow.
fn check_thickness(scenes: &[(&str, &str)]) {
    for (scene, solver) in scenes {
        let folder = Folder::new(&format!("constraints-{scene}"));
        let with = format!("--obstacles constraints --solver {solver}");
        let all = format!("--scene {scene} --vertices 100 --frames 9 --dt 0.008 {with}");
        let rows = folder.run(&all).unwrap();
        check_balance(&rows, 2e-3);
        assert!(rows.iter().all(|row| row.penetrations == 0), "{scene}");
        assert!(rows.iter().all(|row| row.converged == row.steps), "{scene}");
        let options = parsed(&all);
        let (sheet, _) = crate::simulation::prepared(&options).unwrap();
        let World { fixed, forces } =
            World::new(&Scene::new(&sheet, &options).unwrap(), &sheet, &options).unwrap();
        let obstacles = fixed.obstructions(0.0, options.method.dt).unwrap(); // grown by the thickness
        let above =
            |p: &[f64; 3]| obstacles.iter().map(|o| o.shape.distance(*p)).fold(f64::INFINITY, f64::min);
        let (small, vertices) = (1e-3 * forces.first.second.thickness(), sheet.rest.len());
        let mut all_resting = 0;
        for frame in 1..rows.len() {
            let heights = folder.surface(frame)[..vertices].iter().map(above).collect::<Vec<_>>();
            assert!(heights.iter().all(|height| *height >= -small), "{scene} {frame}: {heights:?}");
            let resting = heights.iter().filter(|height| **height <= small).count();
            all_resting += resting;
        }
        assert!(all_resting > 0, "{scene}");
    }
}
