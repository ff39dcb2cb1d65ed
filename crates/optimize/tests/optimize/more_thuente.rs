//! The six test functions of the authors with their starting points: Moré & Thuente 1994, §5, Tables I to VI.

use coarsen_core::Error;
use coarsen_optimize::{LineSearch, LineSearchFailure, MoreThuente, Start, Step};

/// Searches along φ and φ′, which are one function, and returns the points of all evaluations too.
fn search(
    mut rule: MoreThuente<f64>,
    f: impl Fn(f64) -> [f64; 2],
    start: &Start<f64>,
) -> (Result<Step<f64>, LineSearchFailure>, Vec<f64>) {
    let mut points = Vec::new();
    let mut phi = |a: f64| {
        points.push(a);
        f(a)[0]
    };
    (rule.search(&mut phi, &mut |a| f(a)[1], start), points)
}

/// (5.1) with β = 2.
fn concave(a: f64) -> [f64; 2] {
    let d = a * a + 2.0;
    [-a / d, (a * a - 2.0) / (d * d)]
}

/// (5.2) with β = 0.004.
fn quintic(a: f64) -> [f64; 2] {
    let t = a + 0.004;
    [t.powi(5) - 2.0 * t.powi(4), 5.0 * t.powi(4) - 8.0 * t.powi(3)]
}

/// (5.3) with β = 0.01 and l = 39.
fn oscillating(a: f64) -> [f64; 2] {
    let (beta, l) = (0.01, 39.0);
    let half_turns = std::f64::consts::PI * l / 2.0;
    let phi0 = if a <= 1.0 - beta {
        [1.0 - a, -1.0]
    } else if a >= 1.0 + beta {
        [a - 1.0, 1.0]
    } else {
        [(a - 1.0).powi(2) / (2.0 * beta) + beta / 2.0, (a - 1.0) / beta]
    };
    let wave = (1.0 - beta) / half_turns;
    [phi0[0] + wave * (half_turns * a).sin(), phi0[1] + (1.0 - beta) * (half_turns * a).cos()]
}

/// (5.4) with β₁ and β₂: Yanai, Ozawa & Kaneko 1981.
fn two_scales(a: f64, b1: f64, b2: f64) -> [f64; 2] {
    let gamma = |b: f64| (1.0 + b * b).sqrt() - b;
    let (r1, r2) = (((1.0 - a).powi(2) + b2 * b2).sqrt(), (a * a + b1 * b1).sqrt());
    [gamma(b1) * r1 + gamma(b2) * r2, -gamma(b1) * (1.0 - a) / r1 + gamma(b2) * a / r2]
}

/// Returns the steps found from the first trials 1e-3, 0.1, 10 and 1000, and the numbers of trials.
fn table(f: fn(f64) -> [f64; 2], decrease: f64, curvature: f64) -> [(f64, usize); 4] {
    let rule = MoreThuente { decrease, curvature, ..MoreThuente::default() };
    [1e-3, 0.1, 10.0, 1e3].map(|first| {
        let [value, slope] = f(0.0);
        let start = Start {
            value,
            round_off: f64::EPSILON * value.abs(),
            slope,
            first,
            least: 0.0,
            most: f64::INFINITY,
        };
        let (found, points) = search(rule, f, &start);
        let step = found.unwrap();
        let [at, slope_at] = f(step.alpha);
        assert!(at <= value + decrease * step.alpha * slope, "sufficient decrease from {first}");
        assert!(slope_at.abs() <= -curvature * slope, "curvature from {first}");
        (step.alpha, points.len())
    })
}

/// Checks agreement with the two digits that the tables print.
fn agrees(found: [(f64, usize); 4], steps: [f64; 4], trials: [usize; 4]) {
    for k in 0..4 {
        assert!((found[k].0 - steps[k]).abs() <= 0.05 * steps[k], "{found:?}, expected {steps:?}");
    }
    assert_eq!(found.map(|f| f.1), trials, "{found:?}");
}

#[test]
fn function_1_takes_the_steps_of_the_paper() {
    agrees(table(concave, 1e-3, 0.1), [1.4, 1.4, 10.0, 37.0], [6, 3, 1, 4]);
}

#[test]
fn function_2_takes_the_steps_of_the_paper() {
    agrees(table(quintic, 0.1, 0.1), [1.6; 4], [12, 8, 8, 11]);
}

#[test]
fn function_3_takes_the_steps_of_the_paper() {
    agrees(table(oscillating, 0.1, 0.1), [1.0; 4], [12, 12, 10, 13]);
}

#[test]
fn function_4_takes_the_steps_of_the_paper() {
    agrees(table(|a| two_scales(a, 1e-3, 1e-3), 1e-3, 1e-3), [0.085, 0.1, 0.35, 0.83], [4, 1, 3, 4]);
}

#[test]
fn function_5_takes_the_steps_of_the_paper() {
    agrees(table(|a| two_scales(a, 1e-2, 1e-3), 1e-3, 1e-3), [0.075, 0.078, 0.073, 0.076], [6, 3, 7, 8]);
}

#[test]
fn function_6_takes_the_steps_of_the_paper() {
    agrees(table(|a| two_scales(a, 1e-3, 1e-2), 1e-3, 1e-3), [0.93, 0.93, 0.92, 0.92], [13, 11, 8, 11]);
}

#[test]
fn a_line_that_falls_for_ever_is_followed_to_the_bound() {
    let f = |a: f64| [-a, -1.0];
    let start = Start { value: 0.0, round_off: 0.0, slope: -1.0, first: 1.0, least: 0.0, most: 1e3 };
    assert_eq!(search(MoreThuente::default(), f, &start).0.unwrap().alpha, 1e3);
    let endless = Start { most: f64::INFINITY, ..start };
    let found = search(MoreThuente { trials: 5, ..MoreThuente::default() }, f, &endless).0.unwrap();
    assert!(found.alpha > 100.0); // the lowest trial
}

#[test]
fn parameters_are_checked() {
    let good = MoreThuente::<f64>::default();
    assert!(good.validate().is_ok() && MoreThuente::<f64>::tight().validate().is_ok());
    let bad = [
        MoreThuente { decrease: 0.0, ..good },
        MoreThuente { decrease: 0.2, curvature: 0.1, ..good },
        MoreThuente { curvature: f64::NAN, ..good },
        MoreThuente { width: -1.0, ..good },
        MoreThuente { noise: 0.5, ..good },
        MoreThuente { trials: 0, ..good },
    ];
    assert!(bad.iter().all(|b| matches!(b.validate(), Err(Error::Parameter { .. }))));
}

#[test]
fn a_bound_of_nan_blocks_the_search() {
    let start = Start { value: 0.0, round_off: 0.0, slope: -1.0, first: 1.0, least: 0.0, most: f64::NAN };
    let (found, points) = search(MoreThuente::default(), |a| [-a, -1.0], &start);
    let failure = found.unwrap_err();
    assert!(matches!(failure, LineSearchFailure::Blocked { most } if most.is_nan()), "{failure}");
    assert!(points.is_empty());
}

/// φ rises at the first trial, and the limit on trials is reached inside the bracket.
#[test]
fn a_spent_budget_is_told_from_round_off() {
    let start =
        Start { value: 0.0, round_off: 0.0, slope: -1.0, first: 1.0, least: 0.0, most: f64::INFINITY };
    let f = |a: f64| [a, 1.0];
    let (found, points) = search(MoreThuente { trials: 3, ..MoreThuente::default() }, f, &start);
    let few = found.unwrap_err();
    assert!(matches!(few, LineSearchFailure::Exhausted { evaluations: 3, .. }), "{few}");
    assert_eq!(points.len(), 3);
    let coarse = Start { least: 1e-3, ..start };
    let near = search(MoreThuente::default(), f, &coarse).0.unwrap_err();
    assert!(matches!(near, LineSearchFailure::RoundOff { .. }), "{near}");
}

/// No point is evaluated twice, and no trial is beyond a point without a finite value.
#[test]
fn a_wall_is_not_run_into_again() {
    for edge in [0.3, 2.0, 7.7] {
        let f = |a: f64| if a < edge { [-a, -1.0] } else { [f64::INFINITY; 2] };
        let start =
            Start { value: 0.0, round_off: 0.0, slope: -1.0, first: 1.0, least: 1e-12, most: f64::INFINITY };
        let (found, points) = search(MoreThuente::default(), f, &start);
        let step = found.unwrap();
        assert!(step.alpha < edge && step.alpha > 0.7 * edge, "{step:?}");
        let mut wall = f64::INFINITY;
        for (k, &point) in points.iter().enumerate() {
            assert!(point < wall && !points[..k].contains(&point), "{points:?}");
            wall = if point < edge { wall } else { point };
        }
    }
}

#[test]
fn points_without_an_energy_bound_the_search() {
    let f = |a: f64| if a < 0.3 { [-a, -1.0] } else { [f64::NAN; 2] };
    let start =
        Start { value: 0.0, round_off: 0.0, slope: -1.0, first: 1.0, least: 1e-12, most: f64::INFINITY };
    let step = search(MoreThuente::default(), f, &start).0.unwrap();
    assert!(step.alpha > 0.2 && step.alpha < 0.3);
}

/// No slope of φ = |α − 1| is small enough, so the width of the interval ends the search.
#[test]
fn a_wide_interval_is_given_up_early() {
    let trials = |width: f64| {
        let f = |a: f64| [(a - 1.0).abs(), if a < 1.0 { -1.0 } else { 1.0 }];
        let start =
            Start { value: 1.0, round_off: 0.0, slope: -1.0, first: 3.0, least: 0.0, most: f64::INFINITY };
        let (found, points) = search(MoreThuente { width, ..MoreThuente::default() }, f, &start);
        let step = found.unwrap();
        assert!((step.alpha - 1.0).abs() <= width * 3.0, "{step:?}");
        points.len()
    };
    assert_eq!([0.9, 0.5, 0.1, 1e-2, 1e-3, 1e-6].map(trials), [3, 4, 6, 8, 10, 16]);
}

#[test]
fn a_tight_search_ends_closer_than_a_default_one() {
    let residual = |rule| {
        let start =
            Start { value: 1.0, round_off: 0.0, slope: -2.0, first: 0.5, least: 0.0, most: f64::INFINITY };
        let step = search(rule, |a| [(a - 1.0).powi(2), 2.0 * (a - 1.0)], &start).0.unwrap();
        (step.alpha - 1.0).abs()
    };
    assert_eq!(residual(MoreThuente::default()), 0.5); // |φ′| = 0.5 |φ′(0)|
    assert!(residual(MoreThuente::tight()) <= 0.1);
}
