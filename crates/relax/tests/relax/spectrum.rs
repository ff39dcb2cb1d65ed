//! Bounds of spectral radii: for known matrices, from a part of the rows, and for values that are not finite.

use coarsen_backend::DenseBlocks;
use coarsen_core::parallel;
use coarsen_krylov::{SpectralRadius, start_vector};
use coarsen_relax::Spectrum;
use coarsen_sparse::{Bsr, assembly};

#[test]
fn the_spectral_bound_is_sharp_and_above_the_radius() {
    for (spec, largest) in [("poisson2d:30", 2.0), ("anisotropic2d:20", 2.5), ("elasticity3d:4", 9.0)] {
        let a = coarsen_problems::Problem::parse(spec, &Default::default()).unwrap().matrix;
        let inverses = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
        let bound = Spectrum::new(10, 1.1).bound(&a, &inverses).unwrap();
        let mut sharp = SpectralRadius::default();
        (sharp.steps, sharp.safety) = (60, 1.0);
        let radius = sharp.estimate(&a, &mut &inverses, &start_vector(a.shape().0)).unwrap();
        assert!(bound >= radius && bound <= largest, "{spec}: {radius} <= {bound} <= {largest}");
    }
}

/// Returns the size in bytes of the five vectors of an estimate with an eighth of the rows.
fn part(a: &Bsr<f64>) -> usize {
    5 * (a.shape().0 / 8) * size_of::<f64>()
}

/// A part of the rows reaches the bound for the 5- and 7-point stencils, but not for the 9-point stencil.
#[test]
fn a_few_rows_can_prove_the_bound() {
    for spec in ["poisson2d:260", "poisson3d:60"] {
        let a = coarsen_problems::Problem::parse(spec, &Default::default()).unwrap().matrix;
        let inverses = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
        let mut spectrum = Spectrum::new(6, 1.1);
        let bound = spectrum.bound(&a, &inverses).unwrap();
        assert_eq!(bound, 2.0, "{spec}");
        assert_eq!(spectrum.bytes(), part(&a), "{spec}: vectors of a part only");
    }
    // The 9-point stencil with equal weights: the bound is 2, ρ about 1.5.
    let n = 260_u32;
    let near = |i: u32| i.saturating_sub(1)..(i + 2).min(n);
    let entries: Vec<(u32, u32, f64)> = (0..n * n)
        .flat_map(|i| near(i / n).flat_map(move |x| near(i % n).map(move |y| (i, x * n + y))))
        .map(|(i, j)| (i, j, if i == j { 8.0 } else { -1.0 }))
        .collect();
    let a = assembly::from_triplets((n * n) as usize, (n * n) as usize, &entries).unwrap();
    let inverses = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
    let mut spectrum = Spectrum::new(6, 1.1);
    let bound = spectrum.bound(&a, &inverses).unwrap();
    assert!((1.5..1.7).contains(&bound) && spectrum.bytes() > 8 * part(&a), "{bound}");
}

/// `scalar` ⊗ M with an unsymmetric M that no inner product belongs to, and unknowns in units that differ by 10¹² inside a
/// node and by a factor of 100 between nodes: D⁻¹A has the spectrum of `scalar`.
fn unsymmetric_blocks(scalar: &Bsr<f64>) -> Bsr<f64> {
    const M: [f64; 9] = [1.0, -10.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0];
    let unit = |i: usize, q: usize| [1e-6, 1.0, 1e6][q] * (1.0 + 99.0 * ((i * 7) % 10) as f64 / 9.0);
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for i in 0..scalar.shape().0 {
        for (j, v) in scalar.row(i) {
            places.push((i as u32, j as u32));
            values.extend((0..9).map(|e| v[0] * M[e] * unit(j, e % 3)));
        }
    }
    let n = scalar.shape().0;
    assembly::from_blocks((n, n), (3, 3), &places, &values).unwrap()
}

/// Lanczos ends with NaN here, since (v, D⁻¹ v) is negative.
#[test]
fn unsymmetric_diagonal_blocks_are_bounded() {
    let scalar = coarsen_problems::Problem::parse("poisson2d:24", &Default::default()).unwrap().matrix;
    let exact = {
        let mut sharp = SpectralRadius::default();
        (sharp.steps, sharp.safety) = (60, 1.0);
        let inverses = DenseBlocks::inverse_diagonal(&scalar, "test").unwrap();
        sharp.estimate(&scalar, &mut &inverses, &start_vector(scalar.shape().0)).unwrap()
    };
    let a = unsymmetric_blocks(&scalar);
    let inverses = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
    let lanczos = SpectralRadius::default().estimate(&a, &mut &inverses, &start_vector(a.shape().0));
    assert!(lanczos.unwrap_err().to_string().contains("D (its diagonal blocks) symmetric positive definite"));
    let mut spectrum = Spectrum::new(10, 1.1);
    let bound = spectrum.bound(&a, &inverses).unwrap();
    assert!(bound >= exact && bound < 1.5 * exact, "{exact} {bound}");
    assert_eq!(spectrum.bound(&a, &inverses).unwrap(), bound, "the same memory");
    let threads = |n| parallel::threads(n, || Spectrum::new(10, 1.1).bound(&a, &inverses).unwrap()).unwrap();
    assert_eq!(threads(1), threads(3));
    assert_eq!(spectrum.bytes(), 2 * a.shape().0 * size_of::<f64>());

    let mut wild = a.clone();
    wild.values_mut()[40] = f64::NAN;
    assert!(spectrum.bound(&wild, &inverses).is_err());
}

/// Symmetric blocks are estimated as ever, also with the rounding of half of their digits.
#[test]
fn almost_symmetric_blocks_are_estimated() {
    let mut a = coarsen_problems::Problem::parse("elasticity3d:4", &Default::default()).unwrap().matrix;
    let inverses = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
    let bound = Spectrum::new(10, 1.1).bound(&a, &inverses).unwrap();
    a.values_mut().iter_mut().enumerate().for_each(|(k, v)| *v *= 1.0 + 1e-9 * (k % 5) as f64);
    let rounded = Spectrum::new(10, 1.1).bound(&a, &inverses).unwrap();
    assert!((rounded / bound - 1.0).abs() < 1e-6, "{bound} {rounded}");
}

#[test]
fn matrices_with_nan_are_refused() {
    let a = assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, f64::NAN), (1, 1, 1.0)]).unwrap();
    let inverses = DenseBlocks::new(1, vec![1.0, 1.0]).unwrap();
    assert!(Spectrum::new(10, 1.1).bound(&a, &inverses).is_err());
}
