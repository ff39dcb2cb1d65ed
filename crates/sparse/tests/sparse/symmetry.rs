//! The first pair of entries that breaks symmetry.

use std::sync::Arc;

use coarsen_sparse::assembly::{from_triplets, from_triplets_blocked};
use coarsen_sparse::{Bsr, Pattern};

#[test]
fn finds_pairs_inside_and_between_blocks() {
    let symmetric =
        [(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0), (0, 3, 5.0), (3, 0, 5.0), (3, 3, 1.0)];
    // Zero blocks without a transposed block, above and below the diagonal.
    for (offsets, indices) in [(vec![0, 2, 3], vec![0, 1, 1]), (vec![0, 1, 3], vec![0, 0, 1])] {
        let pattern = Arc::new(Pattern::new(2, offsets, indices.clone()).unwrap());
        for lone in [0.0, 1.0] {
            let values = [1.0, lone, 1.0].to_vec();
            let a = Bsr::new(pattern.clone(), (1, 1), values).unwrap();
            let pair = (usize::from(indices[1] == 0), indices[1] as usize);
            assert_eq!(a.asymmetric_pair(1e-8), (lone > 0.0).then_some(pair));
        }
    }
    for block in [(1, 1), (2, 2), (4, 4)] {
        let with = |extra: &[(u32, u32, f64)]| {
            let entries = [&symmetric[..], extra].concat();
            from_triplets_blocked(4, 4, block, &entries).unwrap().asymmetric_pair(1e-8)
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[(0, 1, 1e-12)]), None);
        assert_eq!(with(&[(0, 1, 1e-3)]), Some((0, 1)));
        assert!(with(&[(3, 1, 1.0)]).is_some());
    }
    let scaled = from_triplets(2, 2, &[(0, 0, 1e16), (0, 1, 1.0), (1, 1, 1.0)]).unwrap();
    assert_eq!(scaled.asymmetric_pair(1e-8), None, "1 relative to (1e16 · 1)^½");
    assert_eq!(scaled.asymmetric_pair(1e-9), Some((0, 1)));
    let saddle = |v: f64| from_triplets(2, 2, &[(0, 1, 1.0), (1, 0, v)]).unwrap().asymmetric_pair(1e-8);
    assert_eq!((saddle(1.0 + 1e-12), saddle(-1.0), saddle(f64::NAN)), (None, Some((0, 1)), Some((0, 1))));
    assert_eq!(from_triplets(2, 3, &[(0, 0, 1.0)]).unwrap().asymmetric_pair(1e-8), Some((0, 0)));
}

/// Differences and blocks without a transposed block are found inside a range of 4096 rows, across two ranges,
/// and in a later range.
#[test]
fn stretches_are_seen_whole() {
    let n = 3 * 4096 + 17;
    let band = |i: u32| [i.wrapping_sub(5000), i.wrapping_sub(1), i, i + 1, i + 5000].into_iter();
    let entries: Vec<(u32, u32, f64)> = (0..n)
        .flat_map(|i| band(i).filter(|&j| j < n).map(move |j| (i, j, f64::from(i.min(j) % 7 + 1))))
        .collect();
    let pair = |extra: (u32, u32, f64)| {
        let entries = [&entries[..], &[extra]].concat();
        from_triplets(n as usize, n as usize, &entries).unwrap().asymmetric_pair(1e-8)
    };
    assert_eq!(pair((0, 0, 1.0)), None);
    for (i, j) in [(10, 11), (9000, 9001), (3000, 8000), (n - 2, n - 1), (5, 300), (100, n - 3), (8500, 8600)]
    {
        let expected = (i as usize, j as usize);
        assert_eq!(pair((i, j, 0.5)), Some(expected), "above the diagonal");
        let below = pair((j, i, 0.5)).unwrap();
        assert!(below == expected || below == (expected.1, expected.0), "{below:?}");
    }
}
