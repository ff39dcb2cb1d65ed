//! A triangle of springs that falls on one that is held.

use coarsen_backend::Cpu;
use coarsen_core::Identity;
use coarsen_elastic::{Plus, Spring, Springs};
use coarsen_krylov::Cg;
use coarsen_optimize::{Forcing, LineSearchFailure, Newton};

use super::*;
use crate::descent::{BackendNewton, CachedPreconditioner};

const H: f64 = 0.01;
const MASS: f64 = 0.1;
const DOWN: [f64; 3] = [0.0, -9.81, 0.0];

type Sum = Plus<Springs, ClothContact>;

/// A triangle of springs above a large one, which is held, for a thickness and the height of the triangle.
fn pair<D>(thickness: f64, height: f64, direction: D) -> (ContactStepper<Sum, D>, Vec<f64>, Vec<f64>)
where
    D: Direction<Vec<f64>, ImplicitEuler<Sum>>,
{
    let x = [
        [-5.0, 0.0, -5.0],
        [0.0, 0.0, 9.0],
        [9.0, 0.0, -5.0],
        [0.1, height, 0.0],
        [0.2, 1.1 * height, 0.5],
        [0.6, 1.2 * height, 0.1],
    ];
    let held = [true, true, true, false, false, false];
    let contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &held, &x, thickness, 1e3).unwrap();
    let spring = |(a, b, length)| Spring { ends: [a, b], stiffness: 100.0, length };
    let springs = [(3, 4, 0.51), (4, 5, 0.57), (5, 3, 0.51)].map(spring).to_vec();
    let sum = Plus::new(Springs::new(springs, &held, &x).unwrap(), contact).unwrap();
    let f = ImplicitEuler::new(sum, &[MASS; 3], H).unwrap();
    let stepper = ContactStepper::new(f, &[MASS; 3], 1e-3, direction, |sum| Some(&mut sum.second)).unwrap();
    (stepper, x.as_flattened()[9..].to_vec(), vec![0.0; 9])
}

fn newton() -> BackendNewton<Cpu, Cg<Vec<f64>>> {
    let newton = Newton::with(Cg::new(Stop::relative(1e-3)), Forcing::AsGiven);
    BackendNewton::new(newton, CachedPreconditioner::constant(Box::new(Identity)), &Cpu::new(), 9).unwrap()
}

fn lowest(x: &[f64]) -> f64 {
    x.iter().skip(1).step_by(3).fold(f64::INFINITY, |a, b| a.min(*b))
}

/// A triangle falls on another one and comes to rest: it stays above a tenth of the thickness, its energy does not grow,
/// and the steps converge.
#[test]
fn steps_neither_cross_nor_gain_energy() {
    let (mut stepper, mut x, mut v) = pair(0.02, 0.1, newton());
    let mut before = f64::INFINITY;
    for _ in 0..60 {
        stepper.step(&mut x, &mut v, DOWN).unwrap().converged().unwrap();
        let kinetic: f64 = v.iter().map(|v| 0.5 * MASS * v * v).sum();
        let height: f64 = x.iter().skip(1).step_by(3).map(|y| MASS * 9.81 * y).sum();
        let energy = kinetic + height + stepper.f.potential.energy(&x).value;
        assert!(energy < before + 1e-6 && lowest(&x) > 0.002, "{energy} after {before}");
        before = energy;
    }
    assert!(v.iter().all(|v| v.abs() < 1e-2) && lowest(&x) < 0.02, "{v:?}");
}

/// A fast step starts before the surface, and at x where the barrier makes that better.
#[test]
fn predictions_are_bounded() {
    let (mut stepper, x, mut v) = pair(0.02, 0.021, newton());
    v.iter_mut().skip(1).step_by(3).for_each(|v| *v = -1e-3);
    stepper.f.begin(&x, &v, [0.0; 3]).unwrap();
    let free: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + H * v).collect();
    assert_eq!(stepper.predict(&x, &v).unwrap(), free);
    v.iter_mut().skip(1).step_by(3).for_each(|v| *v = -100.0);
    stepper.f.begin(&x, &v, [0.0; 3]).unwrap();
    let bounded = stepper.predict(&x, &v).unwrap();
    assert!(lowest(&bounded) > 0.002 && bounded != x, "{bounded:?}");
    let (mut stepper, x, mut v) = pair(0.02, 0.01, newton());
    v.iter_mut().skip(1).step_by(3).for_each(|v| *v = -1.0);
    stepper.f.begin(&x, &v, [0.0; 3]).unwrap();
    assert_eq!(stepper.predict(&x, &v).unwrap(), x);
}

/// Where contact cuts a step of one iteration, the descent begins again.
#[test]
fn descents_that_contact_cuts_begin_again() {
    let iterations = |restarts: usize| {
        let (mut stepper, mut x, mut v) = pair(0.02, 0.03, newton());
        (stepper.descent.stop.max_iterations, stepper.restarts) = (1, restarts);
        stepper.step(&mut x, &mut v, [0.0, -1e3, 0.0]).unwrap().iterations
    };
    assert_eq!(iterations(0), 1);
    assert!((2..=11).contains(&iterations(10)));
}

/// A pair at its smallest distance that forces press together is named, and nothing has moved.
#[test]
fn pairs_that_block_are_named() {
    let (mut stepper, mut x, mut v) = pair(1e-9, 1e-3, newton());
    stepper.descent.stop.max_iterations = 12;
    let fault = (0..30).find_map(|_| {
        let before = (x.clone(), v.clone());
        let fault = stepper.step(&mut x, &mut v, [0.0, -1e6, 0.0]).err()?;
        assert!(before == (x.clone(), v.clone()));
        Some(fault)
    });
    assert!(matches!(fault, Some(StepFault::Blocked(_))), "{fault:?}");
}

/// Positions that are not finite give the fault of the detection; x and v stay. A fault during a descent counts if the descent
/// is stuck, and not if it went on.
#[test]
fn faults_of_detection_are_told() {
    let (mut stepper, mut x, mut v) = pair(0.02, 0.1, newton());
    v[4] = f64::NAN;
    let before = x.clone();
    let fault = stepper.step(&mut x, &mut v, DOWN).unwrap_err();
    assert!(matches!(fault, StepFault::Contact(_)) && x == before, "{fault}");

    let stuck = DescentOutcome::LineSearchFailed(LineSearchFailure::RoundOff { alpha: 0.0 });
    for (outcome, counts) in [(DescentOutcome::IterationLimit, false), (stuck, true)] {
        assert!(stepper.f.potential.energy(&[f64::NAN; 9]).value.is_nan());
        let told = stepper.check(outcome, &x);
        assert_eq!(matches!(told, Err(StepFault::Contact(_))), counts, "{told:?}");
        stepper.check(stuck, &x).unwrap(); // it is told once
    }
}
