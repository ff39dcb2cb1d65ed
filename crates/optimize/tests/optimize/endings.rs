//! How a descent ends after failures, and by criteria other than the tolerance for the gradient.

use std::ops::ControlFlow;

use crate::common;
use crate::common::{Quadratic, noise};
use coarsen_core::{
    Dot, Identity, Iteration, Objective, Outcome, Preconditioner, PreconditionerKind, Stop, Vector,
};
use coarsen_krylov::FlexibleCg;
use coarsen_optimize::*;

const N: usize = 40;

/// f(x) and its gradient as closures.
struct Of<F, G>(F, G);

impl<F: FnMut(&[f64]) -> f64, G: FnMut(&[f64], &mut [f64])> Objective<Vec<f64>> for Of<F, G> {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        self.0(x).into()
    }
    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        self.1(x, g);
    }
}

fn steepest(f: &mut impl Objective<Vec<f64>>, x: &mut Vec<f64>) -> DescentReport<f64> {
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-8));
    descent.minimize(f, &mut Gradient::steepest(), x).unwrap()
}

#[test]
fn energies_that_are_not_finite_are_reported() {
    let mut nan = Of(|_: &[f64]| f64::NAN, |_: &[f64], g: &mut [f64]| g.fill(1.0));
    assert_eq!(steepest(&mut nan, &mut vec![1.0; 3]).outcome, DescentOutcome::NotFinite);
    let mut bad_gradient = Of(|_: &[f64]| 1.0, |_: &[f64], g: &mut [f64]| g.fill(f64::INFINITY));
    assert_eq!(steepest(&mut bad_gradient, &mut vec![1.0; 3]).outcome, DescentOutcome::NotFinite);
    // f is finite only at the start.
    let mut lonely =
        Of(|x: &[f64]| if x[0] == 1.0 { 1.0 } else { f64::NAN }, |_: &[f64], g: &mut [f64]| g.fill(1.0));
    let mut x = vec![1.0; 3];
    let report = steepest(&mut lonely, &mut x);
    assert!(matches!(report.outcome, DescentOutcome::LineSearchFailed(LineSearchFailure::NotFinite { .. })));
    assert_eq!(x, [1.0; 3]);
    assert!(report.converged().unwrap_err().to_string().contains("finite differences"));
}

#[test]
fn flat_functions_and_minimisers_at_the_start_are_reported() {
    let mut flat = Of(|_: &[f64]| 5.0, |_: &[f64], g: &mut [f64]| g.fill(0.0));
    let report = steepest(&mut flat, &mut vec![1.0; 3]);
    assert_eq!((report.outcome, report.iterations), (DescentOutcome::Converged(Criterion::Gradient), 0));
    // A gradient that does not belong to f.
    let mut lying = Of(|_: &[f64]| 5.0, |_: &[f64], g: &mut [f64]| g.fill(1.0));
    let outcome = steepest(&mut lying, &mut vec![1.0; 3]).outcome;
    assert!(
        matches!(outcome, DescentOutcome::LineSearchFailed(LineSearchFailure::RoundOff { .. })),
        "{outcome}"
    );
    let (mut f, inverse) = Quadratic::spread(N, 10.0);
    let mut x: Vec<f64> = f.b.iter().zip(&inverse.0).map(|(b, a)| b / a).collect();
    let at_minimum = x.clone();
    let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-12));
    let report = descent.minimize(&mut f, &mut Lbfgs::scaled(4), &mut x).unwrap().converged().unwrap();
    assert_eq!((report.iterations, report.values), (0, 1));
    assert_eq!(x, at_minimum);
}

/// M⁻¹ = −I.
struct Upside;

impl Preconditioner<Vec<f64>> for Upside {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        z.scaled(&-1.0, r);
    }
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Variable
    }
    fn size(&self) -> Option<usize> {
        None
    }
}

#[test]
fn ascent_is_refused_and_chains_go_on() {
    let (mut f, _) = Quadratic::spread(N, 10.0);
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    let mut x = noise(N, 3);
    let start = x.clone();
    let report = descent.minimize(&mut f, &mut Gradient::fixed(Upside), &mut x).unwrap();
    assert!(matches!(report.outcome, DescentOutcome::NoDirection(Refusal::Ascent { slope }) if slope > 0.0));
    assert_eq!(x, start);
    assert!(report.converged().unwrap_err().to_string().contains("a safer direction"));
    let mut chain = OrElse::new(Gradient::fixed(Upside), Lbfgs::scaled(4));
    let report = descent.minimize(&mut f, &mut chain, &mut x).unwrap().converged().unwrap();
    assert_eq!(report.fallbacks, report.iterations);
    // A varying preconditioner cannot be the metric of conjugate gradients.
    let error = descent.minimize(&mut f, &mut NonlinearCg::new(Beta::DaiKou, Upside), &mut start.clone());
    assert!(matches!(error, Err(DescentError::Core(coarsen_core::Error::Preconditioner { .. }))));
}

#[test]
fn indefinite_inner_operators_are_reported() {
    let (f, _) = Quadratic::spread(N, 10.0);
    let saddle = Quadratic { a: (0..N).map(|i| if i == 7 { -1.0 } else { 1.0 }).collect(), b: vec![0.0; N] };
    let mut f = Linearized::new(f, saddle, Identity, |_, _: &Vec<f64>, _| Ok(()), |_, _, _| Ok(()));
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    let mut x = noise(N, 4);
    let report = descent.minimize(&mut f, &mut Newton::exact(), &mut x).unwrap();
    let inner = Refusal::Inner(Outcome::IndefiniteOperator);
    assert_eq!(report.outcome, DescentOutcome::NoDirection(inner));
    let mut chain =
        OrElse::new(Newton::with(FlexibleCg::new(Stop::relative(1e-10)), Forcing::AsGiven), Lbfgs::scaled(4));
    let report = descent.minimize(&mut f, &mut chain, &mut x).unwrap().converged().unwrap();
    assert!(report.fallbacks > 0);
}

/// A tolerance below round-off ends as stagnated.
#[test]
fn tolerances_below_round_off_end() {
    let (mut f, _) = Quadratic::spread(N, 100.0);
    let mut descent = Descent::new(Backtracking::default(), Stop::absolute(0.0));
    let report = descent.minimize(&mut f, &mut Lbfgs::scaled(8), &mut noise(N, 3)).unwrap();
    assert!(report.gradient < 1e-6, "{report}");
    assert!(report.iterations < 1000, "{report}");
    let told = matches!(
        report.outcome,
        DescentOutcome::Stagnated
            | DescentOutcome::NoDirection(Refusal::RoundOff { .. })
            | DescentOutcome::LineSearchFailed(LineSearchFailure::RoundOff { .. })
    );
    assert!(told && report.outcome.advice().contains("tolerance"), "{report}");
}

/// The slope is below the round-off of f, so steps are taken, but f does not fall.
#[test]
fn an_energy_that_no_longer_decreases_has_stagnated() {
    let mut slight = Of(|x: &[f64]| 1.0 + 1e-12 * x[0], |_: &[f64], g: &mut [f64]| g[0] = 1e-12);
    let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-13));
    let mut x = vec![0.0];
    let report = descent.minimize(&mut slight, &mut Gradient::fixed(Identity), &mut x).unwrap();
    assert_eq!(report.outcome, DescentOutcome::Stagnated, "{report}");
    assert!(report.usable().is_ok());
}

/// A preconditioner that gives NaN in its fourth and all later applications.
struct Broken(usize);

impl Preconditioner<Vec<f64>> for Broken {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        self.0 += 1;
        z.copy(r);
        if self.0 > 3 {
            z[5] = f64::NAN;
        }
    }
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }
    fn size(&self) -> Option<usize> {
        None
    }
}

/// If the preconditioner gives NaN, as after the loss of a device or an overflow, a descent with any rule
/// ends and keeps the last x.
#[test]
fn preconditioners_that_turn_nan_end_a_descent() {
    for from in [3, 0] {
        let broken = || Broken(from);
        let rules: Vec<(&str, Box<dyn Direction<Vec<f64>, Quadratic>>)> = vec![
            ("gradient", Box::new(Gradient::fixed(broken()))),
            ("ncg+", Box::new(NonlinearCg::new(Beta::PolakRibierePlus, broken()))),
            ("ncg", Box::new(NonlinearCg::new(Beta::DaiKou, broken()))),
            ("accelerated", Box::new(AcceleratedGradient::new(0.9, broken()))),
            ("lbfgs", Box::new(Lbfgs::new(4, broken()))),
            ("lbfgs, gathered", Box::new(Lbfgs::new(4, broken()).gathering())),
            (
                "chain",
                Box::new(OrElse::new(NonlinearCg::new(Beta::DaiKou, broken()), Gradient::fixed(broken()))),
            ),
        ];
        for (name, mut rule) in rules {
            let (mut f, _) = Quadratic::spread(N, 100.0);
            let mut x = noise(N, 3);
            let mut descent = Descent::new(MoreThuente::tight(), Stop::relative(1e-12));
            let report = descent.minimize(&mut f, &mut rule, &mut x).unwrap();
            assert_eq!(report.outcome, DescentOutcome::NoDirection(Refusal::NotFinite), "{name}");
            assert!(x.iter().all(|x| x.is_finite()), "{name}");
        }
        let (f, inverse) = Quadratic::spread(N, 100.0);
        let hessian = Quadratic { a: inverse.0, b: vec![0.0; N] };
        let mut f = Linearized::new(f, hessian, broken(), |_, _: &Vec<f64>, _| Ok(()), |_, _, _| Ok(()));
        let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-12));
        let report = descent.minimize(&mut f, &mut Newton::exact(), &mut noise(N, 3)).unwrap();
        assert!(matches!(report.outcome, DescentOutcome::NoDirection(Refusal::Inner(_))), "{report}");
    }
}

/// After a refresh has repaired a preconditioner that gave NaN, conjugate gradients continue.
#[test]
fn a_mended_preconditioner_leaves_no_nan() {
    let update = |_: &mut Quadratic, _: &Vec<f64>, ncg: &mut NonlinearCg<Vec<f64>, Broken>| {
        ncg.inverse_mut().0 = 0; // three good applications again
        Ok(true)
    };
    for beta in [Beta::DaiKou, Beta::PolakRibierePlus] {
        let (mut f, _) = Quadratic::spread(N, 10.0);
        let mut ncg = Refreshed::new(NonlinearCg::new(beta, Broken(0)), update);
        let mut descent = Descent::new(MoreThuente::tight(), Stop::relative(1e-8));
        let report = descent.minimize(&mut f, &mut ncg, &mut noise(N, 3)).unwrap();
        assert!(report.converged().unwrap().refreshes > 1);
    }
}

/// A rule that always falls back but never descends.
struct Boaster;

impl<F: ?Sized> Direction<Vec<f64>, F> for Boaster {
    fn propose(
        &mut self,
        _: &mut F,
        _: &Vec<f64>,
        _: &Vec<f64>,
        _: &mut Vec<f64>,
    ) -> Result<Proposal<f64>, DescentError> {
        Ok(Proposal::Refused(Refusal::NotFinite))
    }
    fn fall_back(&mut self) -> bool {
        true
    }
}

#[test]
fn safer_directions_are_not_sought_for_ever() {
    let (mut f, _) = Quadratic::spread(N, 10.0);
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    let report = descent.minimize(&mut f, &mut Boaster, &mut noise(N, 3)).unwrap();
    assert_eq!(report.outcome, DescentOutcome::NoDirection(Refusal::NotFinite));
    assert_eq!(report.fallbacks, 32); // the limit of `Direction::fall_back`
}

/// A preconditioner of another size and a limit of 0 inner iterations are refused before any computation.
#[test]
fn bad_sizes_and_limits_are_refused_before_the_descent() {
    struct Three;
    impl Preconditioner<Vec<f64>> for Three {
        fn apply(&mut self, _: &Vec<f64>, _: &mut Vec<f64>) {
            unreachable!("it does not fit")
        }
        fn kind(&self) -> PreconditionerKind {
            PreconditionerKind::Symmetric
        }
        fn size(&self) -> Option<usize> {
            Some(3)
        }
    }
    let rules: Vec<Box<dyn Direction<Vec<f64>, Rosenbrock>>> = vec![
        Box::new(Gradient::fixed(Three)),
        Box::new(NonlinearCg::new(Beta::DaiKou, Three)),
        Box::new(AcceleratedGradient::new(0.9, Three)),
        Box::new(Lbfgs::new(4, Three)),
    ];
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    for mut rule in rules {
        let refused = descent.minimize(&mut Rosenbrock, &mut rule, &mut vec![-1.2, 1.0]);
        let Err(DescentError::Core(error)) = refused else { panic!("{refused:?}") };
        assert!(matches!(error, coarsen_core::Error::Shape { expected: 2, found: 3, .. }), "{error}");
    }
    let above = || Quadratic { a: vec![1.0; 2], b: vec![0.0; 2] };
    let mut other = Constant::new(above(), Three, coarsen_krylov::Cg::new(Stop::relative(1e-3)));
    let refused = descent.minimize(&mut Rosenbrock, &mut other, &mut vec![-1.2, 1.0]);
    assert!(matches!(refused, Err(DescentError::Core(coarsen_core::Error::Shape { .. }))), "{refused:?}");
    let mut f = Linearized::new(above(), above(), Three, |_, _: &Vec<f64>, _| Ok(()), |_, _, _| Ok(()));
    let mut forced = Newton::with(coarsen_krylov::Cg::default(), Forcing::Preconditioned { min_norm: 1e-9 });
    let refused = descent.minimize(&mut f, &mut forced, &mut vec![-1.2, 1.0]);
    let Err(DescentError::Core(error)) = refused else { panic!("{refused:?}") };
    assert!(matches!(error, coarsen_core::Error::Shape { expected: 2, found: 3, .. }), "{error}");
    let none = Stop { max_iterations: 0, ..Stop::relative(1e-3) };
    let mut idle = Constant::new(above(), Identity, coarsen_krylov::Cg::new(none));
    let refused = descent.minimize(&mut Rosenbrock, &mut idle, &mut vec![-1.2, 1.0]);
    assert!(refused.unwrap_err().to_string().contains("max_iterations"));
    let mut f = common::Valley::<f64>::new(2).linearized();
    let refused = descent.minimize(&mut f, &mut Newton::fixed(0), &mut vec![-1.2, 1.0]);
    assert!(refused.unwrap_err().to_string().contains("max_iterations"));
    for bad in [f64::NAN, f64::INFINITY, 1e200] {
        assert!(Norm::weighted(vec![bad; 2]).is_err());
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(node_weights(&[1.0, bad], 3).is_err());
    }
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    descent.norm = Norm::weighted(vec![1.0; 3]).unwrap();
    let refused = descent.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(4), &mut vec![-1.2, 1.0]);
    assert!(matches!(
        refused,
        Err(DescentError::Core(coarsen_core::Error::Shape { expected: 2, found: 3, .. }))
    ));
}

#[test]
fn bounds_on_steps_are_kept() {
    struct Walled(Quadratic);
    impl Objective<Vec<f64>> for Walled {
        fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
            self.0.value(x)
        }
        fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
            self.0.gradient(x, g);
        }
        fn max_step(&mut self, _: &Vec<f64>, d: &Vec<f64>) -> f64 {
            0.1 / d.norm()
        }
    }
    let mut f = Walled(Quadratic::spread(N, 10.0).0);
    let mut x = noise(N, 5);
    let mut last: Option<Vec<f64>> = None;
    let mut monitor = |it: &Iterate<'_, Vec<f64>>| {
        if let Some(before) = last.replace(it.x.clone()) {
            let gap: f64 = before.iter().zip(it.x).map(|(a, b)| (a - b).powi(2)).sum();
            assert!(gap.sqrt() < 0.1 + 1e-12);
        }
        std::ops::ControlFlow::Continue(())
    };
    let mut descent = Descent::new(MoreThuente::default(), Stop::relative(1e-6));
    descent.minimize_with(&mut f, &mut Lbfgs::scaled(8), &mut x, &mut monitor).unwrap().converged().unwrap();
}

#[test]
fn other_criteria_end_a_descent_too() {
    let (mut f, _) = Quadratic::spread(N, 100.0);
    let with = |decrease: f64, step: f64| {
        let mut descent = Descent::new(Backtracking::default(), Stop::absolute(0.0));
        (descent.decrease, descent.step) = (decrease, step);
        descent
    };
    let mut ends = |mut descent: Descent<Vec<f64>, Backtracking<f64>>,
                    monitor: &mut DescentMonitor<'_, Vec<f64>>| {
        descent.minimize_with(&mut f, &mut Lbfgs::scaled(8), &mut noise(N, 6), monitor).unwrap().outcome
    };
    let mut go_on = |_: &Iterate<'_, Vec<f64>>| ControlFlow::Continue(());
    assert_eq!(ends(with(1e-3, 0.0), &mut go_on), DescentOutcome::Converged(Criterion::Decrease));
    assert_eq!(ends(with(0.0, 1e-3), &mut go_on), DescentOutcome::Converged(Criterion::Step));
    let mut content = |it: &Iterate<'_, Vec<f64>>| match it.gradient {
        g if g <= 1e-2 => std::ops::ControlFlow::Break(Verdict::Converged),
        _ => std::ops::ControlFlow::Continue(()),
    };
    assert_eq!(ends(with(0.0, 0.0), &mut content), DescentOutcome::Converged(Criterion::Monitor));
    // The norm is a thousandth of the Euclidean norm in the monitor, the stopping rule and the report.
    let mut weighted = with(0.0, 0.0);
    weighted.stop = Stop::absolute(1e-5);
    weighted.norm = Norm::weighted(vec![1e-3; N]).unwrap();
    let mut last = 0.0;
    let mut monitor = |it: &Iterate<'_, Vec<f64>>| {
        assert!((it.gradient - 1e-3 * it.g.norm()).abs() <= 1e-12 * it.gradient);
        last = it.gradient;
        std::ops::ControlFlow::Continue(())
    };
    assert_eq!(ends(weighted, &mut monitor), DescentOutcome::Converged(Criterion::Gradient));
    assert!(last <= 1e-5 && last > 1e-8, "{last}");
    let mut impatient = |it: &Iterate<'_, Vec<f64>>| match it.number {
        3 => std::ops::ControlFlow::Break(Verdict::Stop),
        _ => std::ops::ControlFlow::Continue(()),
    };
    assert_eq!(ends(with(0.0, 0.0), &mut impatient), DescentOutcome::Stopped);
    let negative = with(-1.0, 0.0).minimize(&mut Rosenbrock, &mut Lbfgs::scaled(8), &mut vec![1.0; 2]);
    assert!(matches!(negative, Err(DescentError::Core(coarsen_core::Error::Parameter { .. }))));
}

/// With steps of half a per cent, the decrease of the energy is below round-off long before the gradient is
/// small. The gradient needs 21 steps to fall by a tenth.
#[test]
fn slow_methods_are_given_their_time() {
    let mut parabola = Of(|x: &[f64]| 0.5 * x[0] * x[0] + 1.0, |x: &[f64], g: &mut [f64]| g[0] = x[0]);
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-10));
    descent.stop.max_iterations = 10_000;
    let mut x = vec![1.0];
    let timid = common::Inverse(vec![200.0]);
    let report = descent.minimize(&mut parabola, &mut Gradient::fixed(timid), &mut x).unwrap();
    assert_eq!(report.outcome, DescentOutcome::Converged(Criterion::Gradient), "{report}");
    assert!(report.iterations > 4000, "{report}");
}

/// Steps that are asked for are taken although the gradient is within the tolerance, unless it is zero, no step lowers f, or
/// the limit is lower.
#[test]
fn the_least_number_of_steps_is_taken() {
    let (mut f, _) = Quadratic::spread(N, 10.0);
    let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e6));
    descent.least_iterations = 2;
    let mut from = |f: &mut dyn Objective<Vec<f64>>, mut x: Vec<f64>, limit: usize| {
        descent.stop.max_iterations = limit;
        descent.minimize(f, &mut Lbfgs::scaled(4), &mut x).unwrap().converged().unwrap().iterations
    };
    assert_eq!(from(&mut f, noise(N, 3), 100), 2);
    assert_eq!(from(&mut f, noise(N, 3), 1), 1);
    let minimum: Vec<f64> = f.b.iter().zip(&f.a).map(|(b, a)| b / a).collect();
    assert!(from(&mut f, minimum, 100) <= 2);
    let mut flat = Of(|_: &[f64]| 5.0, |_: &[f64], g: &mut [f64]| g.fill(0.0));
    assert_eq!(from(&mut flat, vec![1.0; 3], 100), 0);
    let mut lying = Of(|_: &[f64]| 5.0, |_: &[f64], g: &mut [f64]| g.fill(1.0));
    assert_eq!(from(&mut lying, vec![1.0; 3], 100), 0);
}

/// A monitor ends inner solves, whose last iterates are the directions.
#[test]
fn a_monitor_can_end_inner_solves() {
    let (f, _) = Quadratic::spread(N, 1e4);
    let mut f = Linearized::new(f.clone(), f, Identity, |_, _: &Vec<f64>, _| Ok(()), |_, _, _| Ok(()));
    let mut newton = Newton::exact();
    let three = |it: &Iteration<'_, Vec<f64>>| match it.number {
        0..3 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    newton.monitor = Some(Box::new(three));
    let stop = Stop { max_iterations: 4, ..Stop::relative(1e-12) };
    let mut descent = Descent::new(Backtracking::default(), stop);
    let report = descent.minimize(&mut f, &mut newton, &mut noise(N, 4)).unwrap();
    assert_eq!((report.outcome, report.iterations, report.inner), (DescentOutcome::IterationLimit, 4, 12));
    assert!(report.value < report.initial_value);
}
