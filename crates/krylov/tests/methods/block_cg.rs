//! Several right-hand sides at once.

use std::ops::ControlFlow;

use coarsen_core::{Error, Identity, LinearOperator, Outcome, PreconditionerKind, Stop, from_fn};
use coarsen_krylov::{BlockCg, Cg};

use crate::common::{Dense, Scaling, distance, random, spread};

fn system(n: usize, high: f64) -> Dense<f64> {
    Dense::with_spectrum(&spread(n, 1.0, high), 5)
}

/// The method with shared directions, and with separate ones.
fn both(stop: Stop<f64>) -> [BlockCg; 2] {
    [true, false].map(|shared| {
        let mut method = BlockCg::new(stop);
        method.shared = shared;
        method
    })
}

fn zeros(n: usize, k: usize) -> Vec<Vec<f64>> {
    vec![vec![0.0; n]; k]
}

#[test]
fn solutions_equal_the_dense_ones() {
    for (n, k) in [(2, 1), (17, 3), (60, 8), (5, 9), (60, 17), (60, 0)] {
        let a = system(n, 1e3);
        let b: Vec<_> = (0..k).map(|j| random(n, 10 + j)).collect();
        let stops = [1, 7].map(|check_every| Stop { check_every, ..Stop::relative(1e-10) });
        for mut method in stops.into_iter().flat_map(both) {
            let mut x: Vec<_> = (0..k).map(|j| random(n, 90 + j)).collect();
            let mut m = Scaling {
                d: (0..n).map(|i| 1.0 + (i % 3) as f64).collect(),
                kind: PreconditionerKind::Symmetric,
            };
            let reports = method.solve(&a, &mut m, &b, &mut x).unwrap();
            assert_eq!(reports.len(), k as usize);
            for ((report, b), x) in reports.iter().zip(&b).zip(&x) {
                assert_eq!(report.outcome, Outcome::Converged, "{n}, {k}: {report}");
                assert!(distance(x, &a.solve(b)) < 1e-7, "{n}, {k}");
            }
        }
    }
}

/// With one column the iterates equal those of conjugate gradients. With several columns, each needs fewer
/// iterations.
#[test]
fn columns_help_each_other() {
    let n = 80;
    let a = Dense::with_spectrum(&spread(n, 1.0, 1e4), 3);
    let b: Vec<_> = (0..8).map(|j| random(n, 10 + j)).collect();
    let iterations = |k: usize| {
        let mut x = zeros(n, k);
        let reports = BlockCg::new(Stop::relative(1e-8)).solve(&a, &mut Identity, &b[..k], &mut x).unwrap();
        reports.into_iter().map(|report| report.converged().unwrap().iterations).max().unwrap()
    };
    let alone = Cg::new(Stop::relative(1e-8)).solve(&a, &mut Identity, &b[0], &mut vec![0.0; n]).unwrap();
    assert!(iterations(1).abs_diff(alone.iterations) <= 1, "{} and {}", iterations(1), alone.iterations);
    assert!(2 * iterations(4) < iterations(1) && iterations(8) < iterations(4));
    for steps in [1, 3, 6] {
        let stop = Stop { max_iterations: steps, ..Stop::relative(1e-14) };
        let (mut x, mut y) = (zeros(n, 1), vec![0.0; n]);
        let ends = BlockCg::new(stop).solve(&a, &mut Identity, &b[..1], &mut x).unwrap();
        let end = Cg::new(stop).solve(&a, &mut Identity, &b[0], &mut y).unwrap();
        assert_eq!((ends[0].outcome, ends[0].iterations), (end.outcome, end.iterations));
        assert!(distance(&x[0], &y) < 1e-10, "{steps}");
    }
}

/// Separate columns have the iterates of conjugate gradients, each with its own count, after any number of steps.
#[test]
fn separate_columns_are_conjugate_gradients() {
    let n = 80;
    let a = Dense::with_spectrum(&spread(n, 1.0, 1e4), 3);
    let mut b: Vec<_> = (0..10).map(|j| random(n, 10 + j)).collect();
    b[4].iter_mut().for_each(|v| *v *= 1e9);
    b[2] = vec![0.0; n];
    a.apply(&a.solve(&b[7]), &mut b[6]); // the guess below solves it
    let m =
        || Scaling { d: (0..n).map(|i| 1.0 + (i % 3) as f64).collect(), kind: PreconditionerKind::Symmetric };
    for max_iterations in [0, 1, 2, 9, 1000] {
        let stop = Stop { max_iterations, ..Stop::relative(1e-8) };
        let [_, mut method] = both(stop);
        let mut x = zeros(n, b.len());
        x[6] = a.solve(&b[6]);
        let guesses = x.clone();
        let reports = method.solve(&a, &mut m(), &b, &mut x).unwrap();
        for (((report, b), x), mut y) in reports.iter().zip(&b).zip(&x).zip(guesses) {
            let alone = Cg::new(stop).solve(&a, &mut m(), b, &mut y).unwrap();
            assert_eq!(report.outcome, alone.outcome);
            assert!(report.iterations.abs_diff(alone.iterations) <= 1, "{report}, {alone}");
            let bound = if max_iterations < 10 { 1e-9 } else { 1e-3 }; // κ times the tolerance, generously
            assert!(*x == y || distance(x, &y) <= bound, "{max_iterations}: {report}, {alone}");
        }
        assert!(max_iterations < 1000 || reports[6].iterations == 0 && reports[0].iterations > 50);
    }
}

/// The error of each column is minimal in the energy norm over the sum of the Krylov spaces. After one step
/// this space is the span of all right-hand sides.
#[test]
fn one_step_is_the_projection_on_all_right_hand_sides() {
    let (n, k) = (12, 3);
    let a = system(n, 50.0);
    let b: Vec<_> = (0..k).map(|j| random(n, 10 + j as u64)).collect();
    let mut x = zeros(n, k);
    let stop = Stop { max_iterations: 1, ..Stop::relative(1e-14) };
    assert_eq!(BlockCg::new(stop).solve(&a, &mut Identity, &b, &mut x).unwrap()[0].iterations, 1);
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    for j in 0..k {
        let ax: Vec<f64> = a.entries.chunks_exact(n).map(|row| dot(row, &x[j])).collect();
        let r: Vec<f64> = b[j].iter().zip(&ax).map(|(b, ax)| b - ax).collect();
        assert!(b.iter().all(|b| dot(b, &r).abs() < 1e-12)); // Galerkin condition
    }
}

/// One block with equal, dependent, nearly dependent and zero right-hand sides, and with exact guesses.
#[test]
fn dependent_columns_are_harmless() {
    let n = 60;
    let a = system(n, 1e5);
    let mut b: Vec<_> = (0..3).map(|j| random(n, 10 + j)).collect();
    b.push(b[0].clone());
    b.push(b[0].iter().zip(&b[1]).map(|(x, y)| 1e-6 * x - 3.0 * y).collect());
    b.push(b[2].iter().zip(random(n, 50)).map(|(x, y)| x + 1e-9 * y).collect());
    b.push(b[1].iter().map(|x| 1e12 * x).collect());
    b.push(vec![0.0; n]);
    b.push(random(n, 60));
    let mut x = zeros(n, b.len());
    x[8] = a.solve(&b[8]);
    let stop = Stop { max_iterations: 2000, ..Stop::relative(1e-9) };
    for (mut method, limit) in both(stop).into_iter().zip([200, 2000]) {
        x[7] = random(n, 70);
        for (j, report) in method.solve(&a, &mut Identity, &b, &mut x).unwrap().iter().enumerate() {
            assert_eq!(report.outcome, Outcome::Converged, "{j}: {report}");
            assert!(report.true_residual <= 1e-9 && report.iterations < limit, "{j}: {report}");
        }
        assert_eq!(x[7], vec![0.0; n]);
        x.iter_mut().for_each(|x| x.fill(1.0));
    }
}

/// The report of each column agrees with its recomputed residual.
#[test]
fn outcomes_are_those_of_each_column() {
    let n = 30;
    let b: Vec<_> = (0..3).map(|j| random(n, 10 + j)).collect();
    let ends_of = |mut method: BlockCg, d: &[f64]| {
        let mut x = zeros(n, 3);
        let reports = method.solve(&Dense::diagonal(d), &mut Identity, &b, &mut x).unwrap();
        assert!(x.iter().flatten().all(|x| x.is_finite()));
        for ((report, b), x) in reports.iter().zip(&b).zip(&x) {
            let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
            let truth = norm(&mut (0..n).map(|i| b[i] - d[i] * x[i])) / norm(&mut b.iter().copied());
            assert!((report.true_residual - truth).abs() <= 1e-12 && truth < 2.0, "{report}: {truth:e}");
        }
        reports.iter().map(|report| report.outcome).collect::<Vec<_>>()
    };
    let ends = |d: &[f64], stop: Stop<f64>| {
        let [shared, separate] = both(stop).map(|method| ends_of(method, d));
        assert!(stop.max_iterations > 2 && d[4] == 0.0 || shared == separate, "{shared:?}, {separate:?}");
        [shared, separate].concat()
    };
    let mut d = spread(n, 1.0, 100.0);
    let few = Stop { max_iterations: 2, ..Stop::relative(1e-10) };
    assert_eq!(ends(&d, few), [Outcome::IterationLimit; 6]);
    assert_eq!(ends(&d, Stop { max_iterations: 0, ..few }), [Outcome::IterationLimit; 6]);
    d[4] = -3.0;
    assert_eq!(ends(&d, Stop::relative(1e-10)), [Outcome::IndefiniteOperator; 6]);
    d[4] = 0.0; // a component of b outside the range of A
    let singular = ends(&d, Stop::relative(1e-10));
    assert!(
        singular.iter().all(|end| matches!(end, Outcome::Breakdown | Outcome::Stagnated | Outcome::Diverged)),
        "{singular:?}"
    );
    d[4] = f64::NAN;
    for mut method in both(Stop::default()) {
        let mut x = zeros(n, 3);
        let reports = method.solve(&Dense::diagonal(&d), &mut Identity, &b, &mut x).unwrap();
        assert!(reports.iter().all(|report| report.outcome == Outcome::NotFinite));
        assert!(x.iter().flatten().all(|x| x.is_finite()));
    }
}

#[test]
fn wrong_sizes_are_refused_and_a_monitor_may_stop() {
    let n = 20;
    let a = system(n, 1e3);
    let b: Vec<_> = (0..2).map(|j| random(n, 10 + j)).collect();
    let mut method = BlockCg::new(Stop::relative(1e-10));
    let mut refused = |b: &[Vec<f64>], k: usize, kind| {
        let mut m = Scaling { d: vec![1.0; n], kind };
        method.solve(&a, &mut m, b, &mut zeros(n, k)).unwrap_err()
    };
    assert!(matches!(
        refused(&b, 3, PreconditionerKind::Symmetric),
        Error::Shape { expected: 2, found: 3, .. }
    ));
    assert!(matches!(refused(&b, 2, PreconditionerKind::Linear), Error::Preconditioner { .. }));
    let mut bad = b.clone();
    bad[1][4] = f64::NAN;
    assert_eq!(refused(&bad, 2, PreconditionerKind::Symmetric), Error::NotFinite { what: "b", index: 4 });
    bad[1] = vec![1e-200; n];
    assert!(matches!(refused(&bad, 2, PreconditionerKind::Symmetric), Error::Range { .. }));
    for mut method in both(Stop::relative(1e-10)) {
        let mut seen = 0;
        let mut observe = |relative: &[f64]| {
            assert_eq!(relative.len(), 2);
            seen += 1;
            if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let reports = method.solve_with(&a, &mut Identity, &b, &mut zeros(n, 2), &mut observe).unwrap();
        assert!(reports.iter().all(|report| (report.outcome, report.iterations) == (Outcome::Stopped, 3)));
    }
}

/// Also where a column would start a second run, because its recomputed residual is above the tolerance.
#[test]
fn nothing_follows_the_check_that_stops() {
    let n = 80;
    let (kinds, others) = ([1.1, 3.3, 5.7], spread(n, 1.0, 1e4));
    let a =
        Dense::diagonal(&(0..n).map(|i| if i < 40 { kinds[i % 3] } else { others[i] }).collect::<Vec<_>>());
    let easy: Vec<f64> =
        random(n, 1).into_iter().enumerate().map(|(i, v)| if i < 40 { v } else { 0.0 }).collect();
    let b = [easy, random(n, 2)];
    for (k, last) in [(1, 1), (2, 30)] {
        for mut method in both(Stop::relative(1e-17)) {
            let (mut checks, mut ended) = (0, false);
            let mut observe = |relative: &[f64]| {
                assert!(!ended, "a check after the one that stops");
                checks += 1;
                ended = checks >= last && relative[0] <= f64::EPSILON;
                if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let reports =
                method.solve_with(&a, &mut Identity, &b[..k], &mut zeros(n, k), &mut observe).unwrap();
            assert!(reports.iter().all(|report| report.outcome == Outcome::Stopped), "{reports:?}");
            assert!(ended);
        }
    }
}

/// M = 0 leaves no directions: a breakdown, and x is as it was.
#[test]
fn a_preconditioner_of_zeros_breaks_down() {
    let mut zero = Scaling { d: vec![0.0; 3], kind: PreconditionerKind::Symmetric };
    for (k, shared) in [(1, true), (2, true), (1, false), (2, false)] {
        let mut x = zeros(3, k);
        let b: Vec<_> = (0..k as u64).map(|j| random(3, j)).collect();
        let mut method = BlockCg::default();
        method.shared = shared;
        let reports = method.solve(&system(3, 10.0), &mut zero, &b, &mut x).unwrap();
        assert!(reports.iter().all(|report| report.outcome == Outcome::Breakdown), "{reports:?}");
        assert_eq!(x, zeros(3, k));
    }
}

/// A solve that ends with NaN does not affect later solves, which reuse its vectors.
#[test]
fn a_solve_that_failed_does_not_spoil_the_next() {
    let n = 20;
    let (a, b) = (system(n, 10.0), vec![random(n, 1), random(n, 2)]);
    let broken = from_fn(n, |_: &Vec<f64>, y: &mut Vec<f64>| y.fill(f64::NAN));
    for mut method in both(Stop::relative(1e-8)) {
        let mut x = zeros(n, 2);
        let residual_breaks = method.solve(&broken, &mut Identity, &b, &mut x);
        assert!(
            residual_breaks.is_err()
                || residual_breaks.unwrap().iter().all(|r| r.outcome != Outcome::Converged)
        );
        let product_breaks = Half { a: &a };
        for report in method.solve(&product_breaks, &mut Identity, &b, &mut zeros(n, 2)).unwrap() {
            assert_eq!(report.outcome, Outcome::NotFinite);
        }
        for report in method.solve(&a, &mut Identity, &b, &mut zeros(n, 2)).unwrap() {
            assert_eq!(report.outcome, Outcome::Converged);
        }
    }
}

/// An operator whose products are NaN and whose residuals are correct.
struct Half<'a> {
    a: &'a Dense<f64>,
}

impl LinearOperator<Vec<f64>> for Half<'_> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }
    fn apply(&self, _: &Vec<f64>, y: &mut Vec<f64>) {
        y.fill(f64::NAN);
    }
    fn residual(&self, b: &Vec<f64>, x: &Vec<f64>, r: &mut Vec<f64>) {
        self.a.residual(b, x, r);
    }
}
