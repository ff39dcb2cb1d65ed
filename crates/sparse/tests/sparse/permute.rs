//! Permutations of vectors and matrices.

use coarsen_core::LinearOperator;
use coarsen_sparse::{NotAPermutation, Permutation, PermutePlan, SparseError};

use crate::random;

/// A random permutation, by sorting random keys.
fn shuffled(n: usize, seed: u64) -> Permutation {
    let keys = random::vector(n, seed);
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
    Permutation::new(order).unwrap()
}

#[test]
fn lists_that_are_not_permutations_are_named() {
    let bad = |list: &[u32]| Permutation::new(list.to_vec()).unwrap_err();
    assert_eq!(bad(&[0, 0]), NotAPermutation { position: 1, index: 0, length: 2 });
    assert_eq!(bad(&[1, 2]), NotAPermutation { position: 1, index: 2, length: 2 });
    assert_eq!(bad(&[u32::MAX]), NotAPermutation { position: 0, index: u32::MAX, length: 1 });
    assert!(Permutation::new(vec![]).unwrap().is_empty());
}

#[test]
fn vectors_go_there_and_back() {
    let p = shuffled(5000, 1);
    let x = random::vector(15_000, 2);
    let (mut y, mut z) = (vec![0.0; 15_000], vec![0.0; 15_000]);
    p.apply(3, &x, &mut y);
    assert!((0..5000).all(|k| y[3 * k..3 * k + 3] == x[3 * p.to_old(k)..][..3]));
    p.apply_inverse(3, &y, &mut z);
    assert_eq!(x, z);
    p.inverse().apply(3, &y, &mut z);
    assert_eq!(x, z);
}

#[test]
fn matrices_go_there_and_back() {
    for (seed, block) in (1..).zip([(1, 1), (3, 3), (2, 4)]) {
        let a = random::matrix(60, 60, block, 4, seed);
        let p = shuffled(60, seed + 10);
        assert_eq!(a.permute(&p).unwrap().permute(&p.inverse()).unwrap(), a);
        assert_eq!(a.permute(&Permutation::identity(60).unwrap()).unwrap(), a);
    }
}

#[test]
fn rows_and_columns_renumber_the_product() {
    let a = random::matrix(50, 40, (3, 2), 4, 9);
    let (p, q) = (shuffled(50, 1), shuffled(40, 2));
    let b = PermutePlan::new(a.pattern(), &p, &q).unwrap().build(&a).unwrap();
    let x = random::vector(80, 3);
    let (mut ax, mut pax, mut qx, mut bqx) = (vec![0.0; 150], vec![0.0; 150], vec![0.0; 80], vec![0.0; 150]);
    a.apply(&x, &mut ax);
    p.apply(3, &ax, &mut pax);
    q.apply(2, &x, &mut qx);
    b.apply(&qx, &mut bqx);
    assert!(pax.iter().zip(&bqx).all(|(a, b)| (a - b).abs() < 1e-14));
}

#[test]
fn other_shapes_and_patterns_are_refused() {
    let (a, b) = (random::matrix(6, 6, (2, 2), 2, 1), random::matrix(6, 6, (2, 2), 2, 2));
    let (p, short) = (shuffled(6, 1), shuffled(5, 1));
    assert!(matches!(a.permute(&short), Err(SparseError::Shape { expected: 6, found: 5, .. })));
    let plan = PermutePlan::new(a.pattern(), &p, &p).unwrap();
    assert!(matches!(plan.build(&b), Err(SparseError::Pattern { .. })));
}
