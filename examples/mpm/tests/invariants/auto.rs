//! `auto`: HOT, or projected Newton where colliders rub, and the other one where that fails.

use clap::Parser;
use coarsen::descent::Driver;
use coarsen::optimize::DescentOutcome;
use coarsen::prelude::*;
use examples_run::Failure;
use mpm::energy::{Increment, Memory};
use mpm::fault::StepError;
use mpm::options::Options;
use mpm::particles::Particle;
use mpm::scene::Setting;
use mpm::solver::{Minimizer, Solved};
use mpm::state::State;
use mpm::step::Stepper;

use super::{DX, bodies, cloud};

/// Particles around the origin with more than 1000 unknowns.
fn wide_cloud() -> Vec<Particle> {
    let mut particles = cloud(200, 0.1, 1);
    particles.iter_mut().flat_map(|p| &mut p.x).for_each(|x| *x *= 1.5);
    particles
}

/// The first step of bodies by a solver, with at most this number of iterations.
fn first_step(particles: &[Particle], solver: &str, most: &str) -> Result<Solved, Failure> {
    let (setting, bodies, obstacles) = (Setting::default(), bodies(), &[][..]);
    let method = Options::parse_from(["mpm", "--solver", solver, "--iterations", most]).method;
    let minimizer = Minimizer::new(&method, Cpu::<f64>::new());
    let (dx, largest, memory) = (DX, 0.01, Memory::default());
    let mut stepper =
        Stepper { setting: &setting, obstacles, bodies: &bodies, dx, largest, memory, minimizer };
    let mut state = State { particles: particles.to_vec(), ..State::default() };
    let begun = stepper.begin(&mut state, 0.01).unwrap().unwrap();
    let mut f = Increment::new(begun.given(&state.particles, &bodies, setting.gravity)).unwrap();
    stepper.minimizer.solve(&mut f)
}

#[test]
fn auto_is_hot_without_friction() {
    let [hot, auto] = ["hot", "auto"].map(|solver| first_step(&wide_cloud(), solver, "1000").unwrap());
    assert!(auto.z == hot.z && auto.iterations == hot.iterations && auto.failures.is_empty());
}

/// A driver that ends in an error is replaced, and the error is kept: so far from the origin the positions of nodes leave the
/// table of node embedding, but not the grid, and `hot` fails.
#[test]
fn a_driver_with_an_error_is_replaced() {
    let far = DX * f64::from((1 << 20) - 13);
    let mut particles = wide_cloud();
    particles.iter_mut().for_each(|p| p.x[0] += far);
    let alone = first_step(&particles, "hot", "1000").unwrap_err().to_string();
    let solved = first_step(&particles, "auto", "1000").unwrap();
    assert!(matches!(solved.outcome, DescentOutcome::Converged(_)), "{:?}", solved.outcome);
    let [(Driver::Hot, error)] = &solved.failures[..] else { panic!("{:?}", solved.failures) };
    assert_eq!(error.to_string(), alone);
    assert_eq!(solved.z, first_step(&particles, "pn-pcg", "1000").unwrap().z);
}

/// If both drivers end in errors, both are named; errors that say the same are told once.
#[test]
fn errors_of_both_drivers_are_named() {
    let error = |second: &str| {
        let [first, second] = ["no table", second].map(Failure::from);
        StepError::of_drivers((Driver::Hot, first), Some((Driver::PnPcg, second)))
    };
    let both = error("no diagonal");
    assert_eq!(both.to_string(), "hot failed: no table; pn-pcg failed: no diagonal");
    assert_eq!(both.source().expect("a cause").to_string(), "no table");
    assert_eq!(error("no table").to_string(), "no table");
    assert_eq!(StepError::of_drivers((Driver::Hot, "no table".into()), None).to_string(), "no table");
}

/// If neither driver converges, the step is that of the driver with the smaller gradient, and both count.
#[test]
fn a_step_that_none_solves_is_the_best_one() {
    let [hot, newton, auto] =
        ["hot", "pn-pcg", "auto"].map(|solver| first_step(&wide_cloud(), solver, "2").unwrap());
    let best = if hot.norm <= newton.norm { &hot } else { &newton };
    assert_eq!(auto.outcome, DescentOutcome::IterationLimit);
    assert!(auto.z == best.z && auto.norm == best.norm, "{} {} {}", auto.norm, hot.norm, newton.norm);
    assert_eq!(auto.iterations, [4, newton.iterations[1]]);
}

/// A descent that ended with this outcome and norm.
fn ended(outcome: DescentOutcome, norm: f64) -> Solved {
    let (z, iterations, rebuilds, cycles, setup, failures) = Default::default();
    Solved { z, outcome, iterations, rebuilds, cycles, norm, setup, failures }
}

#[test]
fn a_result_that_is_not_finite_is_worse_than_any_other() {
    let far = || ended(DescentOutcome::Stagnated, 2.0);
    assert_eq!(far().or(ended(DescentOutcome::Stopped, 1.0)).norm, 1.0);
    // The norm that is told is that of an iterate before.
    for lost in [ended(DescentOutcome::NotFinite, 1e-3), ended(DescentOutcome::IterationLimit, f64::NAN)] {
        assert_eq!(lost.or(far()).norm, 2.0);
    }
}
