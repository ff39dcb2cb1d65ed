//! Sums of a matrix and contacts.

use std::sync::Arc;

use coarsen_core::LinearOperator;
use coarsen_sparse::{Bsr, Contacts, Pattern, SparseError, Sum};

use crate::random;

/// A matrix and a contact set on n nodes; some of their blocks have the same position.
fn parts(n: usize, b: usize, seed: u64) -> (Bsr<f64>, Contacts<f64>) {
    let elastic = random::matrix(n, n, (b, b), 4, seed);
    let other = random::matrix(n, n, (b, b), 1, seed + 100);
    let p = other.pattern();
    let places: Vec<(u32, u32)> = (0..n).flat_map(|i| p.row(i).iter().map(move |&j| (i as u32, j))).collect();
    let mut contact = Contacts::new(n, b).unwrap();
    contact.replace(&places, other.values()).unwrap();
    (elastic, contact)
}

#[test]
fn sum_equals_merged_matrix() {
    for (seed, b) in (1..).zip([1, 2, 3, 6]) {
        let (elastic, contact) = parts(50, b, seed);
        let sum = Sum { elastic: &elastic, contact: &contact };
        let merged = sum.merge().unwrap();
        let (x, rhs) = (random::vector(50 * b, seed), random::vector(50 * b, seed + 1));
        let (mut y, mut z) = (vec![f64::NAN; 50 * b], vec![0.0; 50 * b]);
        let close =
            |y: &[f64], z: &[f64]| assert!(y.iter().zip(z).all(|(y, z)| (y - z).abs() < 1e-13), "{b}");
        sum.apply(&x, &mut y);
        merged.apply(&x, &mut z);
        close(&y, &z);
        let (dot, expected) = (sum.apply_dot(&x, &mut y), merged.apply_dot(&x, &mut z));
        close(&y, &z);
        close(&[dot.value, dot.magnitude], &[expected.value, expected.magnitude]);
        sum.residual(&rhs, &x, &mut y);
        merged.residual(&rhs, &x, &mut z);
        close(&y, &z);
    }
}

/// In kept memory, the pattern is that of the memory, or else the known one, or else a new one; the values are the same.
#[test]
fn merging_in_kept_memory_keeps_the_pattern() {
    let (elastic, contact) = parts(40, 3, 5);
    let none = Contacts::new(40, 3).unwrap();
    let mut others = none.clone();
    others.replace(&[(1, 30), (30, 1)], &[2.0; 18]).unwrap();
    let sum = Sum { elastic: &elastic, contact: &contact };
    let (built, own) = (sum.merge().unwrap(), elastic.pattern());
    let same = |a: &Bsr<f64>, b: &Arc<Pattern>| Arc::ptr_eq(a.pattern(), b);
    let mut memory = None;
    let first = sum.merge_in(&mut memory, own).unwrap();
    assert_eq!(*first, built);
    let kept = first.pattern().clone();
    assert!(!same(first, built.pattern()));
    assert!(same(sum.merge_in(&mut memory, built.pattern()).unwrap(), &kept));
    memory = None;
    let second = sum.merge_in(&mut memory, built.pattern()).unwrap();
    assert!(*second == built && same(second, built.pattern()));
    let with = Sum { contact: &others, ..sum };
    assert_eq!(*with.merge_in(&mut memory, built.pattern()).unwrap(), with.merge().unwrap());
    assert!(same(Sum { contact: &none, ..sum }.merge_in(&mut memory, own).unwrap(), own));
    assert_eq!(Sum { contact: &none, ..sum }.merge().unwrap(), elastic);
    assert_eq!(*sum.merge_in(&mut memory, own).unwrap(), built);
    let (small, touching) = parts(9, 3, 6);
    let sum = Sum { elastic: &small, contact: &touching };
    assert_eq!(*sum.merge_in(&mut memory, own).unwrap(), sum.merge().unwrap());
    assert!(Sum { contact: &none, ..sum }.merge_in(&mut memory, own).is_err());
}

#[test]
fn threads_do_not_change_bits() {
    let (elastic, contact) = parts(9000, 3, 6);
    let sum = Sum { elastic: &elastic, contact: &contact };
    let x = random::vector(27_000, 1);
    let run = || {
        let mut y = vec![0.0; 27_000];
        let dot = sum.apply_dot(&x, &mut y);
        (y, dot, sum.merge().unwrap())
    };
    crate::same_bits(run);
}

#[test]
fn parts_must_fit() {
    let elastic = Bsr::<f64>::identity(4, 3).unwrap();
    for (nodes, b) in [(5, 3), (4, 2)] {
        let contact = Contacts::new(nodes, b).unwrap();
        let refused = Sum { elastic: &elastic, contact: &contact }.merge();
        assert!(matches!(refused, Err(SparseError::Shape { .. })));
    }
}
