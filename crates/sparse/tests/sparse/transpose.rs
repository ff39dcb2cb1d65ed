//! Transposes.

use coarsen_core::{LinearOperator, parallel};
use coarsen_sparse::{Bsr, SparseError, TransposePlan, assembly};

use crate::random;

const BLOCKS: [(usize, usize); 7] = [(1, 1), (3, 3), (6, 6), (3, 6), (6, 3), (2, 2), (4, 5)];

#[test]
fn entries_change_places() {
    for (block, seed) in [((1, 1), 1), ((3, 3), 2), ((3, 6), 3), ((6, 3), 4), ((2, 5), 5)] {
        let a = random::matrix(7, 9, block, 3, seed);
        let at = a.transpose().unwrap();
        let (m, n) = a.shape();
        assert!((0..m).all(|i| (0..n).all(|j| a.get(i, j) == at.get(j, i))));
        assert_eq!(at.transpose().unwrap(), a);
    }
}

#[test]
fn threads_do_not_change_bits_of_a_transpose() {
    let a = random::matrix(4000, 3000, (3, 6), 5, 6);
    let one = parallel::threads(1, || a.transpose().unwrap()).unwrap();
    for n in [2, 7] {
        assert_eq!(one, parallel::threads(n, || a.transpose().unwrap()).unwrap());
    }
}

#[test]
fn other_patterns_are_refused() {
    let (a, b) = (random::matrix(5, 5, (2, 2), 2, 1), random::matrix(5, 5, (2, 2), 2, 2));
    let plan = TransposePlan::new(a.pattern()).unwrap();
    assert!(matches!(plan.build(&b), Err(SparseError::Pattern { .. })));
    let mut at = plan.build(&a).unwrap();
    plan.update(&a, &mut at).unwrap();
    assert!(matches!(plan.update(&b, &mut at), Err(SparseError::Pattern { .. })));
    let mut narrow = Bsr::zeros(plan.pattern().clone(), (1, 2)).unwrap();
    assert!(matches!(plan.update(&a, &mut narrow), Err(SparseError::Shape { .. })));
}

#[test]
fn empty_matrices_have_transposes() {
    let a = assembly::from_triplets::<f64>(0, 3, &[]).unwrap();
    assert_eq!(a.transpose().unwrap().shape(), (3, 0));
}

#[test]
fn x_dot_ay_equals_atx_dot_y() {
    for (seed, block) in (1..).zip(BLOCKS) {
        let a = random::matrix(40, 50, block, 4, seed);
        let (m, n) = a.shape();
        let (x, y) = (random::vector(m, seed + 10), random::vector(n, seed + 20));
        let (mut ay, mut atx) = (vec![0.0; m], vec![0.0; n]);
        a.apply(&y, &mut ay);
        a.transpose().unwrap().apply(&x, &mut atx);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        assert!((dot(&x, &ay) - dot(&atx, &y)).abs() < 1e-12 * n as f64, "{block:?}");
    }
}
