//! Products A B, and the accumulator of their rows.

use coarsen_sparse::{Bsr, SparseError, assembly, multiply};

use crate::random;
use kept::Kept;
use sums::RowSums;

#[path = "../../src/product/sums.rs"]
#[expect(dead_code, reason = "the tests use a part of it")]
mod sums;

#[path = "../../src/product/galerkin/kept.rs"]
#[expect(dead_code, reason = "the tests use a part of it")]
mod kept;

/// Gaps are closed only if they take more than this number of entries.
const CLOSED_GAPS: usize = 4096;

/// (A B)_ij by the definition.
fn entry(a: &Bsr<f64>, b: &Bsr<f64>, i: usize, j: usize) -> f64 {
    (0..a.shape().1).map(|k| a.get(i, k) * b.get(k, j)).sum()
}

#[test]
fn sparse_product_equals_dense_product() {
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
    crate::same_bits(run);
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
    let a = assembly::from_triplets::<f64>(3, 0, &[]).unwrap();
    let b = assembly::from_triplets::<f64>(0, 2, &[]).unwrap();
    let c = multiply(&a, &b).unwrap();
    assert_eq!((c.shape(), c.nnz()), ((3, 2), 0));
}

#[test]
fn more_blocks_than_can_be_numbered_are_refused() {
    let mut rows = RowSums::<f64>::new(1);
    rows.reserve(3, 1).unwrap();
    let refused = rows.reserve(u32::MAX as usize, 1);
    assert!(matches!(refused, Err(SparseError::TooLarge { count, .. }) if count == u32::MAX as usize));
}

#[test]
fn capacity_is_kept() {
    let mut rows = RowSums::<f64>::new(8);
    rows.reserve(5, 2).unwrap();
    let bytes = rows.bytes();
    assert_eq!(bytes, 4 * (8 + 5) + 8 * 5 * 2);
    (0..=5).for_each(|blocks| rows.reserve(blocks, 2).unwrap());
    assert_eq!(rows.bytes(), bytes);
}

#[test]
fn more_stored_rows_than_can_be_numbered_are_refused() {
    let mut kept = Kept::<f64>::new(0..1, 1);
    assert!(kept.reserve(usize::MAX / 2, 1).is_err());
    kept.reserve(1, 1).unwrap();
}

/// One row is needed until the end, all other rows once. The storage of dropped rows is reused.
#[test]
fn gaps_are_closed() {
    let (fine, columns) = (1000, 64);
    let mut kept = Kept::<f64>::new(0..fine, columns as usize);
    let mut most = 0; // rows stored at once
    for i in 0..fine {
        kept.reserve(columns as usize, 1).unwrap();
        (0..columns).for_each(|c| kept.rows.block(c, 1)[0] += (i + 1) as f64);
        kept.keep(i, &[0], &(0..1));
        assert!(kept.rows.len <= CLOSED_GAPS + 3 * columns as usize, "row {i}");
        most = most.max(kept.rows.len / columns as usize);
        if i > 0 {
            assert!(kept.take(i, 1).1.iter().all(|&v| v == (i + 1) as f64));
        }
    }
    let order = kept.bytes() - kept.rows.bytes() - 12 * fine; // a place has three numbers of 4 bytes
    assert!((4 * most..=8 * most).contains(&order), "{order} bytes for the order of {most} rows");
    assert!(kept.take(0, 1).1.iter().all(|&v| v == 1.0));
}
