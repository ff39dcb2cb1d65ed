//! Conjugate gradients with residual replacement.

use std::cell::Cell;

use coarsen_core::{Error, Identity, LinearOperator, Outcome, Report, Stop};
use coarsen_krylov::Cg;

use crate::common::{Dense, random, spread};

type Numbers = Vec<f64>;

/// A dense matrix whose products have a relative error of `error` in each entry. Its residuals are exact, and
/// it counts them.
struct Inexact {
    a: Dense<f64>,
    wrong: Dense<f64>,
    residuals: Cell<usize>,
}

impl Inexact {
    fn new(n: usize, condition: f64, error: f64) -> Self {
        let a = Dense::with_spectrum(&spread(n, 1.0, condition), 9);
        let noise = random(n * n, 5);
        let entry =
            |i: usize, j: usize| a.entries[i * n + j] * (1.0 + error * noise[i.min(j) * n + i.max(j)]);
        let wrong = Dense::from_fn(n, entry);
        Self { a, wrong, residuals: Cell::new(0) }
    }

    /// Solves the system and also returns the number of residuals that were computed.
    fn solve(&self, replace: Option<f64>, tolerance: f64) -> (Report<f64>, usize) {
        let n = self.a.n;
        let mut method = Cg::new(Stop::relative(tolerance));
        method.replace_residual = replace;
        let before = self.residuals.get();
        let report = method.solve(self, &mut Identity, &random(n, 1), &mut vec![0.0; n]).unwrap();
        (report, self.residuals.get() - before)
    }
}

impl LinearOperator<Numbers> for Inexact {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, x: &Numbers, y: &mut Numbers) {
        self.wrong.apply(x, y);
    }

    fn residual(&self, b: &Numbers, x: &Numbers, r: &mut Numbers) {
        self.residuals.set(self.residuals.get() + 1);
        self.a.residual(b, x, r);
    }
}

/// If the recurrence is accurate, the direction is kept. Dropping it would cost a fifth to a half more
/// iterations.
#[test]
fn a_residual_that_agrees_keeps_the_direction() {
    let exact = Inexact::new(80, 100.0, 0.0);
    let (plain, two) = exact.solve(None, 1e-10);
    assert_eq!((plain.outcome, two), (Outcome::Converged, 2)); // at the start and at the end
    for share in [0.5, 0.1, 1e-2, 1e-4] {
        let (replaced, residuals) = exact.solve(Some(share), 1e-10);
        assert_eq!(replaced.outcome, Outcome::Converged, "{share}: {replaced}");
        assert!(
            replaced.iterations <= plain.iterations + plain.iterations / 12,
            "{share}: {replaced}, but {plain}"
        );
        // One residual per decrease by the factor `share`, until the total decrease is 1e-10.
        let most = 2 + (1e-10_f64.ln() / share.ln()).floor() as usize;
        assert!((most / 2..=most).contains(&residuals), "{share}: {residuals} residuals, {most} at most");
    }
}

/// If products are rounded, the recurrence converges to a wrong residual and must restart. With replacement
/// it continues.
#[test]
fn replacement_saves_the_runs_that_rounding_costs() {
    let rounded = Inexact::new(80, 100.0, 1e-5);
    let (plain, residuals) = rounded.solve(None, 1e-10);
    assert!(residuals > 2, "{plain}");
    for share in [0.5, 0.1, 1e-2, 1e-4] {
        let (replaced, _) = rounded.solve(Some(share), 1e-10);
        assert_eq!(replaced.outcome, Outcome::Converged, "{share}: {replaced}");
        assert!(replaced.true_residual <= 1e-10, "{share}: {replaced}");
        assert!(5 * replaced.iterations < 4 * plain.iterations, "{share}: {replaced}, but {plain}");
    }
}

/// If the recomputed residual differs much from the recurrence, the direction is no longer conjugate to it
/// and is dropped.
#[test]
fn a_residual_astray_drops_the_direction() {
    for (error, share) in [(1e-3, 1e-4), (0.02, 1e-2)] {
        let (replaced, _) = Inexact::new(80, 30.0, error).solve(Some(share), 1e-10);
        assert_eq!(replaced.outcome, Outcome::Converged, "{error}: {replaced}");
        assert!(replaced.iterations < 150, "{error}: {replaced}");
    }
}

/// If the residual of the recurrence has decreased but the recomputed residual has not halved, the run ends,
/// but not the solve.
#[test]
fn a_false_decrease_of_the_residual_restarts_the_run() {
    let hopeless = Inexact::new(40, 1e4, 0.5);
    let (report, _) = hopeless.solve(Some(0.1), 1e-10);
    assert!(report.outcome != Outcome::Converged && report.iterations < 5000, "{report}");
    assert!(report.true_residual <= 1.0, "{report}");
}

#[test]
fn shares_outside_their_range_are_refused() {
    let a = Dense::<f64>::diagonal(&[1.0, 2.0]);
    for share in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
        let mut method = Cg::new(Stop::default());
        method.replace_residual = Some(share);
        let error = method.solve(&a, &mut Identity, &vec![1.0; 2], &mut vec![0.0; 2]).unwrap_err();
        assert!(matches!(error, Error::Parameter { name: "Cg::replace_residual", .. }), "{share}: {error}");
    }
}
