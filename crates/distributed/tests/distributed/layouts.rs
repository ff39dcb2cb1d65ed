//! Rows are divided again above a tenth of imbalance, and only if that helps.

use coarsen_distributed::{DistError, Layout};

/// Two ranks, of which the first has `first` of 200 equal rows.
fn two(first: u64) -> Layout {
    Layout::new(vec![0, first, 200], 3).unwrap()
}

#[test]
fn rows_are_divided_again_above_a_tenth() {
    for (more, again) in [(0, false), (9, false), (11, true), (50, true), (100, true)] {
        for layout in [two(100 + more), two(100 - more)] {
            assert!((layout.imbalance(&[7; 200]) - more as f64 / 100.0).abs() < 1e-12);
            let expected = again.then(|| two(100));
            assert_eq!(layout.rebalanced(&[7; 200]).unwrap(), expected, "{more} % above the mean");
        }
    }
    let refused = two(100).rebalanced(&[1; 199]);
    assert_eq!(
        refused,
        Err(DistError::Length { what: "the weights of block rows", expected: 200, found: 199 })
    );
}

/// Sums keep their leaves, so that results keep their bits; without leaves there are none.
#[test]
fn rows_that_are_divided_again_keep_their_leaves() {
    let weights: Vec<u64> = (0..200).map(|row| if row < 40 { 9 } else { 1 }).collect();
    let fixed = Layout::reproducible(200, 2, 4, 8).unwrap();
    let moved = fixed.rebalanced(&weights).unwrap().unwrap();
    assert_eq!((moved.leaf(), moved.block(), moved.ranks(), moved.rows()), (Some(8), 2, 4, 200));
    assert_eq!(moved, Layout::balanced(&weights, 2, 4, 8).unwrap());
    assert!(moved.imbalance(&weights) < 0.5 * fixed.imbalance(&weights));
    let free = Layout::even(200, 2, 4).unwrap().rebalanced(&weights).unwrap().unwrap();
    assert!(free.leaf().is_none() && free.imbalance(&weights) < 0.1, "{free:?}");
}

/// One heavy row, or a leaf that cannot be cut: no layout is better.
#[test]
fn rows_stay_if_no_layout_is_better() {
    let heavy = Layout::even(4, 1, 2).unwrap();
    assert_eq!(heavy.rebalanced(&[0, 100, 0, 0]).unwrap(), None);
    let leaf = Layout::reproducible(12, 1, 2, 8).unwrap();
    assert!(leaf.imbalance(&[1; 12]) > 0.3 && leaf.rebalanced(&[1; 12]).unwrap().is_none());
}
