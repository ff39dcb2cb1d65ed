//! The results of `Engine::Own` against those of the default engine: faer, if it is built.

use coarsen_core::Preconditioner;
use coarsen_direct::{Dense, Direct, Engine, Method};
use coarsen_sparse::{Bsr, assembly};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SEED: u64 = 11;

/// A random matrix with about `row` entries per row and `diagonal` added to the diagonal; b x b blocks.
fn random(nodes: u32, b: u32, row: u32, diagonal: f64, symmetric: bool) -> Bsr<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let n = nodes * b;
    let mut entries: Vec<_> = (0..n).map(|i| (i, i, diagonal)).collect();
    for _ in 0..n * row {
        let (i, j, v) = (rng.random_range(0..n), rng.random_range(0..n), rng.random_range(-1.0..1.0));
        entries.push((i, j, v));
        if symmetric {
            entries.push((j, i, v));
        }
    }
    let (n, b) = (n as usize, b as usize);
    assembly::from_triplets_blocked(n, n, (b, b), &entries).unwrap()
}

/// The same matrix with the sign of every second diagonal entry changed: indefinite, and factored without row
/// exchanges.
fn alternating(mut a: Bsr<f64>) -> Bsr<f64> {
    let (n, b) = (a.shape().0, a.block().0);
    for i in (1..n).step_by(2) {
        let block = a.pattern().find(i / b, i / b).unwrap();
        a.values_mut()[block * b * b + i % b * (b + 1)] *= -1.0;
    }
    a
}

fn applied(mut m: impl Preconditioner<Vec<f64>>, n: usize) -> Vec<f64> {
    let (r, mut z) = ((0..n).map(|i| (1.0 + i as f64).sin()).collect(), vec![0.0; n]);
    m.apply(&r, &mut z);
    z
}

/// ‖x − y‖ / ‖y‖.
fn difference(x: &[f64], y: &[f64]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut x.iter().zip(y).map(|(x, y)| x - y)) / norm(&mut y.iter().copied())
}

#[test]
fn factors_agree() {
    for (method, a) in [
        (Method::Cholesky, random(200, 1, 3, 20.0, true)),
        (Method::Cholesky, random(60, 3, 2, 30.0, true)),
        (Method::Ldlt, alternating(random(150, 1, 3, 9.0, true))),
        (Method::Ldlt, alternating(random(40, 3, 2, 9.0, true))),
        (Method::Ldlt, random(1100, 1, 1, -9.0, true)), // factored as a sparse matrix
        (Method::Lu, random(200, 1, 4, 1.0, false)),
        (Method::Lu, random(60, 3, 2, 0.5, false)),
    ] {
        let n = a.shape().0;
        let [own, other] = [Engine::Own, Engine::Fastest]
            .map(|engine| Direct { method, engine, ..Direct::default() }.factor(&a).unwrap());
        assert_eq!((own.method(), own.inertia()), (other.method(), other.inertia()));
        if let (Method::Cholesky, Some(weak), Some(other)) =
            (method, own.weakest_pivot(), other.weakest_pivot())
        {
            assert!(weak.1 > 0.0 && weak.1 <= 1.0 && other.1 <= 1.0, "{weak:?} {other:?}");
        }
        let off = difference(&applied(own, n), &applied(other, n));
        assert!(off < 1e-9, "{method:?} of {n}: {off:e}");
    }
}

#[test]
fn inverses_agree() {
    for (n, symmetric) in [(1, true), (2, true), (3, false), (60, true), (60, false)] {
        let a = random(n, 1, 3, 0.5, symmetric);
        let [own, other] = [Engine::Own, Engine::Fastest]
            .map(|engine| Dense { engine, ..Dense::default() }.invert(&a).unwrap());
        assert_eq!(own.rank(), other.rank());
        assert!(difference(own.spectrum(), other.spectrum()) < 1e-13);
        let off = difference(own.values(), other.values());
        assert!(off < 1e-9, "{n}: {off:e}");
    }
}

/// Values near both ends of the exponent range, and spectra over many decades.
#[test]
fn spectra_do_not_depend_on_units() {
    for symmetric in [true, false] {
        let a = random(12, 1, 3, 0.5, symmetric);
        let spectrum = |scale: f64| -> Vec<f64> {
            let mut scaled = a.clone();
            scaled.values_mut().iter_mut().for_each(|v| *v *= scale);
            let inverse = Dense { engine: Engine::Own, ..Dense::default() }.invert(&scaled).unwrap();
            inverse.spectrum().iter().map(|s| s / scale).collect()
        };
        let plain = spectrum(1.0);
        for scale in [2.0_f64.powi(-900), 2.0_f64.powi(900)] {
            assert!(difference(&spectrum(scale), &plain) < 1e-14, "{symmetric} {scale:e}");
        }
    }
    let decades: Vec<_> = (0..12_u32).map(|i| (i, i, 10.0_f64.powi(-(i as i32)))).collect();
    let inverse = Dense { engine: Engine::Own, tolerance: 0.0 }
        .invert(&assembly::from_triplets(12, 12, &decades).unwrap())
        .unwrap();
    assert_eq!(inverse.rank(), 12);
    assert!((inverse.spectrum()[0] / 1e-11 - 1.0).abs() < 1e-12);
}

/// Entries whose products overflow or underflow: accurate if the matrix is well conditioned, otherwise an
/// error.
#[test]
fn the_ends_of_the_range_are_met_without_a_panic() {
    let ldlt = Direct { method: Method::Ldlt, engine: Engine::Own, ..Direct::default() };
    for size in [1e-170, 1.0, 1e200] {
        let a = assembly::from_triplets(2, 2, &[(0, 1, size), (1, 0, size)]).unwrap();
        let mut factor = ldlt.factor(&a).unwrap();
        let mut x = [0.0; 2];
        factor.solve(&[size, 2.0 * size], &mut x).unwrap();
        assert_eq!(x, [2.0, 1.0], "{size:e}");
    }
    let entries =
        [(0, 0, 1e308), (1, 1, -1e308), (2, 2, -1e308), (0, 1, 1.5e308), (0, 2, 1.5e308), (1, 2, 1.5e308)];
    let all = entries.iter().flat_map(|&(i, j, v)| [(i, j, v), (j, i, v)]).filter(|e| e.0 != e.1);
    let diagonal = entries.iter().filter(|e| e.0 == e.1).copied();
    let all: Vec<_> = all.chain(diagonal).collect();
    let a = assembly::from_triplets(3, 3, &all).unwrap();
    assert!(ldlt.factor(&a).is_err());
}
