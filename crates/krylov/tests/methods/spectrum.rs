//! The spectral radius of D⁻¹A.

use std::cell::Cell;

use coarsen_core::{Error, Identity, LinearOperator, PreconditionerKind};
use coarsen_krylov::{SpectralRadius, start_vector};

use crate::common::{Dense, Scaling, random, spread};

fn exact(safety: f64, steps: usize) -> SpectralRadius<Vec<f64>> {
    let mut radius = SpectralRadius::default();
    (radius.safety, radius.steps) = (safety, steps);
    radius
}

#[test]
fn enough_steps_find_it_exactly() {
    let a = Dense::<f64>::with_spectrum(&spread(30, 0.1, 7.0), 3);
    let found = exact(1.0, 30).estimate(&a, &mut Identity, &start_vector(30)).unwrap();
    assert!((found - 7.0).abs() < 1e-5);
    let negative = Dense::<f64>::diagonal(&[1.0, -5.0, 2.0]);
    let found = exact(1.0, 3).estimate(&negative, &mut Identity, &start_vector(3)).unwrap();
    assert!((found - 5.0).abs() < 1e-5);
}

#[test]
fn scaling_by_a_diagonal_is_felt() {
    // D⁻¹A is similar to D^-½ A D^-½, whose spectrum is known by construction.
    let n = 40;
    let core = Dense::<f64>::with_spectrum(&spread(n, 0.5, 3.0), 9);
    let root: Vec<f64> = random(n, 2).iter().map(|v| 10.0_f64.powf(2.0 * v)).collect();
    let a = Dense::<f64>::from_fn(n, |i, j| root[i] * core.entries[i * n + j] * root[j]);
    let mut d =
        Scaling { d: root.iter().map(|r| 1.0 / (r * r)).collect(), kind: PreconditionerKind::Symmetric };
    let found = exact(1.0, n).estimate(&a, &mut d, &start_vector(n)).unwrap();
    assert!((found - 3.0).abs() < 1e-5, "{found}");
}

#[test]
fn ten_steps_and_the_safety_factor_bound_it_closely() {
    for seed in 0..8 {
        let n = 200;
        let a = Dense::<f64>::with_spectrum(&spread(n, 1e-3, 2.0), seed);
        let found = SpectralRadius::default().estimate(&a, &mut Identity, &start_vector(n)).unwrap();
        assert!((2.0..2.2001).contains(&found), "{found}");
    }
}

#[test]
fn matrices_without_a_spectral_radius_are_refused() {
    let a = Dense::<f64>::diagonal(&[1.0, 2.0]);
    let start = start_vector(2);
    let refused = |a: &Dense<f64>, d: f64, radius: &mut SpectralRadius<Vec<f64>>| {
        let mut d = Scaling { d: vec![d; 2], kind: PreconditionerKind::Symmetric };
        assert!(matches!(radius.estimate(a, &mut d, &start), Err(Error::Parameter { .. })));
    };
    refused(&a, 1.0, &mut exact(1.0, 0));
    refused(&a, 1.0, &mut exact(0.9, 5));
    refused(&a, -1.0, &mut exact(1.0, 5));
    refused(&Dense::diagonal(&[0.0, 0.0]), 1.0, &mut exact(1.0, 5));
    refused(&Dense::diagonal(&[1.0, f64::NAN]), 1.0, &mut exact(1.0, 5));
    // D is positive on the start vector, but not on the next vector.
    let steep = Dense::<f64>::diagonal(&[1.0, 1.0, 100.0]);
    let mut d = Scaling { d: vec![1.0, 1.0, -0.1], kind: PreconditionerKind::Symmetric };
    let late = exact(1.0, 5).estimate(&steep, &mut d, &vec![1.0; 3]);
    assert!(matches!(late, Err(Error::Parameter { .. })), "{late:?}");
    let short = exact(1.0, 5).estimate(&a, &mut Identity, &start_vector(3));
    assert!(matches!(short, Err(Error::Shape { what: "the start vector", expected: 2, found: 3 })));
}

#[test]
fn the_start_vector_is_splitmix64_of_the_index() {
    // The first outputs of the generator with seed 0 (Steele, Lea & Flood 2014; reference code of Vigna).
    let outputs =
        [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f, 0xf88b_b8a8_724c_81ec];
    let expected: Vec<f64> = outputs.iter().map(|z| (z >> 11) as f64 / 2.0_f64.powi(52) - 1.0).collect();
    assert_eq!(start_vector::<f64>(4), expected);
    let long = start_vector::<f64>(200_000); // in several leaves
    assert_eq!(long[..4], expected);
    assert_eq!(long[150_000..], start_vector::<f64>(300_000)[150_000..200_000]);
}

/// A diagonal that counts its products.
struct Counted(Vec<f64>, Cell<usize>);

impl LinearOperator<Vec<f64>> for Counted {
    fn shape(&self) -> (usize, usize) {
        (self.0.len(), self.0.len())
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        self.1.set(self.1.get() + 1);
        (0..x.len()).for_each(|i| y[i] = self.0[i] * x[i]);
    }
}

/// The estimate from the usual start vector, and the number of products.
fn counted(d: Vec<f64>, mut radius: SpectralRadius<Vec<f64>>) -> (f64, usize) {
    let a = Counted(d, Cell::new(0));
    let found = radius.estimate(&a, &mut Identity, &start_vector(a.0.len())).unwrap();
    (found, a.1.get())
}

#[test]
fn no_step_follows_one_that_ends_the_process() {
    // A multiple of the identity maps the start vector to a multiple of itself, without round-off: the Krylov
    // space has one dimension.
    for scale in [4.0, 2.0_f64.powi(300), 2.0_f64.powi(-300)] {
        let a = Counted(vec![scale; 16], Cell::new(0));
        let found = exact(1.0, 10).estimate(&a, &mut Identity, &vec![1.0; 16]).unwrap();
        assert_eq!((found, a.1.get()), (scale, 1));
    }
    // Many distinct eigenvalues. `steps` steps suffice if the last steps raise the estimate little; otherwise
    // more steps follow.
    let (_, products) = counted(
        (0..60).map(|i| if i == 0 { 4.0 } else { 1.0 + 1e-3 * f64::from(i) }).collect(),
        exact(1.0, 10),
    );
    assert_eq!(products, 10);
    let hidden = |i: usize| if i == 77 { 3.0 } else { 1.0 + 0.9 * (i as f64 / 20_000.0) };
    let (found, products) = counted((0..20_000).map(hidden).collect(), exact(1.0, 4));
    assert!(products > 4 && products <= 16 && found > 2.0, "{found} in {products}");
}

#[test]
fn a_ceiling_that_is_reached_is_the_result() {
    let below = |ceiling: f64, safety: f64| {
        let mut radius = exact(safety, 10);
        radius.ceiling = ceiling;
        radius
    };
    let spread: Vec<f64> = spread(50, 0.1, 4.0);
    let (free, products) = counted(spread.clone(), exact(1.0, 10));
    assert!((3.9..=4.0).contains(&free) && products == 10);
    // The bound is far below the radius, so the first estimate, after one step, reaches it.
    assert_eq!(counted(spread.clone(), below(0.1, 1.0)), (0.1, 1));
    // The bound is reached only with the safety factor, and before the tenth step.
    let (found, products) = counted(spread.clone(), below(4.0, 1.2));
    assert!(found == 4.0 && products < 10, "{found} in {products}");
    // The bound is never reached: the result is the same as without a bound.
    assert_eq!(counted(spread, below(100.0, 1.0)), (free, 10));
    for no_ceiling in [0.0, -1.0, f64::NAN] {
        let a = Dense::<f64>::diagonal(&[1.0, 2.0]);
        let refused = below(no_ceiling, 1.0).estimate(&a, &mut Identity, &start_vector(2));
        assert!(matches!(refused, Err(Error::Parameter { .. })), "{no_ceiling}: {refused:?}");
    }
}

#[test]
fn a_safety_of_nan_is_refused() {
    let a = Dense::<f64>::diagonal(&[1.0, 2.0]);
    for safety in [f64::NAN, f64::INFINITY, 0.5] {
        let refused = exact(safety, 5).estimate(&a, &mut Identity, &start_vector(2));
        assert!(
            matches!(refused, Err(Error::Parameter { name: "SpectralRadius::safety", .. })),
            "{refused:?}"
        );
    }
}

/// The convergence of the estimate does not depend on the unit of A.
#[test]
fn the_unit_of_a_changes_no_step() {
    let hidden = |i: usize| if i == 77 { 3.0 } else { 1.0 + 0.9 * (i as f64 / 20_000.0) };
    for steps in [3, 4, 6] {
        let in_unit = |unit: f64| counted((0..20_000).map(|i| unit * hidden(i)).collect(), exact(1.0, steps));
        let (found, products) = in_unit(1.0);
        for power in [-20, -3, 5, 40] {
            let unit = 2.0_f64.powi(power);
            assert_eq!(in_unit(unit), (unit * found, products), "{steps} steps, 2^{power}");
        }
    }
}

#[test]
fn a_power_of_two_scales_the_radius() {
    let (a, small) = (Dense::<f64>::with_spectrum(&spread(30, 0.1, 7.0), 3), 2.0_f64.powi(-40));
    let tiny = Dense::from_fn(30, |i, j| small * a.entries[i * 30 + j]);
    let find = |a: &Dense<f64>| exact(1.0, 10).estimate(a, &mut Identity, &start_vector(30)).unwrap();
    assert!((find(&tiny) / (small * find(&a)) - 1.0).abs() < 1e-5);
}

/// A pencil (A, D) of `n` unknowns with a spectrum between 0.1 and 1, except for two of them, whose D is `stiff` and whose
/// eigenvalue is 3 and 0.1. Their share of a start vector of the same size in all rows is stiff^-½.
fn hidden(n: usize, stiff: f64) -> (Vec<f64>, Vec<f64>) {
    let mut spectrum = spread(n, 0.1, 1.0);
    (spectrum[n / 3], spectrum[n / 2]) = (3.0, 0.1);
    let size = |i: usize| if i == n / 3 || i == n / 2 { stiff } else { 1.0 };
    let d: Vec<f64> = (0..n).map(size).collect();
    (spectrum.iter().zip(&d).map(|(t, d)| t * d).collect(), d.iter().map(|d| 1.0 / d).collect())
}

/// With a margin, no radius is larger than the margin times the result, wherever its eigenvector lives. Without one, the
/// estimate settles at the rest of the spectrum.
#[test]
fn a_margin_is_kept() {
    let mut missed = 0;
    for (n, stiff, steps) in [4, 200, 3000]
        .into_iter()
        .flat_map(|n| [1e-8, 1e-3, 1.0, 1e3, 1e8, 1e16].map(|stiff| (n, stiff)))
        .flat_map(|(n, stiff)| [1, 6].map(|steps| (n, stiff, steps)))
    {
        let (a, inverse) = hidden(n, stiff);
        let mut d = Scaling { d: inverse, kind: PreconditionerKind::Symmetric };
        let mut run = |margin: f64| {
            let a = Counted(a.clone(), Cell::new(0));
            let mut radius = exact(1.1, steps);
            radius.margin = margin;
            (radius.estimate(&a, &mut d, &start_vector(n)).unwrap(), a.1.get())
        };
        missed += usize::from(run(f64::INFINITY).0 < 2.0);
        for margin in [1.0, 1.05, 1.1, 1.25, 2.0] {
            let (found, products) = run(margin);
            assert!(margin * found > 3.0, "{n}, {stiff:e}, {steps} steps, {margin}: {found}");
            let most = if steps == 1 { 20.0 * 3.0 } else { 1.2 * 3.0 };
            assert!(
                found < most && products <= 4 * steps + 1,
                "{n}, {stiff:e}, {margin}: {found}, {products}"
            );
        }
    }
    assert!(missed > 4, "{missed}");
    let a = Dense::<f64>::diagonal(&[1.0, 2.0]);
    for margin in [f64::NAN, 0.5] {
        let mut radius = exact(1.1, 5);
        radius.margin = margin;
        let refused = radius.estimate(&a, &mut Identity, &start_vector(2));
        assert!(
            matches!(refused, Err(Error::Parameter { name: "SpectralRadius::margin", .. })),
            "{refused:?}"
        );
    }
}

/// The share of start vectors for which a margin is not kept is small: here none of 300 for random spectra with gaps.
#[test]
fn a_margin_is_kept_for_many_spectra() {
    for seed in 0..300 {
        let n = 60 + 7 * seed as usize;
        let (powers, sizes) = (random(n, seed), random(n, seed + 1000));
        // Few of the eigenvalues are near the largest.
        let a: Vec<f64> = powers.iter().map(|p| p.abs().powi(12)).collect();
        let scale: Vec<f64> = sizes.iter().map(|s| 10.0_f64.powf(6.0 * s)).collect();
        let scaled = Counted(a.iter().zip(&scale).map(|(a, d)| a * d).collect(), Cell::new(0));
        let mut d =
            Scaling { d: scale.iter().map(|d| 1.0 / d).collect(), kind: PreconditionerKind::Symmetric };
        let mut radius = exact(1.1, 6);
        radius.margin = 1.1;
        let found = radius.estimate(&scaled, &mut d, &start_vector(n)).unwrap();
        let largest = a.iter().fold(0.0_f64, |m, a| m.max(*a));
        assert!(1.1 * found > largest && found < 1.25 * largest, "{seed}: {found} of {largest}");
    }
}

/// A known bound within the margin makes the result certain, so no step is added.
#[test]
fn a_bound_within_the_margin_saves_steps() {
    let spectrum = spread(500, 0.01, 1.0);
    let run = |ceiling: f64| {
        let a = Counted(spectrum.clone(), Cell::new(0));
        let mut radius = exact(1.1, 6);
        (radius.margin, radius.ceiling) = (1.25, ceiling);
        (radius.estimate(&a, &mut Identity, &start_vector(500)).unwrap(), a.1.get())
    };
    let ((near, few), (far, many)) = (run(1.3), run(2.0));
    assert!(few < many && few <= 8, "{few}, {many} products");
    assert!(1.25 * near >= 1.0 && near <= 1.3 && 1.25 * far >= 1.0 && far < 1.2, "{near}, {far}");
}

/// More steps than are kept are as many as are kept; p(t) beyond the range of f64 is certain.
#[test]
fn many_steps_are_cut_and_large_polynomials_are_certain() {
    let a = Counted(spread(3000, 0.1, 1.0), Cell::new(0));
    let radius = exact(1.0, 2000).estimate(&a, &mut Identity, &start_vector(3000)).unwrap();
    assert!((radius - 1.0).abs() < 1e-6, "{radius}");
    let near_one: Vec<f64> = (0..200).map(|i| 1.0 + 1e-9 * f64::from(i)).collect();
    for steps in [6, 40, 200] {
        let mut radius = exact(1.1, steps);
        radius.margin = 1.1;
        let a = Counted(near_one.clone(), Cell::new(0));
        let found = radius.estimate(&a, &mut Identity, &start_vector(200)).unwrap();
        assert!((1.0..1.2).contains(&found), "{steps} steps: {found}");
    }
}
