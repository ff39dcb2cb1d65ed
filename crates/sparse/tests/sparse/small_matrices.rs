//! Inverse square roots and spectral radii of small matrices.

use crate::random;
use crate::small::{LANES, Lanes, SINGLES, inverse_root, spectral_radius};

/// A batch with the same matrix in every lane.
fn all(m: &[f64]) -> Vec<Lanes> {
    m.iter().map(|&v| [v; LANES]).collect()
}

fn identity(b: usize) -> Vec<f64> {
    (0..b * b).map(|e| f64::from(u8::from(e / b == e % b))).collect()
}

/// A B for b x b matrices.
fn multiply(b: usize, left: &[f64], right: &[f64]) -> Vec<f64> {
    (0..b * b).map(|e| (0..b).map(|k| left[e / b * b + k] * right[k * b + e % b]).sum()).collect()
}

fn root_of(b: usize, d: &[f64]) -> Vec<Lanes> {
    let (mut d, mut q, mut root) = (all(d), all(d), all(d));
    inverse_root(b, &mut d, &mut q, &mut root);
    root
}

#[test]
fn roots_scale_the_diagonal_to_the_identity() {
    for b in [1, 2, 3, 6, 12] {
        let x = random::vector(b * b, b as u64);
        let mut d = vec![0.0; b * b]; // Xᵀ X + 0.1 I
        (0..b * b).for_each(|e| d[e] = (0..b).map(|k| x[k * b + e / b] * x[k * b + e % b]).sum());
        (0..b).for_each(|k| d[k * b + k] += 0.1);
        let root = root_of(b, &d);
        for l in 0..LANES {
            let root: Vec<f64> = root.iter().map(|v| v[l]).collect();
            let one = multiply(b, &multiply(b, &root, &d), &root);
            for (v, expected) in one.iter().zip(identity(b)) {
                assert!((v - expected).abs() < 1e-12, "{b}: {one:?}");
            }
        }
    }
}

/// ρ(R M R), with products in f64.
fn radius_between(b: usize, root: &[f64], m: &[f64]) -> f32 {
    let all = |m: &[f64]| m.iter().map(|&v| [v; SINGLES]).collect::<Vec<[f64; SINGLES]>>();
    let (mut left, mut m, mut right, mut product) = (all(root), all(m), all(root), all(m));
    let mut powers = [(); 2].map(|()| vec![[0.0; SINGLES]; b * b]);
    let wide = [&mut left[..], &mut m, &mut right, &mut product];
    spectral_radius(b, wide, powers.each_mut().map(|power| &mut power[..]))[SINGLES - 1]
}

/// A contact or a fibre stiffens one direction n of both nodes: D = I + κ n nᵀ.
#[test]
fn radii_of_ill_conditioned_blocks_are_right() {
    for stiffness in [1e4, 1e8, 1e10] {
        for seed in 0..6 {
            let n = random::vector(3, seed);
            let size = n.iter().map(|v| v * v).sum::<f64>();
            let mut d = identity(3);
            (0..9).for_each(|e| d[e] += stiffness * n[e / 3] * n[e % 3] / size);
            let root: Vec<f64> = root_of(3, &d).iter().map(|v| v[0]).collect();
            let m: Vec<f64> = d.iter().map(|v| -0.1 * v).collect();
            let radius = radius_between(3, &root, &m);
            assert!((radius - 0.1).abs() < 1e-4, "{stiffness}, {seed}: {radius}");
        }
    }
}

#[test]
fn radii_are_right() {
    let radius = |b: usize, m: &[f64]| radius_between(b, &identity(b), m);
    assert_eq!(radius(1, &[-3.0]), 3.0);
    assert_eq!(radius(2, &[0.0, 1.0, 0.0, 0.0]), 0.0); // nilpotent
    assert_eq!(radius(2, &[0.0; 4]), 0.0);
    assert!((radius(3, &identity(3)) - 1.0).abs() < 1e-6);
    assert!((radius(2, &[0.0, 2.0, -2.0, 0.0]) - 2.0).abs() < 1e-6); // ±2i
    assert!((radius(2, &[1.0, 100.0, 0.0, -0.5]) - 1.0).abs() < 1e-2); // far from normal
    assert!((radius(3, &[2.0, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0, 1.0]) - 5.0).abs() < 1e-5);
}

#[test]
fn missing_stiffness_does_not_couple() {
    let flat = |d: &[f64]| root_of(2, d).iter().map(|v| v[0]).collect::<Vec<_>>();
    assert_eq!(flat(&[4.0, 0.0, 0.0, 0.0]), [0.5, 0.0, 0.0, 0.0]);
    assert_eq!(flat(&[0.0; 4]), [0.0; 4]);
}
