use super::*;
use crate::random;

/// (A B)_ij by the definition.
fn entry(a: &Bsr<f64>, b: &Bsr<f64>, i: usize, j: usize) -> f64 {
    (0..a.shape().1).map(|k| a.get(i, k) * b.get(k, j)).sum()
}

#[test]
fn it_equals_the_dense_product() {
    let sizes =
        [(1, 1, 1), (3, 3, 3), (3, 3, 6), (6, 3, 3), (3, 6, 6), (6, 6, 6), (6, 3, 6), (2, 4, 3), (5, 1, 2)];
    for (seed, (r, m, c)) in (1..).zip(sizes) {
        let (a, b) = (random::matrix(9, 8, (r, m), 2, seed), random::matrix(8, 10, (m, c), 2, seed + 50));
        let product = multiply(&a, &b).unwrap();
        assert_eq!((product.shape(), product.block()), ((9 * r, 10 * c), (r, c)));
        for i in 0..9 * r {
            for j in 0..10 * c {
                assert!((product.get(i, j) - entry(&a, &b, i, j)).abs() < 1e-13, "{r} {m} {c}");
            }
        }
    }
}

#[test]
fn the_identity_changes_nothing() {
    let a = random::matrix(30, 20, (3, 2), 4, 1);
    assert_eq!(multiply(&Bsr::identity(30, 3).unwrap(), &a).unwrap(), a);
    assert_eq!(multiply(&a, &Bsr::identity(20, 2).unwrap()).unwrap(), a);
}

#[test]
fn threads_do_not_change_bits() {
    let (a, b) = (random::matrix(3000, 3000, (3, 3), 6, 3), random::matrix(3000, 900, (3, 6), 2, 4));
    let run = || multiply(&a, &b).unwrap();
    let one = parallel::threads(1, run).unwrap();
    for n in [2, 7] {
        assert_eq!(one, parallel::threads(n, run).unwrap());
    }
}

#[test]
fn factors_that_do_not_fit_are_refused() {
    let a = random::matrix(4, 5, (2, 3), 2, 1);
    let wrong = [random::matrix(4, 5, (3, 1), 2, 2), random::matrix(5, 4, (2, 1), 2, 2)];
    for b in wrong {
        assert!(matches!(multiply(&a, &b), Err(SparseError::Shape { .. })));
    }
}

#[test]
fn empty_factors_have_empty_products() {
    let a = crate::assembly::from_triplets::<f64>(3, 0, &[]).unwrap();
    let b = crate::assembly::from_triplets::<f64>(0, 2, &[]).unwrap();
    let c = multiply(&a, &b).unwrap();
    assert_eq!((c.shape(), c.nnz()), ((3, 2), 0));
}
