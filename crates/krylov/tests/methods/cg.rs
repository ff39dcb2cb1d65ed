//! Tests of conjugate gradients.

use std::ops::ControlFlow;

use crate::common::{Dense, Scaling, distance, random, residual, spread};
use coarsen_core::{
    Error, History, Identity, Iteration, LinearOperator, Outcome, Preconditioner, PreconditionerKind, Real,
    Report, Stop,
};
use coarsen_krylov::{Cg, FlexibleCg, Krylov, SingleReductionCg};

fn cg(stop: Stop<f64>, a: &Dense<f64>, b: &[f64], x: &mut Vec<f64>) -> Report<f64> {
    Cg::new(stop).solve(a, &mut Identity, &b.to_vec(), x).unwrap()
}

#[test]
fn equals_the_dense_solution() {
    for seed in 0..10 {
        let n = 5 + 9 * seed as usize;
        let a = Dense::<f64>::with_spectrum(&spread(n, 0.1, 1000.0), seed);
        let b = random(n, 100 + seed);
        let d = (0..n).map(|i| 1.0 / a.entries[i * n + i]).collect();
        let mut x = random(n, 200 + seed);
        let mut m = Scaling { d, kind: PreconditionerKind::Symmetric };
        let report = Cg::new(Stop::relative(1e-12)).solve(&a, &mut m, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged);
        assert!(report.true_residual <= 1e-12);
        assert!((report.true_residual - residual(&a, &b, &x)).abs() < 1e-15);
        assert!(distance(&x, &a.solve(&b)) < 1e-8);
    }
}

#[test]
fn ends_after_as_many_steps_as_eigenvalues() {
    for k in 1..8 {
        let d: Vec<f64> = (0..60).map(|i| f64::from(1 + i % k)).collect();
        let a = Dense::with_spectrum(&d, 7);
        let report = cg(Stop::relative(1e-10), &a, &random(60, 3), &mut vec![0.0; 60]);
        assert_eq!((report.outcome, report.iterations), (Outcome::Converged, k as usize));
    }
}

#[test]
fn error_stays_under_the_chebyshev_bound() {
    let kappa: f64 = 400.0;
    let d = spread(300, 1.0, kappa);
    let a = Dense::<f64>::diagonal(&d);
    let b = random(300, 5);
    let energy = |x: &[f64]| (0..300).map(|i| d[i] * (x[i] - b[i] / d[i]).powi(2)).sum::<f64>().sqrt();
    let (start, rate) = (energy(&vec![0.0; 300]), (kappa.sqrt() - 1.0) / (kappa.sqrt() + 1.0));
    let mut checks = 0;
    let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
        assert!(energy(it.x.unwrap()) <= 2.0 * rate.powi(it.number as i32) * start * (1.0 + 1e-10));
        checks += 1;
        ControlFlow::Continue(())
    };
    let mut x = vec![0.0; 300];
    let report =
        Cg::new(Stop::relative(1e-10)).solve_with(&a, &mut Identity, &b, &mut x, &mut monitor).unwrap();
    assert_eq!(checks, report.iterations + 1);
}

#[test]
fn condition_comes_from_the_coefficients() {
    let a = Dense::with_spectrum(&spread(80, 0.5, 5000.0), 1);
    let mut method = Cg::new(Stop::relative(1e-12));
    let report = method.solve(&a, &mut Identity, &random(80, 2), &mut vec![0.0; 80]).unwrap();
    assert!((report.condition.unwrap() / 1e4 - 1.0).abs() < 0.05);
    method.stop.check_every = 2; // coefficients are not read between convergence tests
    let rare = method.solve(&a, &mut Identity, &random(80, 2), &mut vec![0.0; 80]).unwrap();
    assert_eq!((rare.condition, method.eigenvalues()), (None, None));
    method.stop.check_every = 1;
    let _ = method.solve(&a, &mut Identity, &random(80, 2), &mut vec![0.0; 80]).unwrap();
    let [low, high] = method.eigenvalues().unwrap();
    assert!((low / 0.5 - 1.0).abs() < 0.05 && (high / 5e3 - 1.0).abs() < 0.01);
}

#[test]
fn wrong_matrices_have_typed_outcomes() {
    let end = |d: &[f64]| {
        let mut x = vec![0.0; d.len()];
        let report = cg(Stop::default(), &Dense::diagonal(d), &random(d.len(), 1), &mut x);
        assert!(x.iter().all(|x| x.is_finite()) && report.true_residual.is_finite());
        report.outcome
    };
    assert_eq!(end(&[-1.0, -2.0, -3.0]), Outcome::IndefiniteOperator);
    assert_eq!(end(&[1.0, 2.0, 3.0, -4.0, 5.0, -6.0]), Outcome::IndefiniteOperator);
    assert_eq!(end(&[0.0, 0.0]), Outcome::Breakdown);
    assert_eq!(end(&[1.0, 0.0]), Outcome::Breakdown);
    let swap = Dense::from_fn(2, |i, j| f64::from(u8::from(i != j)));
    assert_eq!(cg(Stop::default(), &swap, &[1.0, 0.0], &mut vec![0.0; 2]).outcome, Outcome::Breakdown);
    let turn = Dense::from_fn(2, |i, j| [[0.0, 1.0], [-1.0, 0.0]][i][j]);
    assert_eq!(cg(Stop::default(), &turn, &[1.0, 1.0], &mut vec![0.0; 2]).outcome, Outcome::Breakdown);
    let shear = Dense::from_fn(30, |i, j| {
        if i == j {
            1.0
        } else if j == i + 1 {
            3.0
        } else {
            0.0
        }
    });
    let report = cg(Stop::default(), &shear, &random(30, 4), &mut vec![0.0; 30]);
    assert_ne!(report.outcome, Outcome::Converged);
    assert!(report.true_residual.is_finite());
}

#[test]
fn wrong_preconditioners_have_typed_outcomes() {
    let a = Dense::with_spectrum(&spread(20, 1.0, 50.0), 3);
    let b = random(20, 4);
    let end = |d: Vec<f64>| {
        let mut x = vec![0.0; 20];
        let mut m = Scaling { d, kind: PreconditionerKind::Symmetric };
        let report = Cg::default().solve(&a, &mut m, &b, &mut x).unwrap();
        assert!(x.iter().all(|x| x.is_finite()) && report.true_residual.is_finite());
        report.outcome
    };
    assert_eq!(end(vec![-1.0; 20]), Outcome::IndefinitePreconditioner);
    assert_eq!(end(vec![0.0; 20]), Outcome::Breakdown);
    assert_eq!(end(vec![f64::NAN; 20]), Outcome::NotFinite);
    assert_eq!(end(vec![f64::INFINITY; 20]), Outcome::NotFinite);
    let mut m = Scaling { d: vec![1.0; 20], kind: PreconditionerKind::Linear };
    assert!(matches!(
        Cg::default().solve(&a, &mut m, &b, &mut vec![0.0; 20]),
        Err(Error::Preconditioner {
            method: "Cg",
            needed: PreconditionerKind::Symmetric,
            found: PreconditionerKind::Linear
        })
    ));
}

#[test]
fn tiny_right_hand_sides_are_not_zero() {
    let a = Dense::<f64>::with_spectrum(&spread(10, 1.0, 9.0), 2);
    let tiny = |scale: f64| random(10, 3).iter().map(|v| v * scale).collect::<Vec<_>>();
    let mut x = vec![0.0; 10];
    assert_eq!(cg(Stop::default(), &a, &tiny(1e-120), &mut x).outcome, Outcome::Converged);
    assert!(distance(&x, &a.solve(&tiny(1e-120))) < 1e-6);
    for guess in [0.0, 1e-200, 1.0] {
        let mut x = vec![guess; 10];
        assert_eq!(cg(Stop::default(), &a, &tiny(1e-200), &mut x).outcome, Outcome::Converged);
        assert!(distance(&x, &a.solve(&tiny(1e-200))) < 1e-6, "{guess}");
    }
    assert_eq!(cg(Stop::absolute(1e-10), &a, &tiny(1e-200), &mut x).outcome, Outcome::Converged);
}

#[test]
fn a_preconditioner_that_fails_late_leaves_the_best_iterate() {
    struct Late(usize);
    impl coarsen_core::Preconditioner<Vec<f64>> for Late {
        fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
            self.0 += 1;
            z.copy_from_slice(r);
            if self.0 > 20 {
                z[1] = f64::NAN;
            }
        }
        fn kind(&self) -> PreconditionerKind {
            PreconditionerKind::Symmetric
        }
        fn size(&self) -> Option<usize> {
            None
        }
    }
    let a = Dense::<f64>::with_spectrum(&spread(50, 1.0, 100.0), 2);
    let b = random(50, 2);
    for check_every in [1, 6] {
        let stop = Stop { check_every, ..Stop::default() };
        let mut x = vec![0.0; 50];
        let report = Cg::new(stop).solve(&a, &mut Late(0), &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::NotFinite);
        assert!(report.true_residual < 0.2, "{report}");
        assert!((report.true_residual - residual(&a, &b, &x)).abs() < 1e-14);
    }
}

#[test]
fn impossible_tolerances_stagnate() {
    let a = Dense::<f64>::with_spectrum(&spread(60, 1.0, 1e6), 2);
    for tolerance in [1e-30, 0.0] {
        for check_every in [1, 10] {
            let mut x = vec![0.0; 60];
            let stop = Stop { check_every, ..Stop::relative(tolerance) };
            let report = cg(stop, &a, &random(60, 1), &mut x);
            assert_eq!(report.outcome, Outcome::Stagnated, "{report}");
            assert!(report.true_residual < 1e-9 && report.iterations < 2000, "{report}");
        }
    }
}

#[test]
fn warm_starts_converge_and_monitors_stop() {
    let a = Dense::<f64>::with_spectrum(&spread(60, 1.0, 1e3), 2);
    let b = random(60, 1);
    let mut method = Cg::new(Stop::relative(1e-4));
    let (mut x, mut history) = (vec![0.0; 60], History::default());
    let first = method.solve_with(&a, &mut Identity, &b, &mut x, &mut |it| history.record(it)).unwrap();
    assert_eq!((history.relative.len(), history.relative[0]), (first.iterations + 1, 1.0));
    let second = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
    assert_eq!((second.iterations, second.initial_residual), (0, first.true_residual));
    method.stop_mut().relative = 1e-6;
    let third = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
    assert!(third.iterations > 0 && third.outcome == Outcome::Converged);
    for last in [0, 4] {
        let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
            if it.number == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let report = method.solve_with(&a, &mut Identity, &b, &mut vec![0.0; 60], &mut monitor).unwrap();
        assert_eq!((report.outcome, report.iterations), (Outcome::Stopped, last));
    }
}

#[test]
fn single_precision_reaches_what_it_can() {
    let a = Dense::<f32>::with_spectrum(&spread(60, 1.0, 100.0), 2);
    let b: Vec<f32> = random(60, 1).iter().map(|&v| v as f32).collect();
    let mut x = vec![0.0_f32; 60];
    let report = Cg::default().solve(&a, &mut Identity, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged, "{report}");
    assert!(distance(&x, &a.solve(&b)) < 1e-3);
    let report = Cg::new(Stop::relative(1e-12)).solve(&a, &mut Identity, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Stagnated);
}

/// The operator 2 I on vectors of either precision, as for block matrices.
struct Twice(usize);

impl<T: Real> LinearOperator<Vec<T>> for Twice {
    fn shape(&self) -> (usize, usize) {
        (self.0, self.0)
    }
    fn apply(&self, x: &Vec<T>, y: &mut Vec<T>) {
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = x + x);
    }
}

#[test]
fn user_code_names_no_type() -> Result<(), Error> {
    let (b, mut x) = (vec![1.0; 4], vec![0.0; 4]);
    let report = Cg::new(Stop::relative(1e-8)).solve(&Twice(4), &mut Identity, &b, &mut x)?.converged()?;
    assert_eq!((report.iterations, &x), (1, &vec![0.5; 4]));
    let (b, mut x) = (vec![1.0_f32; 4], vec![0.0; 4]);
    let mut method = Cg::default();
    let _ = method.solve(&Twice(4), &mut Identity, &b, &mut x)?.usable()?;
    assert_eq!(x, [0.5; 4]);
    Ok(())
}

/// A solve ends at the first iterate with √(rᵀM⁻¹r) at most the tolerance times its first value, even if a stiff
/// part has a large residual; the test of ‖r‖ is met much later.
#[test]
fn a_solve_may_end_in_the_norm_of_the_preconditioner() {
    let n = 80;
    let a = Dense::<f64>::with_spectrum(&spread(n, 1.0, 1e6), 3);
    let b = random(n, 5);
    let scaling = || Scaling {
        d: (0..n).map(|i| 1.0 / a.entries[i * n + i]).collect(),
        kind: PreconditionerKind::Symmetric,
    };
    let energy = |x: &Vec<f64>| {
        let (mut r, mut z) = (vec![0.0; n], vec![0.0; n]);
        a.residual(&b, x, &mut r);
        scaling().apply(&r, &mut z);
        r.iter().zip(&z).map(|(r, z)| r * z).sum::<f64>().sqrt()
    };
    let first = energy(&vec![0.0; n]);
    let tolerance = 1e-3;
    let methods: [&mut dyn Krylov<Vec<f64>>; 2] =
        [&mut Cg::new(Stop::relative(0.0)), &mut FlexibleCg::new(Stop::relative(0.0))];
    for method in methods {
        assert!(method.stop_in_preconditioner(Some(tolerance)));
        let mut x = vec![0.0; n];
        let report = method.solve(&a, &mut scaling(), &b, &mut x).unwrap().converged().unwrap();
        assert!(energy(&x) <= 1.0001 * tolerance * first);
        let mut before = vec![0.0; n];
        method.stop_in_preconditioner(None);
        method.stop_mut().max_iterations = report.iterations - 1;
        let _ = method.solve(&a, &mut scaling(), &b, &mut before).unwrap();
        assert!(energy(&before) > tolerance * first, "{} iterations", report.iterations);
        method.stop_in_preconditioner(Some(f64::NAN));
        assert!(matches!(method.solve(&a, &mut scaling(), &b, &mut x), Err(Error::Parameter { .. })));
    }
    assert!(!SingleReductionCg::<Vec<f64>>::default().stop_in_preconditioner(Some(0.5)));
}

/// (r, M⁻¹ r) = 0 at the first residual is no length to compare with, so the solve does not end as converged.
#[test]
fn a_first_norm_of_zero_is_not_convergence() {
    let stop = Stop { check_every: 2, ..Stop::relative(1e-8) };
    let methods: [&mut dyn Krylov<Vec<f64>>; 2] = [&mut Cg::new(stop), &mut FlexibleCg::new(stop)];
    for method in methods {
        assert!(method.stop_in_preconditioner(Some(0.5)));
        let (a, mut zero) =
            (Dense::diagonal(&[1.0, 2.0]), Scaling { d: vec![0.0; 2], kind: PreconditionerKind::Symmetric });
        let report = method.solve(&a, &mut zero, &vec![1.0; 2], &mut vec![0.0; 2]).unwrap();
        assert!(report.outcome != Outcome::Converged && report.true_residual == 1.0, "{report}");
    }
}
