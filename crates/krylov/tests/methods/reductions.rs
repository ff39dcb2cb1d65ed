//! Conjugate gradients with one reduction per iteration, beside those with several.

use std::ops::ControlFlow;

use crate::common::{Dense, Scaling, distance, random, spread};
use coarsen_core::{Error, Identity, Iteration, Outcome, Preconditioner, PreconditionerKind, Stop};
use coarsen_krylov::{Cg, Krylov, PipelinedCg, SingleReductionCg};

/// The iterates of a method, in order.
fn iterates(method: &mut dyn Krylov<Vec<f64>>, a: &Dense<f64>, d: &[f64], b: &Vec<f64>) -> Vec<Vec<f64>> {
    let (mut list, mut x) = (Vec::new(), vec![0.0; b.len()]);
    let mut keep = |it: &Iteration<'_, Vec<f64>>| {
        list.extend(it.x.cloned());
        ControlFlow::Continue(())
    };
    let mut m = Scaling { d: d.to_vec(), kind: PreconditionerKind::Symmetric };
    method.solve_with(a, &mut m, b, &mut x, &mut keep).unwrap().converged().unwrap();
    list
}

#[test]
fn one_reduction_gives_the_same_iterates() {
    // Different round-off makes two runs diverge from each other, as in the Lanczos process. So only the
    // first ten steps are compared. Recurrences of recurrences lose more digits than one.
    for (n, condition) in [(30, 50.0), (80, 1e4)] {
        let a = Dense::with_spectrum(&spread(n, 1.0, condition), 9);
        let (b, d) = (random(n, 2), random(n, 5).iter().map(|v| 1.5 + v).collect::<Vec<_>>());
        let stop = Stop::relative(1e-9);
        let plain = iterates(&mut Cg::new(stop), &a, &d, &b);
        let methods: [(&str, usize, &mut dyn Krylov<Vec<f64>>); 2] = [
            ("single", 20, &mut SingleReductionCg::new(stop)),
            ("pipelined", 3, &mut PipelinedCg::new(stop)),
        ];
        for (name, part, method) in methods {
            let other = iterates(method, &a, &d, &b);
            let (few, many) = (plain.len(), other.len());
            assert!(few.abs_diff(many) <= 1 + few / part, "{name}: {few} and {many} iterates");
            for (k, (x, y)) in plain.iter().zip(&other).enumerate().take(11).skip(1) {
                assert!(distance(x, y) < 1e-10, "{name}: iterate {k} of {n}: {}", distance(x, y));
            }
        }
    }
}

/// Without refreshed products the recurrences of pipelined conjugate gradients go astray: they claim convergence
/// too early and lose the sign of the curvature. The solve goes on from the recomputed residual.
#[test]
fn recurrences_that_go_astray_do_not_end_a_solve() {
    let (n, tolerance) = (80, 1e-12);
    let run = |condition: f64, refresh_every: usize| {
        let a = Dense::<f64>::with_spectrum(&spread(n, 1.0, condition), 9);
        let (b, mut claims, mut x) = (random(n, 2), 0, vec![0.0; n]);
        let mut watch = |it: &Iteration<'_, Vec<f64>>| {
            claims += usize::from(it.relative <= tolerance);
            ControlFlow::Continue(())
        };
        let mut method = PipelinedCg::new(Stop::relative(tolerance));
        method.refresh_every = refresh_every;
        let report = method.solve_with(&a, &mut Identity, &b, &mut x, &mut watch).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{report}");
        assert!(distance(&x, &a.solve(&b)) < 1e-7);
        (report.iterations, claims)
    };
    let (_, claims) = run(1e2, usize::MAX);
    assert!(claims > 1, "the first claim was wrong");
    let (never, _) = run(1e4, usize::MAX); // loses a sign
    let (often, _) = run(1e4, 20);
    assert!(4 * often < 3 * never, "{often} iterations, {never} without");
    let mut method = PipelinedCg::new(Stop::default());
    method.refresh_every = 0;
    let refused = method.solve(&Dense::diagonal(&[1.0]), &mut Identity, &vec![1.0], &mut vec![0.0]);
    assert!(matches!(refused, Err(Error::Parameter { name: "PipelinedCg::refresh_every", .. })));
}

#[test]
fn one_reduction_has_the_same_outcomes() {
    let end = |a: &Dense<f64>, m: &mut dyn Preconditioner<Vec<f64>>, b: Vec<f64>| {
        let methods: [&mut dyn Krylov<Vec<f64>>; 2] =
            [&mut SingleReductionCg::default(), &mut PipelinedCg::default()];
        let [single, pipelined] = methods.map(|method| {
            let mut x = vec![0.0; b.len()];
            let report = method.solve(a, m, &b, &mut x).unwrap();
            assert!(x.iter().all(|x| x.is_finite()) && report.true_residual.is_finite());
            report.outcome
        });
        assert_eq!(single, pipelined);
        single
    };
    for d in [vec![-1.0, -2.0, -3.0], vec![1.0, 2.0, 3.0, -4.0, 5.0, -6.0]] {
        let outcome = end(&Dense::diagonal(&d), &mut Identity, random(d.len(), 1));
        assert_eq!(outcome, Outcome::IndefiniteOperator, "{d:?}");
    }
    for d in [[0.0, 0.0], [1.0, 0.0]] {
        assert_eq!(end(&Dense::diagonal(&d), &mut Identity, random(2, 1)), Outcome::Breakdown, "{d:?}");
    }
    let a = Dense::with_spectrum(&spread(20, 1.0, 50.0), 3);
    for (d, outcome) in [
        (-1.0, Outcome::IndefinitePreconditioner),
        (0.0, Outcome::Breakdown),
        (f64::NAN, Outcome::NotFinite),
        (f64::INFINITY, Outcome::NotFinite),
    ] {
        let mut m = Scaling { d: vec![d; 20], kind: PreconditionerKind::Symmetric };
        assert_eq!(end(&a, &mut m, random(20, 4)), outcome, "M = {d}");
    }
}
