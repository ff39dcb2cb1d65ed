//! Sparsity patterns.

use std::sync::Arc;

use coarsen_sparse::{Pattern, SparseError};

/// Tests short rows (linear search, up to 16 blocks) and long rows (binary search).
#[test]
fn every_block_of_a_row_is_found_and_no_other() {
    for length in [0, 1, 15, 16, 17, 48] {
        let columns: Vec<u32> = (0..length as u32).map(|k| 2 * k + 1).collect();
        let p = Pattern::new(2 * length + 3, vec![0, 0, length], columns).unwrap();
        for j in 0..2 * length + 3 {
            let expected = (j % 2 == 1 && j / 2 < length).then_some(j / 2);
            assert_eq!((p.find(1, j), p.find(0, j)), (expected, None), "{j} of {length}");
        }
    }
}

#[test]
fn broken_patterns_are_named() {
    let new = |n, o: &[usize], i: &[u32]| Pattern::new(n, o.to_vec(), i.to_vec()).unwrap_err();
    assert_eq!(new(2, &[], &[]), SparseError::Offsets { row: 0 });
    assert_eq!(new(2, &[0, 2, 1], &[0, 1]), SparseError::Offsets { row: 1 });
    assert_eq!(new(2, &[0, 1], &[0, 1]), SparseError::Offsets { row: 1 });
    assert_eq!(new(2, &[0, 1, 3], &[0, 1]), SparseError::Offsets { row: 1 });
    assert_eq!(new(2, &[0, 1], &[2]), SparseError::Column { row: 0, column: 2, columns: 2 });
    assert_eq!(new(2, &[0, 2], &[1, 1]), SparseError::Unsorted { row: 0, column: 1 });
    assert!(matches!(new(1 << 40, &[0], &[]), SparseError::TooLarge { .. }));
}

#[test]
fn identity_is_by_object_or_by_content() {
    let a = Arc::new(Pattern::diagonal(3).unwrap());
    let b = Arc::new(Pattern::diagonal(3).unwrap());
    let c = Arc::new(Pattern::new(3, vec![0, 1, 2, 3], vec![0, 1, 1]).unwrap());
    assert!(Pattern::same(&a, &a.clone()) && Pattern::same(&a, &b) && !Pattern::same(&a, &c));
    assert_eq!(a.find(1, 1), Some(1));
    assert_eq!(a.find(1, 2), None);
    assert!(a.is_symmetric() && !c.is_symmetric());
}
