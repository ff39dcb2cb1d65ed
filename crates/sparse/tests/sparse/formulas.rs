//! Patterns and sums compared with plain loops.

use coarsen_sparse::assembly::from_triplets;
use coarsen_sparse::{Bsr, Contacts, Pattern, Sum, detect_block_size};

/// A path of n nodes whose first node is fixed.
fn path(n: u32) -> Bsr<f64> {
    let entries: Vec<_> = (1..n)
        .flat_map(|i| [(i, i, 1.0), (i - 1, i - 1, 1.0), (i, i - 1, -1.0), (i - 1, i, -1.0)])
        .chain([(0, 0, 1.0)])
        .collect();
    from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// The sample of a large pattern includes the last rows.
#[test]
fn nodes_are_found_behind_a_head_of_scalars() {
    let n = 18_000_usize;
    let mut offsets = vec![0];
    let mut columns: Vec<u32> = Vec::new();
    for i in 0..n {
        match i < 500 {
            true => columns.push(i as u32),
            false => columns.extend((i / 3 * 3..i / 3 * 3 + 3).map(|j| j as u32)),
        }
        offsets.push(columns.len());
    }
    assert_eq!(detect_block_size(&Pattern::new(n, offsets, columns).unwrap()), 3);
}

#[test]
fn a_merge_fits_its_own_target_alone() {
    let elastic = path(4);
    let mut contact = Contacts::new(4, 1).unwrap();
    contact.replace(&[(0, 1), (0, 3)], &[10.0, 5.0]).unwrap();
    let sum = Sum { elastic: &elastic, contact: &contact };
    let mut target = sum.merge().unwrap();
    let expected = target.clone();
    target.values_mut().fill(f64::NAN);
    sum.merge_into(&mut target).unwrap();
    assert_eq!(target, expected);
}
