//! The spectral radius of D⁻¹A.

use coarsen_core::{Class, Error, Identity};
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
    let mut d = Scaling { d: root.iter().map(|r| 1.0 / (r * r)).collect(), class: Class::Symmetric };
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
fn what_has_no_radius_is_refused() {
    let a = Dense::<f64>::diagonal(&[1.0, 2.0]);
    let start = start_vector(2);
    let refused = |a: &Dense<f64>, d: f64, radius: &mut SpectralRadius<Vec<f64>>| {
        let mut d = Scaling { d: vec![d; 2], class: Class::Symmetric };
        assert!(matches!(radius.estimate(a, &mut d, &start), Err(Error::Parameter { .. })));
    };
    refused(&a, 1.0, &mut exact(1.0, 0));
    refused(&a, 1.0, &mut exact(0.9, 5));
    refused(&a, -1.0, &mut exact(1.0, 5));
    refused(&Dense::diagonal(&[0.0, 0.0]), 1.0, &mut exact(1.0, 5));
    refused(&Dense::diagonal(&[1.0, f64::NAN]), 1.0, &mut exact(1.0, 5));
    // D is positive on the start vector, but not on the next one.
    let steep = Dense::<f64>::diagonal(&[1.0, 1.0, 100.0]);
    let mut d = Scaling { d: vec![1.0, 1.0, -0.1], class: Class::Symmetric };
    let late = exact(1.0, 5).estimate(&steep, &mut d, &vec![1.0; 3]);
    assert!(matches!(late, Err(Error::Parameter { .. })), "{late:?}");
    let short = exact(1.0, 5).estimate(&a, &mut Identity, &start_vector(3));
    assert!(matches!(short, Err(Error::Shape { what: "the start vector", expected: 2, found: 3 })));
}
