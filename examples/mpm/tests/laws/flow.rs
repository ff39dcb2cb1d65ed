//! Plastic flow.

use coarsen::elastic::{Lame, Svd};
use coarsen_core::SplitMix64;
use mpm::particles::{IDENTITY, Matrix, mul};
use mpm::plasticity::Plasticity;

fn random(size: f64, seed: u64) -> impl Iterator<Item = Matrix> {
    let mut random = SplitMix64::new(seed);
    std::iter::repeat_with(move || {
        std::array::from_fn(|i| std::array::from_fn(|j| IDENTITY[i][j] + size * random.number()))
    })
    .take(200)
}

fn determinant(f: &Matrix) -> f64 {
    Svd::of(f).sigma.iter().product()
}

/// The size of the deviator of the Hencky strain.
fn deviator(f: &Matrix) -> f64 {
    let strain = Svd::of(f).sigma.map(f64::ln);
    let mean = strain.iter().sum::<f64>() / 3.0;
    strain.iter().map(|e| (e - mean).powi(2)).sum::<f64>().sqrt()
}

/// Flow ends on the yield surface, keeps the volume and the rotation, and does not flow again.
#[test]
fn von_mises_returns_to_the_yield_surface() {
    let lame = Lame::new(1e6, 0.3);
    let rule = Plasticity::VonMises { yield_stress: 2e4 };
    let most = (2.0_f64 / 3.0).sqrt() * 2e4 / (2.0 * lame.mu);
    let mut flowed = 0;
    for f in random(0.02, 1).chain(random(0.2, 2)) {
        let after = rule.project(lame, f);
        if deviator(&f) <= most {
            assert_eq!(after, f);
            continue;
        }
        flowed += 1;
        assert!((deviator(&after) / most - 1.0).abs() < 1e-9);
        assert!((determinant(&after) / determinant(&f) - 1.0).abs() < 1e-12);
        // F_after F⁻¹ is symmetric in the basis of U: the flow turns nothing.
        let (u, own) = (Svd::of(&f), Svd::of(&after));
        let rotation = |s: &Svd| mul(&s.u, &std::array::from_fn(|i| std::array::from_fn(|j| s.v[j][i])));
        let (a, b) = (rotation(&u), rotation(&own));
        assert!(a.as_flattened().iter().zip(b.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-9));
        let again = rule.project(lame, after);
        assert!(again.as_flattened().iter().zip(after.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    assert!((50..390).contains(&flowed), "{flowed}");
}

#[test]
fn granular_stretches_are_clamped() {
    for f in random(0.2, 3) {
        let after = Svd::of(&Plasticity::GRANULAR.project(Lame::new(1e5, 0.3), f)).sigma;
        let before = Svd::of(&f).sigma;
        for (after, before) in after.iter().zip(before) {
            assert!((after - before.clamp(0.99, 1.001)).abs() < 1e-12, "{after} {before}");
        }
    }
    assert_eq!(Plasticity::GRANULAR.project(Lame::new(1e5, 0.3), IDENTITY), IDENTITY);
    assert_eq!(Plasticity::Elastic.project(Lame::new(1e5, 0.3), [[2.0; 3]; 3]), [[2.0; 3]; 3]);
}
