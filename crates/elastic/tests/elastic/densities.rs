//! Energy densities: derivatives, isotropy, magnitudes, and values by hand.

use coarsen_core::SplitMix64;
use coarsen_elastic::{
    Arap, CoRotational, Density, Energy, FixedCoRotated, Lame, NeoHookean, StVenantKirchhoff,
    StableNeoHookean,
};

use super::matrices::{Matrix, ONE, determinant, mul, square};

/// Test deformations: near rest, stretched, sheared, inverted.
fn deformations() -> Vec<Matrix> {
    let mut random = SplitMix64::new(3);
    let mut any = |size: f64| -> Matrix { ONE.map(|row| row.map(|one| one + 2.0 * size * random.number())) };
    let mut all: Vec<_> =
        [0.01, 0.3, 1.0].iter().flat_map(|&s| (0..30).map(move |_| s)).map(&mut any).collect();
    all.push([[1.5, 0.0, 0.0], [0.0, 1.5, 0.0], [0.0, 0.0, 0.7]]); // two equal stretches
    all
}

/// Checks P against differences of ψ, and the eigensystem against differences of P.
fn check(density: &impl Density) {
    let material = Lame::new(1.0, 0.4);
    let h = 1e-5;
    for f in deformations() {
        if !density.inverts() && determinant(&f) < 0.1 {
            continue;
        }
        let step = |p: usize, q: usize, h: f64| {
            let mut f = f;
            f[p][q] += h;
            f
        };
        let stress = density.stress(material, &f);
        let modes = density.modes(material, &f);
        for (p, q) in (0..9).map(|pq| (pq / 3, pq % 3)) {
            let energy = |h: f64| density.energy(material, &step(p, q, h)).value;
            let slope = (8.0 * (energy(h) - energy(-h)) - (energy(2.0 * h) - energy(-2.0 * h))) / (12.0 * h);
            assert!((slope - stress[p][q]).abs() < 1e-8 * square(&stress).sqrt().max(1.0), "{f:?}");
            let [ahead, behind] = [h, -h].map(|h| density.stress(material, &step(p, q, h)));
            for (r, s) in (0..9).map(|rs| (rs / 3, rs % 3)) {
                let measured = (ahead[r][s] - behind[r][s]) / (2.0 * h);
                let sum = |k: usize| modes.values[k] * modes.matrices[k][p][q] * modes.matrices[k][r][s];
                let given: f64 = (0..9).map(sum).sum();
                let size = modes.values.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
                assert!((measured - given).abs() < 1e-6 * size, "{p}{q}{r}{s}: {measured} {given} {f:?}");
            }
        }
    }
}

/// Checks ψ(Q F R) = ψ(F) for rotations Q and R, and ψ(I) = 0.
fn check_isotropy(density: &impl Density) {
    let material = Lame::new(1.0, 0.4);
    let (s, c) = 0.7_f64.sin_cos();
    let turn = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]];
    for f in deformations() {
        if !density.inverts() && determinant(&f) <= 0.0 {
            continue;
        }
        let [before, after] = [f, mul(&turn, &mul(&f, &turn))].map(|f| density.energy(material, &f).value);
        assert!((before - after).abs() < 1e-12 * before.abs().max(1.0));
    }
    assert_eq!(density.energy(material, &ONE).value, 0.0);
    let stress = density.stress(material, &turn);
    assert!(square(&stress).sqrt() < 1e-14, "{stress:?}");
}

/// Checks as [`check_change`], and that the magnitude of ψ is 0 at rest.
fn check_magnitude(density: &impl Density) {
    check_change(density);
    let energy = density.energy(Lame::new(1.0, 0.4), &ONE);
    assert_eq!(energy, Energy { value: 0.0, magnitude: 0.0 });
}

/// Entries of F that change by a relative h change ψ by a few h times its magnitude, also with λ < 0.
fn check_change(density: &impl Density) {
    let h = 1e-7;
    let mut random = SplitMix64::new(4);
    let materials = [0.4, -0.5].map(|poisson| Lame::new(1.0, poisson));
    for material in materials.into_iter().filter(|&material| density.is_bounded(material)) {
        for f in deformations() {
            if !density.inverts() && determinant(&f) < 0.1 {
                continue;
            }
            let near = f.map(|row| row.map(|x| if random.number() > 0.0 { x + h * x } else { x - h * x }));
            let [one, other] = [f, near].map(|f| density.energy(material, &f));
            let change = (one.value - other.value).abs();
            assert!(change < 4.0 * h * one.magnitude, "{change:e} {:e} {f:?}", one.magnitude);
        }
    }
}

#[test]
fn derivatives_are_those_of_the_energy() {
    check(&Arap);
    check(&CoRotational);
    check(&FixedCoRotated);
    check(&StVenantKirchhoff);
    check(&StableNeoHookean);
    check(&NeoHookean);
}

#[test]
fn rotations_do_not_change_the_energy() {
    check_isotropy(&Arap);
    check_isotropy(&CoRotational);
    check_isotropy(&FixedCoRotated);
    check_isotropy(&StVenantKirchhoff);
    check_isotropy(&StableNeoHookean);
    check_isotropy(&NeoHookean);
}

#[test]
fn magnitudes_bound_the_effect_of_rounding() {
    check_magnitude(&Arap);
    check_magnitude(&CoRotational);
    check_magnitude(&FixedCoRotated);
    check_magnitude(&StVenantKirchhoff);
    check_change(&StableNeoHookean);
    check_change(&NeoHookean);
}

/// diag(x, 1, 1).
fn along_x(x: f64) -> Matrix {
    [[x, 0.0, 0.0], ONE[1], ONE[2]]
}

/// Small strains obey Hooke's law: a stretch e along x gives the stress (λ + 2 μ) e in x and λ e in y, z.
#[test]
fn small_strains_are_linear() {
    fn check(density: &impl Density, e: f64, tolerance: f64) {
        let p = density.stress(Lame { lambda: 2.0, mu: 3.0 }, &along_x(1.0 + e));
        assert!((p[0][0] / e - 8.0).abs() < tolerance && (p[1][1] / e - 2.0).abs() < tolerance, "{p:?}");
    }
    check(&StableNeoHookean, 1e-6, 1e-4);
    check(&NeoHookean, 1e-6, 1e-4);
    check(&FixedCoRotated, 1e-6, 1e-4);
    // To all digits.
    let e = 0.5_f64.powi(30);
    check(&StVenantKirchhoff, e, 1e-7);
    let energy = StVenantKirchhoff.energy(Lame { lambda: 2.0, mu: 3.0 }, &along_x(1.0 + e)).value;
    assert!((energy / (4.0 * e * e) - 1.0).abs() < 2.0 * e, "{energy:e}");
}

#[test]
fn an_inverted_element_has_no_energy_that_is_finite() {
    assert!(NeoHookean.energy(Lame { lambda: 2.0, mu: 3.0 }, &along_x(-1.0)).value.is_infinite());
}

/// With λ = 0 the co-rotational energy is that of as-rigid-as-possible elasticity.
#[test]
fn co_rotational_elasticity_without_lambda() {
    let material = Lame::new(3.0, 0.0);
    assert_eq!((material.lambda, material.mu), (0.0, 1.5));
    for f in deformations() {
        let [one, other] = [Arap.energy(material, &f), CoRotational.energy(material, &f)];
        assert!((one.value - other.value).abs() <= 1e-15 * one.value);
    }
}

/// A reflected cube has σ = −1 along one axis: ψ = 4 μ.
#[test]
fn a_reflection_costs_energy() {
    let f = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]];
    assert!((Arap.energy(Lame { lambda: 0.0, mu: 3.0 }, &f).value - 12.0).abs() < 1e-14);
}

/// A stretch e along one axis: ψ = (μ + λ/2) e² of co-rotational elasticity.
#[test]
fn energy_of_one_stretched_axis_by_hand() {
    let energy = CoRotational.energy(Lame { lambda: 2.0, mu: 3.0 }, &along_x(1.1)).value;
    assert!((energy - 4.0 * 0.01).abs() < 1e-15);
    // 2 · 4 · 0.1 · 2.1 and, with either sign of λ, 2 · 0.1 · (2.1 + 2 + 2).
    for lambda in [2.0, -2.0] {
        let magnitude = CoRotational.energy(Lame { lambda, mu: 4.0 }, &along_x(1.1)).magnitude;
        assert!((magnitude - 2.9).abs() < 1e-14, "{lambda}: {magnitude}");
    }
}

#[test]
fn energy_and_stress_at_once_are_the_same_bits() {
    let material = Lame::new(2.0, 0.3);
    for f in deformations() {
        let (energy, stress) = FixedCoRotated.energy_and_stress(material, &f);
        assert_eq!(energy, FixedCoRotated.energy(material, &f));
        assert_eq!(stress, FixedCoRotated.stress(material, &f));
    }
}

/// For F = diag(2, 1, 1) and for the flat diag(0, 1, 1), ψ = μ + λ/2 of fixed co-rotated elasticity. For the reflection
/// diag(−1, 1, 1), ψ = 4 μ + λ/2 · 4.
#[test]
fn fixed_co_rotated_values_by_hand() {
    for (x, expected) in [(2.0, 4.0), (0.0, 4.0), (-1.0, 16.0)] {
        let found = FixedCoRotated.energy(Lame { lambda: 2.0, mu: 3.0 }, &along_x(x)).value;
        assert!((found - expected).abs() < 1e-14, "{x}: {found}");
    }
}

/// A stretch by 3 along x gives E = 4 and ψ = 16 (μ + λ/2). A mirrored cube has no energy. The force
/// under compression is largest at σ² = 1/3.
#[test]
fn st_venant_kirchhoff_yields_under_compression() {
    let material = Lame { lambda: 2.0, mu: 3.0 };
    assert_eq!(StVenantKirchhoff.energy(material, &along_x(3.0)).value, 64.0);
    assert_eq!(StVenantKirchhoff.energy(material, &along_x(-1.0)).value, 0.0);
    let force = |x: f64| -StVenantKirchhoff.stress(material, &along_x(x))[0][0];
    let most = force((1.0_f64 / 3.0).sqrt());
    assert!((1..40).all(|k| force(0.05 * f64::from(k)) < most) && force(0.01) < 0.1 * most);
}
