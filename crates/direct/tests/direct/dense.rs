//! The four equations of Penrose, and their consequences for coarse grids.

use coarsen_core::{Preconditioner, PreconditionerKind, parallel};
use coarsen_direct::{Dense, DirectError, PseudoInverse};
use coarsen_sparse::{Bsr, assembly};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::common::dense;

const SEED: u64 = 5;

/// The parameters with the default tolerance.
fn usual() -> Dense {
    dense(Dense::default().tolerance)
}

/// B Bᵀ, or B C, with B of n x k: rank k.
fn of_rank(n: usize, k: usize, symmetric: bool) -> Bsr<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut random = || -> Vec<f64> { (0..n * k).map(|_| rng.random_range(-1.0..1.0)).collect() };
    let (b, c) = (random(), random());
    let c = if symmetric { &b } else { &c };
    let product = |i: usize, j: usize| (0..k).map(|m| b[i * k + m] * c[j * k + m]).sum::<f64>();
    let entries: Vec<_> =
        (0..n).flat_map(|i| (0..n).map(move |j| (i as u32, j as u32, product(i, j)))).collect();
    assembly::from_triplets(n, n, &entries).unwrap()
}

/// The product of two square matrices given by entries, by rows.
fn product(n: usize, a: impl Fn(usize, usize) -> f64, b: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..n * n).map(|at| (0..n).map(|k| a(at / n, k) * b(k, at % n)).sum()).collect()
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()))
}

#[test]
fn pseudo_inverses_satisfy_the_penrose_equations() {
    for (n, k, symmetric) in
        [(1, 1, true), (6, 6, true), (6, 4, true), (9, 9, false), (9, 5, false), (40, 37, false)]
    {
        let a = of_rank(n, k, symmetric);
        let inverse = usual().invert(&a).unwrap();
        assert_eq!(inverse.rank(), k);
        let (get, plus) = (|i, j| a.get(i, j), |i: usize, j: usize| inverse.values()[j * n + i]);
        let (ap, pa) = (product(n, get, plus), product(n, plus, get));
        let transposed = |m: &[f64]| -> Vec<f64> { (0..n * n).map(|at| m[at % n * n + at / n]).collect() };
        assert!(near(&ap, &transposed(&ap)) && near(&pa, &transposed(&pa)));
        let all: Vec<f64> = (0..n * n).map(|at| get(at / n, at % n)).collect();
        assert!(near(&product(n, |i, j| ap[i * n + j], get), &all));
        let plus_all: Vec<f64> = (0..n * n).map(|at| plus(at / n, at % n)).collect();
        assert!(near(&product(n, |i, j| pa[i * n + j], plus), &plus_all));
    }
}

#[test]
fn kind_follows_from_the_spectrum() {
    let kind = |m: &PseudoInverse| Preconditioner::<Vec<f64>>::kind(m);
    assert_eq!(kind(&usual().invert(&of_rank(6, 4, true)).unwrap()), PreconditionerKind::Symmetric);
    assert_eq!(kind(&usual().invert(&of_rank(6, 4, false)).unwrap()), PreconditionerKind::Linear);
    let mut a = of_rank(6, 4, true);
    a.values_mut().iter_mut().for_each(|v| *v = -*v);
    assert_eq!(kind(&usual().invert(&a).unwrap()), PreconditionerKind::Linear);
    let zero = Bsr::<f64>::zeros(a.pattern().clone(), (1, 1)).unwrap();
    let mut none = usual().invert(&zero).unwrap();
    let mut z = vec![1.0; 6];
    none.apply(&vec![1.0; 6], &mut z);
    assert_eq!((none.rank(), z), (0, vec![0.0; 6]));
}

#[test]
fn update_equals_build_and_fails_harmlessly() {
    let (old, new) = (of_rank(12, 12, true), of_rank(12, 7, false));
    let mut inverse = usual().invert(&old).unwrap();
    let before = inverse.values().to_vec();
    inverse.reinvert(&new).unwrap();
    assert_eq!(inverse.values(), usual().invert(&new).unwrap().values());
    inverse.reinvert(&old).unwrap();
    assert_eq!(inverse.values(), before);
    let mut bad = old.clone();
    bad.values_mut()[13] = f64::NAN;
    assert_eq!(inverse.reinvert(&bad), Err(DirectError::NotFinite { row: 1, column: 1 }));
    let other = Bsr::<f64>::identity(3, 1).unwrap();
    assert_eq!(inverse.reinvert(&other), Err(DirectError::Shape { what: "matrix", expected: 12, found: 3 }));
    assert_eq!(inverse.values(), before);
    let empty = assembly::from_triplets::<f64>(0, 0, &[]).unwrap();
    assert_eq!(usual().invert(&empty).unwrap().rank(), 0);
}

#[test]
fn threads_do_not_change_bits() {
    let a = of_rank(90, 80, true);
    let run = || usual().invert(&a).unwrap().values().to_vec();
    let one = parallel::threads(1, run).unwrap();
    assert_eq!(one, parallel::threads(7, run).unwrap());
}

#[test]
fn a_tolerance_that_leaves_nothing_is_refused() {
    let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 3.0)]).unwrap();
    for tolerance in [f64::NAN, 1.0, 2.0, f64::INFINITY, -1e-3] {
        let error = dense(tolerance).invert(&a).err();
        let named = matches!(error, Some(DirectError::Parameter { name: "Dense::tolerance", .. }));
        assert!(named, "{tolerance}: {error:?}");
    }
    assert_eq!(dense(0.0).invert(&a).unwrap().rank(), 2);
}

/// Block and scalar matrices give the same A⁺, and `apply` is the product with A⁺.
#[test]
fn blocks_and_scalars_have_one_inverse() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let entries: Vec<(u32, u32, f64)> = (0..6)
        .flat_map(|i| (0..6).map(move |j| (i, j)))
        .map(|(i, j)| (i, j, rng.random_range(-1.0..1.0)))
        .collect();
    let scalars = usual().invert(&assembly::from_triplets(6, 6, &entries).unwrap()).unwrap();
    for block in [2, 3] {
        let a = assembly::from_triplets_blocked(6, 6, (block, block), &entries).unwrap();
        let mut inverse = usual().invert(&a).unwrap();
        assert_eq!(inverse.values(), scalars.values());
        let r: Vec<f64> = (0..6).map(|i| 1.0 + f64::from(i)).collect();
        let mut z = vec![f64::NAN; 6];
        inverse.apply(&r, &mut z);
        let expected: Vec<f64> =
            (0..6).map(|i| (0..6).map(|j| inverse.values()[j * 6 + i] * r[j]).sum()).collect();
        assert!(near(&z, &expected), "{z:?} {expected:?}");
        assert_eq!(Preconditioner::<Vec<f64>>::size(&inverse), Some(6));
    }
}

#[test]
fn the_spectrum_has_an_order() {
    let diagonal = |values: &[f64]| {
        let entries: Vec<_> = (0..).zip(values).map(|(i, &v)| (i, i, v)).collect();
        assembly::from_triplets(values.len(), values.len(), &entries).unwrap()
    };
    let inverse = usual().invert(&diagonal(&[3.0, -1.0, 2.0])).unwrap();
    assert!(near(inverse.spectrum(), &[-1.0, 2.0, 3.0]), "{:?}", inverse.spectrum());
    let skew = assembly::from_triplets(2, 2, &[(0, 1, 2.0), (1, 0, -5.0)]).unwrap();
    assert!(near(usual().invert(&skew).unwrap().spectrum(), &[5.0, 2.0]));
    // An eigenvalue below tolerance times the largest counts as 0, for either sign.
    let rough = dense(1e-3);
    let inverse = rough.invert(&diagonal(&[1e6, -10.0, 5e5])).unwrap();
    assert_eq!(
        (inverse.rank(), Preconditioner::<Vec<f64>>::kind(&inverse)),
        (2, PreconditionerKind::Symmetric)
    );
}
