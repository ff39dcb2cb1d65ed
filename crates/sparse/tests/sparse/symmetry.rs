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

/// The pass for symmetric matrices copies the diagonal and finds the largest value, at every place; it names no matrix
/// symmetric that is not, and no NaN finite.
#[test]
fn one_pass_reads_the_diagonal_of_a_symmetric_matrix() {
    let n = 9000_u32; // several tasks
    for b in [1, 2, 3, 4, 6, 12] {
        let area = (b * b) as usize;
        let n = if b == 1 { n } else { n / 2 };
        let places: Vec<(u32, u32)> = (0..n)
            .flat_map(|i| [(i, i), (i, (i + 5000) % n)].into_iter().chain([((i + 5000) % n, i)]))
            .collect();
        let value = |i: u32, j: u32, e: usize| {
            let (r, c) = (e / b as usize, e % b as usize);
            let (low, high) = if (i, r) < (j, c) { ((i, r), (j, c)) } else { ((j, c), (i, r)) };
            f64::from((low.0 * 7 + low.1 as u32 * 3 + high.0 * 5 + high.1 as u32) % 11) - 5.0
        };
        let values: Vec<f64> = places
            .iter()
            .flat_map(|&(i, j)| (0..area).map(move |e| (i, j, e)))
            .map(|(i, j, e)| value(i, j, e))
            .collect();
        let a = coarsen_sparse::assembly::from_blocks(
            (n as usize, n as usize),
            (b as usize, b as usize),
            &places,
            &values,
        )
        .unwrap();
        let mut diagonal = vec![f64::NAN; n as usize * area];
        let largest = coarsen_core::largest(a.values());
        let largest_of = |a: &Bsr<f64>, diagonal: &mut Vec<f64>| a.symmetric_diagonal(1e-12, diagonal);
        assert_eq!(largest_of(&a, &mut diagonal), Some(largest), "{b}");
        for i in [0, n / 2, n - 1] {
            let at = a.pattern().find(i as usize, i as usize).unwrap();
            assert_eq!(diagonal[i as usize * area..(i as usize + 1) * area], *a.value(at), "{b} {i}");
        }
        for (i, j) in [(0, 0), (0, 5000 % n), (5000 % n, 0), (n - 1, n - 1)] {
            let at = a.pattern().find(i as usize, j as usize).unwrap() * area + area - 1;
            for bad in [f64::NAN, f64::INFINITY, -1e9] {
                let mut a = a.clone();
                a.values_mut()[at] = bad;
                let found = largest_of(&a, &mut diagonal);
                match (bad.is_finite(), i == j) {
                    (true, true) => assert_eq!(found, Some(1e9), "{b} {i}"),
                    (true, false) => assert_eq!(found, None, "{b} {i} {j}"),
                    (false, _) => assert!(found.is_none_or(f64::is_nan), "{b} {i} {j} {bad}"),
                }
            }
        }
    }
    // A block without a transposed block.
    let lone = from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, 0.0), (1, 1, 1.0)]).unwrap();
    assert_eq!(lone.symmetric_diagonal(1e-12, &mut [0.0; 2]), None);
    let wide = from_triplets(2, 3, &[(0, 0, 1.0)]).unwrap();
    assert_eq!(wide.symmetric_diagonal(1e-12, &mut [0.0; 2]), None);
}
