//! Tests of the contract that all methods share.

use std::ops::ControlFlow;

use coarsen_core::{
    Error, Identity, Iteration, LinearOperator, Outcome, Preconditioner, PreconditionerKind, Real, Report,
    Stop, from_fn, parallel,
};
use coarsen_krylov::{
    BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, PipelinedCg, Projected, SingleReductionCg,
};

use crate::common::{self, Dense, Method, Scaling, distance, random, residual, richardson, spread};

fn methods<T: Real>(stop: Stop<T>) -> Vec<(&'static str, Method<T>)> {
    common::methods(stop, 0.15)
}

/// A system with eigenvalues between 1 and 10, for which every method converges.
fn easy<T: Real>(n: usize) -> (Dense<T>, Vec<T>) {
    let b = random(n, 77).iter().map(|&v| T::from_f64(v)).collect();
    (Dense::with_spectrum(&spread(n, 1.0, 10.0), 5), b)
}

#[test]
fn solutions_equal_the_dense_one() {
    for n in [1, 2, 17, 60] {
        let (a, b) = easy::<f64>(n.max(2));
        let d: Vec<f64> = (0..b.len()).map(|i| 1.0 + 0.1 * (i % 3) as f64).collect();
        for (name, mut method) in methods(Stop::relative(1e-11)) {
            let mut x = random(b.len(), 3);
            let mut m = Scaling { d: d.clone(), kind: PreconditionerKind::Symmetric };
            let report = method.solve(&a, &mut m, &b, &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{name}: {report}");
            assert!((report.true_residual - residual(&a, &b, &x)).abs() < 1e-14, "{name}");
            assert!(distance(&x, &a.solve(&b)) < 1e-9, "{name}");
        }
    }
}

#[test]
fn every_method_converges_in_f32() {
    let (a, b) = easy::<f32>(40);
    for (name, mut method) in methods(Stop::<f32>::default()) {
        let mut x = vec![0.0; 40];
        let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{name}: {report}");
        assert!(distance(&x, &a.solve(&b)) < 1e-4, "{name}");
    }
}

/// Each method solves slices with the bits of vectors, and x keeps its entries if a length is wrong.
#[test]
fn slices_are_solved_like_vectors() {
    let (a, b) = easy::<f64>(17);
    macro_rules! check {
        ($($method:expr),+) => {$({
            let mut method = $method;
            let (mut x, mut y) = (random(17, 1), [vec![7.0], random(17, 1)].concat());
            let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
            assert_eq!(method.solve(&a, &mut Identity, &b[..], &mut y[1..]).unwrap(), report);
            assert_eq!((y[0], &y[1..]), (7.0, &x[..]));
            let refused = method.solve(&a, &mut Identity, &b[1..], &mut y[1..]);
            assert_eq!(refused, Err(Error::Shape { what: "b", expected: 17, found: 16 }));
            let refused = method.solve(&a, &mut Identity, &b, &mut y[..]);
            assert_eq!(refused, Err(Error::Shape { what: "x", expected: 17, found: 18 }));
            assert_eq!((y[0], &y[1..]), (7.0, &x[..]));
        })+};
    }
    let stop = Stop::<f64>::default();
    check!(Cg::new(stop), SingleReductionCg::new(stop), PipelinedCg::new(stop), FlexibleCg::new(stop));
    check!(Minres::new(stop), Gmres::new(stop), BiCgStab::new(stop), richardson(stop, 0.15));
    check!(Projected::new(Cg::new(stop), NullSpace::new(vec![]).unwrap()));
}

#[test]
fn zeros_and_exact_guesses_take_no_iteration() {
    let (a, _) = easy::<f64>(9);
    for (name, mut method) in methods(Stop::relative(0.0)) {
        let mut x = random(9, 1);
        let report = method.solve(&a, &mut Identity, &vec![0.0; 9], &mut x).unwrap();
        assert_eq!((report.outcome, report.iterations, &x), (Outcome::Converged, 0, &vec![0.0; 9]), "{name}");
        assert_eq!(report.true_residual, 0.0, "{name}");
        let (mut b, exact) = (vec![0.0; 9], random(9, 2));
        a.apply(&exact, &mut b);
        let mut x = exact.clone();
        let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!((report.outcome, report.iterations, &x), (Outcome::Converged, 0, &exact), "{name}");
        let empty = from_fn(0, |_: &Vec<f64>, _: &mut Vec<f64>| ());
        let report = method.solve(&empty, &mut Identity, &vec![], &mut vec![]).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{name}");
    }
}

#[test]
fn solutions_are_finite() {
    let (a, b) = easy::<f64>(9);
    for bad in [f64::NAN, f64::INFINITY] {
        let poisoned = |v: &[f64], k: usize| {
            let mut v = v.to_vec();
            v[k] = bad;
            v
        };
        let wrong = Dense { n: 9, entries: poisoned(&a.entries, 31) };
        for (name, mut method) in methods(Stop::default()) {
            let mut ends = |a: &Dense<f64>, m: &mut dyn Preconditioner<Vec<f64>>, b: &[f64]| {
                let mut x = random(9, 1);
                let report = method.solve(a, m, &b.to_vec(), &mut x).unwrap();
                assert_eq!(report.outcome, Outcome::NotFinite, "{name}");
                assert!(x.iter().all(|x| x.is_finite()), "{name}");
                x
            };
            assert_eq!(ends(&wrong, &mut Identity, &b), random(9, 1), "{name}");
            ends(&a, &mut Scaling { d: poisoned(&b, 2), kind: PreconditionerKind::Symmetric }, &b);
            ends(&a, &mut Scaling { d: vec![f64::INFINITY; 9], kind: PreconditionerKind::Symmetric }, &b);
            // Errors name the wrong argument, and nothing is written.
            let mut x = random(9, 1);
            let refused = method.solve(&a, &mut Identity, &poisoned(&b, 4), &mut x);
            assert_eq!(refused, Err(Error::NotFinite { what: "b", index: 4 }), "{name}");
            assert_eq!(x, random(9, 1), "{name}");
            let refused = method.solve(&a, &mut Identity, &b, &mut poisoned(&b, 0));
            assert_eq!(refused, Err(Error::NotFinite { what: "x", index: 0 }), "{name}");
        }
    }
}

#[test]
fn impossible_tolerances_stagnate() {
    let (a, b) = easy::<f64>(40);
    for tolerance in [0.0, 1e-30] {
        for (name, mut method) in methods(Stop::relative(tolerance)) {
            let mut x = vec![0.0; 40];
            let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Stagnated, "{name}: {report}");
            assert!(report.true_residual < 1e-14 && report.iterations < 1000, "{name}: {report}");
        }
    }
}

#[test]
fn the_iteration_limit_is_kept() {
    let (a, b) = easy::<f64>(40);
    for k in 0..methods(Stop::<f64>::default()).len() {
        let run = |max_iterations, check_every| -> Report<f64> {
            let stop = Stop { max_iterations, check_every, ..Stop::default() };
            let (_, mut method) = methods(stop).swap_remove(k);
            method.solve(&a, &mut Identity, &b, &mut vec![0.0; 40]).unwrap()
        };
        let needed = run(5000, 1).iterations;
        for check_every in [1, 7] {
            let exact = run(needed, check_every); // convergence in the last iteration counts
            assert_eq!((exact.outcome, exact.iterations), (Outcome::Converged, needed));
        }
        let short = run(needed - 1, 1);
        assert_eq!((short.outcome, short.iterations), (Outcome::IterationLimit, needed - 1));
        assert!(short.true_residual < 1e-5);
        let none = run(0, 1);
        assert_eq!((none.outcome, none.iterations, none.true_residual), (Outcome::IterationLimit, 0, 1.0));
    }
}

#[test]
fn monitors_see_every_iteration_and_may_stop() {
    let (a, b) = easy::<f64>(40);
    for (name, mut method) in methods(Stop::default()) {
        let mut seen = vec![];
        let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
            if let Some(x) = it.x {
                assert!((residual(&a, &b, x) - it.relative).abs() < 1e-12, "{name}");
            }
            seen.push(it.number);
            if it.number == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut x = vec![0.0; 40];
        let report = method.solve_with(&a, &mut Identity, &b, &mut x, &mut monitor).unwrap();
        assert_eq!((report.outcome, report.iterations), (Outcome::Stopped, 5), "{name}");
        assert!(report.true_residual < 0.5, "{name}");
        assert_eq!(seen, [0, 1, 2, 3, 4, 5], "{name}");
    }
}

#[test]
fn rare_checks_end_at_the_same_solution() {
    let (a, b) = easy::<f64>(40);
    for (name, mut method) in methods(Stop { check_every: 10, ..Stop::relative(1e-10) }) {
        let mut x = vec![0.0; 40];
        let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{name}");
        assert!(distance(&x, &a.solve(&b)) < 1e-9, "{name}");
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let (a, b) = easy::<f64>(5);
    for (name, mut method) in methods(Stop::default()) {
        let mut refused = |a: &Dense<f64>, b: &[f64], x: &mut Vec<f64>, m: usize| {
            let before = x.clone();
            let mut m = Scaling { d: vec![1.0; m], kind: PreconditionerKind::Symmetric };
            let error = method.solve(a, &mut m, &b.to_vec(), x).unwrap_err();
            assert_eq!(*x, before, "{name}");
            error
        };
        let wide = Dense { n: 4, entries: vec![1.0; 20] };
        let shape = |what, found| Error::Shape { what, expected: 5, found };
        assert_eq!(refused(&wide, &b, &mut vec![1.0; 5], 5), Error::NotSquare { rows: 4, columns: 5 });
        assert_eq!(refused(&a, &b[1..], &mut vec![1.0; 5], 5), shape("b", 4));
        assert_eq!(refused(&a, &b, &mut vec![1.0; 6], 5), shape("x", 6));
        assert_eq!(refused(&a, &b, &mut vec![1.0; 5], 6), shape("M", 6));
        for (name, stop) in [
            ("Stop::relative", Stop::relative(-1.0)),
            ("Stop::check_every", Stop { check_every: 0, ..Stop::default() }),
        ] {
            *method.stop_mut() = stop;
            let mut x = vec![7.0; 5];
            let error = method.solve(&a, &mut Identity, &b, &mut x).unwrap_err();
            assert!(matches!(error, Error::Parameter { name: n, .. } if n == name) && x == [7.0; 5]);
        }
    }
}

#[test]
fn preconditioners_of_a_weaker_kind_are_refused() {
    let (a, b) = easy::<f64>(5);
    for (name, mut method) in methods(Stop::default()) {
        let mut takes = |kind| {
            let mut m = Scaling { d: vec![1.0; 5], kind };
            match method.solve(&a, &mut m, &b, &mut vec![0.0; 5]) {
                Ok(_) => true,
                Err(Error::Preconditioner { found, .. }) => {
                    assert_eq!(found, kind);
                    false
                }
                Err(other) => panic!("{other}"),
            }
        };
        let expected = match name {
            "Cg" | "SingleReductionCg" | "PipelinedCg" | "Minres" => [true, false, false],
            "Gmres" | "BiCgStab" => [true, true, false],
            _ => [true, true, true],
        };
        assert_eq!(
            [PreconditionerKind::Symmetric, PreconditionerKind::Linear, PreconditionerKind::Variable]
                .map(&mut takes),
            expected,
            "{name}"
        );
    }
}

#[test]
fn threads_do_not_change_bits() {
    let n = 80_000;
    let chain = from_fn(n, |x: &Vec<f64>, y: &mut Vec<f64>| {
        for i in 0..n {
            let left = if i > 0 { x[i - 1] } else { 0.0 };
            let right = if i + 1 < n { x[i + 1] } else { 0.0 };
            y[i] = 5.0 * x[i] - left - right;
        }
    });
    let b = random(n, 1);
    for k in 0..methods(Stop::<f64>::default()).len() {
        let run = |threads| {
            parallel::threads(threads, || {
                let (mut x, (_, mut method)) = (vec![0.0; n], methods(Stop::default()).swap_remove(k));
                let report = method.solve(&chain, &mut Identity, &b, &mut x).unwrap();
                (report, x.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
            })
            .unwrap()
        };
        let one = run(1);
        assert_eq!(one.0.outcome, Outcome::Converged);
        assert!(one == run(2) && one == run(7));
    }
}

#[test]
fn convergence_is_never_claimed_falsely() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..60 {
        let n = 3 + (seed as usize * 7) % 40;
        let tolerance = 10.0_f64.powi(-4 - (seed % 12) as i32);
        let mut d = spread(n, 1.0, 10.0_f64.powi((seed % 17) as i32));
        if seed % 3 == 0 {
            d.iter_mut().step_by(4).for_each(|d| *d = -*d);
        }
        if seed % 5 == 0 {
            d[n / 2] = 0.0;
        }
        let mut a = Dense::<f64>::with_spectrum(&d, seed);
        if seed % 4 == 1 {
            a.entries[1] += 3.0;
        }
        let b = random(n, 1000 + seed);
        let guess = random(n, 2000 + seed);
        let start = residual(&a, &b, &guess);
        for check_every in [1, 9] {
            let stop = Stop { check_every, max_iterations: 300, ..Stop::relative(tolerance) };
            for (name, mut method) in methods(stop) {
                let mut x = guess.clone();
                let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
                let truth = residual(&a, &b, &x);
                assert!(truth.is_finite() && report.iterations <= 300, "{name}, {seed}: {report}");
                if report.outcome == Outcome::Converged {
                    assert!(
                        truth <= 1.01 * tolerance + 1e-14 * start,
                        "{name}, {seed}: {report}, but {truth:e}"
                    );
                }
                *seen.entry(report.outcome.name()).or_insert(0) += 1;
            }
        }
    }
    assert!(seen["converged"] > 150 && seen.len() >= 5, "{seen:?}");
}
