//! Bad numbers of particles and steps: typed errors that name the particle or the node, and nothing is lost.

use clap::Parser;
use coarsen::elastic::Lame;
use coarsen::prelude::*;
use mpm::constraints::Constraints;
use mpm::energy::{Given, Increment, Memory};
use mpm::fault::{SceneError, StepError};
use mpm::grid::{Grid, Nodes};
use mpm::options::Options;
use mpm::particles::Particle;
use mpm::scene::Setting;
use mpm::solver::Minimizer;
use mpm::state::State;
use mpm::step::Stepper;

use super::bad_scenes::{BODY, OF};
use super::{DX, Folder, bodies, cloud};

#[test]
fn particles_outside_the_domain_are_named() {
    for bad in [f64::NAN, f64::INFINITY, -1e6] {
        let mut particles = cloud(50, 0.1, 1);
        particles[17].x[1] = bad;
        let refused = Grid::around(&mut particles, DX).err();
        assert!(matches!(refused, Some(StepError::Particle { particle: 17, .. })), "{refused:?}");
    }
    // In a run, the state before the frame stays.
    let folder = Folder::new("outside");
    let text = format!("grid.dx = 0.1\ntime.cfl = 1e9\n{BODY}{OF}velocity = [1e7, 0.0, 0.0]\n");
    let scene = folder.write("scene.toml", &text);
    let error = folder.run(&["--scene", &scene, "--frames", "3"]).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(StepError::Particle { .. })), "{error}");
}

/// `--dt` is refused as the key of a scene is, and not cut to a frame.
#[test]
fn steps_that_are_too_long_or_too_short_are_refused() {
    let folder = Folder::new("step");
    let scene = folder.write("scene.toml", &format!("grid.dx = 0.1\n{BODY}{OF}"));
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
        let Some(StepError::Particle { particle: 17, why }) = error.downcast_ref() else { panic!("{error}") };
        let speed = fast.hypot(3e9);
        assert!(why.contains(&format!("{speed:.3e} m/s at t = 0.5")) && state == before, "{error}");
    }
}

/// A step whose energy overflows is refused, and the state is that before.
#[test]
fn a_step_without_a_finite_energy_is_refused() {
    let (setting, bodies) = (Setting::default(), bodies());
    let method = Options::parse_from(["mpm"]).method;
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
        assert!(matches!(refused, Some(StepError::Particle { particle: 17, .. })), "{refused:?}");
    }
}

/// The node whose characteristic impulse overflows is named, with the nearest particle and its body.
#[test]
fn nodes_without_a_norm_are_named() {
    let (mut particles, mut bodies) = (cloud(50, 0.1, 1), bodies());
    bodies[1].lame = Lame::new(1e300, 0.3); // its square is not finite
    let grid = Grid::around(&mut particles, DX).unwrap();
    let nodes = Nodes::from_particles(&grid, &particles, &bodies);
    let (dt, gravity) = (0.01, [0.0; 3]);
    let constraints = Constraints::new(&nodes, &[], [0.0, dt], gravity);
    let (particles, bodies) = (&particles[..], &bodies[..]);
    let given =
        Given { grid: &grid, nodes: &nodes, particles, bodies, constraints: &constraints, dt, gravity };
    let error = Increment::new(given).unwrap().weights().unwrap_err();
    let StepError::Stiffness { x, impulse, particle, body, .. } = error else { panic!("{error}") };
    let place = nodes.positions.iter().position(|place| *place == x).unwrap();
    assert!(!impulse.is_finite() && !nodes.stiffness[place].is_finite(), "{error}");
    let distance = |p: &Particle| (0..3).map(|k| (p.x[k] - x[k]).powi(2)).sum::<f64>();
    let stiff = particles.iter().filter(|p| p.body == 1);
    let nearest = stiff.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
    assert!(particles[particle] == *nearest && body == 1, "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("body {body}")) && text.contains("young"), "{text}");
}
