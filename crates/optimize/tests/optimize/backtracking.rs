//! Line searches by backtracking, on lines whose values round.

use coarsen_core::Error;
use coarsen_optimize::{Backtracking, LineSearch, LineSearchFailure, Start, Step};

fn start(value: f64, slope: f64) -> Start<f64> {
    Start {
        value,
        round_off: f64::EPSILON * value.abs(),
        slope,
        first: 1.0,
        least: 1e-18,
        most: f64::INFINITY,
    }
}

fn search(
    mut phi: impl FnMut(f64) -> f64,
    mut dphi: impl FnMut(f64) -> f64,
    start: &Start<f64>,
) -> Result<Step<f64>, LineSearchFailure> {
    Backtracking::default().search(&mut phi, &mut dphi, start)
}

#[test]
fn accepts_the_first_step_that_is_low_enough() {
    let step = search(|a| 1.0 - a, |_| -1.0, &start(1.0, -1.0)).unwrap();
    assert_eq!((step.alpha, step.value), (1.0, 0.0));
}

#[test]
fn steps_stay_below_their_bound() {
    let bounded = Start { most: 0.25, ..start(1.0, -1.0) };
    assert_eq!(search(|a| 1.0 - a, |_| -1.0, &bounded).unwrap().alpha, 0.25);
    let blocked = Start { most: 0.0, ..bounded };
    let failure = search(|a| 1.0 - a, |_| -1.0, &blocked).unwrap_err();
    assert_eq!(failure, LineSearchFailure::Blocked { most: 0.0 });
    let unknown = Start { most: f64::NAN, ..bounded };
    let failure = search(|a| 1.0 - a, |_| -1.0, &unknown).unwrap_err();
    assert!(matches!(failure, LineSearchFailure::Blocked { most } if most.is_nan()), "{failure}");
}

/// φ = 1e6 - 1e-12 α, with a step bound of 1/4. All values round to 1e6, and the slope is constant.
#[test]
fn a_step_at_its_bound_is_accepted() {
    let bounded = Start { most: 0.25, ..start(1e6, -1e-12) };
    let step = search(|a| 1e6 - 1e-12 * a, |_| -1e-12, &bounded).unwrap();
    assert_eq!(step.alpha, 0.25);
}

#[test]
fn a_spent_budget_is_told_from_round_off() {
    let mut few = Backtracking { trials: 3, ..Backtracking::default() };
    let failure = few.search(&mut |a| a, &mut |_| 1.0, &start(0.0, -1.0)).unwrap_err();
    assert!(matches!(failure, LineSearchFailure::Exhausted { evaluations: 3, .. }), "{failure}");
}

#[test]
fn parameters_are_checked() {
    let good = Backtracking::<f64>::default();
    assert!(good.validate().is_ok());
    let bad = [
        Backtracking { armijo: 0.5, ..good },
        Backtracking { armijo: f64::NAN, ..good },
        Backtracking { shrink: [0.0, 0.5], ..good },
        Backtracking { shrink: [0.6, 0.5], ..good },
        Backtracking { shrink: [0.1, 1.0], ..good },
        Backtracking { noise: f64::NAN, ..good },
        Backtracking { trials: 0, ..good },
    ];
    assert!(bad.iter().all(|b| matches!(b.validate(), Err(Error::Parameter { .. }))));
}

#[test]
fn steps_back_from_where_there_is_no_energy() {
    let log = |a: f64| if a < 0.01 { -(1.0 + a).ln() } else { f64::NAN };
    let step = search(log, |_| -1.0, &start(0.0, -1.0)).unwrap();
    assert!(step.alpha < 0.01 && step.value < 0.0);
    let deep = |a: f64| if a < 0.01 { -a } else { f64::NEG_INFINITY };
    let step = search(deep, |_| -1.0, &start(0.0, -1.0)).unwrap();
    assert!(step.alpha < 0.01 && step.value == -step.alpha);
    let nowhere = search(|_| f64::NAN, |_| -1.0, &start(0.0, -1.0)).unwrap_err();
    assert!(matches!(nowhere, LineSearchFailure::NotFinite { .. }));
}

#[test]
fn a_slope_without_a_fall_is_a_failure() {
    let flat = search(|_| 5.0, |_| -1.0, &start(5.0, -1.0)).unwrap_err();
    assert!(matches!(flat, LineSearchFailure::RoundOff { .. }));
    let uphill = search(|a| a, |_| 1.0, &start(0.0, 1.0)).unwrap_err();
    assert_eq!(uphill, LineSearchFailure::Ascent { slope: 1.0 });
}

/// φ = 1e6 + (α − 0.3)² 1e-9. The increase at the first trial is below round-off, and the slope there is
/// steeper than at 0.
#[test]
fn the_slope_judges_cut_steps_too() {
    let phi = |a: f64| 1e6 + 1e-9 * (a - 0.3).powi(2);
    let step = search(phi, |a| 2e-9 * (a - 0.3), &start(1e6, -6e-10)).unwrap();
    assert!(step.alpha > 0.05 && step.alpha < 0.6, "{step:?}");
}

/// φ = (α − 0.3)² 1e-13, rounded to multiples of 1e-12. The slopes find the minimiser if the objective
/// reports its round-off.
#[test]
fn round_off_near_zero_is_not_relative() {
    let rounded = |a: f64| 1e-12 * (1e6 * a).sin().abs();
    let told = Start { round_off: 1e-14, ..start(0.0, -6e-14) };
    let step = search(rounded, |a| 2e-13 * (a - 0.3), &told).unwrap();
    assert!((step.alpha - 0.3).abs() < 1e-12, "{step:?}");
    let untold = search(rounded, |a| 2e-13 * (a - 0.3), &start(0.0, -6e-14));
    assert!(matches!(untold, Err(LineSearchFailure::RoundOff { .. })), "{untold:?}");
}

/// φ = 1e6 + (α − 1)² 1e-12. All values round to 1e6, so the slope decides.
#[test]
fn the_slope_judges_below_round_off() {
    let phi = |a: f64| 1e6 + 1e-12 * (a - 1.0).powi(2);
    assert_eq!(search(phi, |a| 2e-12 * (a - 1.0), &start(1e6, -2e-12)).unwrap().alpha, 1.0);
}
