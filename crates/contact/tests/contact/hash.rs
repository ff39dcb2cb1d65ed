//! The pairs of a spatial hash compared with a loop over all pairs.

use coarsen_contact::{Aabb, ContactError, SpatialHash};
use coarsen_core::parallel::threads;
use proptest::prelude::*;

use crate::common::noise;

/// Boxes of all sizes: points, thin boxes, usual boxes and huge boxes.
fn boxes() -> impl Strategy<Value = Aabb> {
    let side = prop_oneof![Just(0.0), 0.0..1.5, Just(1e-9), 5.0..60.0, Just(1e12), Just(1e300)];
    let place =
        prop_oneof![8 => -6.0..6.0, 1 => Just(0.0), 1 => Just(-1e9), 1 => Just(4e18), 1 => Just(-1e305)];
    let axis = (place, side).prop_map(|(low, side): (f64, f64)| [low, low + side]);
    [axis.clone(), axis.clone(), axis]
        .prop_map(|[x, y, z]| Aabb { low: [x[0], y[0], z[0]], high: [x[1], y[1], z[1]] })
}

fn found(hash: &SpatialHash, of: &Aabb) -> Vec<u32> {
    let mut found = Vec::new();
    hash.query(of, |i| found.push(i));
    found
}

fn brute(boxes: &[Aabb], of: &Aabb) -> Vec<u32> {
    (0..boxes.len() as u32).filter(|i| boxes[*i as usize].overlaps(of)).collect()
}

#[test]
fn the_pairs_are_those_of_all_pairs() {
    check_pairs(200);
}

#[test]
#[ignore = "6 s: run by .ci/full"]
fn long_the_pairs_are_those_of_all_pairs() {
    check_pairs(800);
}

/// Queries visit exactly the boxes that overlap, each once, for any cell size.
fn check_pairs(cases: u32) {
    let cells = prop_oneof![Just(None), (0.01..20.0).prop_map(Some), Just(Some(1e-300)), Just(Some(1e300))];
    let [all, queries] = [0..80, 1..20].map(|count| prop::collection::vec(boxes(), count));
    proptest!(ProptestConfig::with_cases(cases), |(all in all, queries in queries, cell in cells)| {
        let mut hash = SpatialHash::default();
        hash.rebuild(all.len(), cell, |i| all[i]).unwrap();
        prop_assert_eq!(hash.len(), all.len());
        for of in queries.iter().chain(&all) {
            let mut found = found(&hash, of);
            found.sort_unstable();
            prop_assert_eq!(found, brute(&all, of));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// Shares of the tests of a query visit together what the query does, in its order, wherever they end.
    #[test]
    fn shares_of_a_query_add_up(
        all in prop::collection::vec(boxes(), 0..80),
        cell in prop_oneof![Just(None), (0.01..20.0).prop_map(Some), Just(Some(1e300))],
        ends in prop::collection::vec(0.0..1.0, 0..6),
    ) {
        let mut hash = SpatialHash::default();
        hash.rebuild(all.len(), cell, |i| all[i]).unwrap();
        for of in &all {
            let tests = hash.tests(of);
            let mut ends: Vec<u64> = ends.iter().map(|end| (end * tests as f64) as u64).collect();
            ends.extend([0, tests]);
            ends.sort_unstable();
            let mut shares = Vec::new();
            ends.windows(2).for_each(|two| hash.query_share(of, two[0]..two[1], |i| shares.push(i)));
            prop_assert_eq!(shares, found(&hash, of));
        }
    }
}

/// A box is not visited in a cell that it does not cover. With two boxes, its cell (1, 2, 1) and (1, 1, 1) share a bucket.
#[test]
fn cells_that_share_a_bucket_visit_a_box_once() {
    let mut hash = SpatialHash::default();
    let point = Aabb::of([[1.5, 2.2, 1.5]]);
    hash.rebuild(2, Some(1.0), |i| if i == 0 { point } else { Aabb::of([[1e3; 3]]) }).unwrap();
    assert_eq!(found(&hash, &Aabb::of([[1.5; 3], [1.5, 2.5, 1.5]])), [0]);
}

/// Many boxes of one size are in few buckets, and queries cover many cells. Still no pair is found twice.
#[test]
fn no_pair_is_found_twice() {
    let at = noise(3 * 4000, 7);
    let all: Vec<Aabb> = at.as_chunks::<3>().0.iter().map(|p| Aabb::of([*p]).grown(0.04)).collect();
    let mut hash = SpatialHash::default();
    for cell in [None, Some(0.01), Some(0.03), Some(0.3), Some(5.0)] {
        hash.rebuild(all.len(), cell, |i| all[i]).unwrap();
        for size in [0.0, 0.02, 0.1, 0.4, 2.0] {
            let of = all[17].grown(size);
            let mut found = found(&hash, &of);
            found.sort_unstable();
            assert_eq!(found, brute(&all, &of), "{cell:?} {size}");
        }
    }
}

#[test]
fn boxes_that_are_not_finite_are_named() {
    let good = Aabb::of([[0.0; 3], [1.0; 3]]);
    let bad = [
        Aabb { low: [0.0, f64::NAN, 0.0], ..good },
        Aabb { high: [1.0, 1.0, f64::INFINITY], ..good },
        Aabb { low: [2.0, 0.0, 0.0], ..good },
        Aabb::EMPTY,
    ];
    let mut hash = SpatialHash::default();
    assert!(found(&hash, &good).is_empty() && hash.is_empty());
    for wrong in bad {
        hash.rebuild(3, None, |_| good).unwrap();
        assert_eq!(found(&hash, &good), [0, 1, 2]);
        assert!(found(&hash, &wrong).len() < 3 || !wrong.high[2].is_finite(), "{wrong:?}");
        let refused = hash.rebuild(5, None, |i| if i == 3 { wrong } else { good });
        assert_eq!(refused, Err(ContactError::Box { index: 3 }));
        assert!(found(&hash, &good).is_empty());
    }
    for cell in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(hash.rebuild(1, Some(cell), |_| good), Err(ContactError::Value { .. })), "{cell}");
    }
}

#[test]
fn the_default_cell_is_twice_the_mean_extent() {
    let mut hash = SpatialHash::default();
    hash.rebuild(2, None, |i| Aabb::of([[0.0; 3], [1.0, 2.0 + 2.0 * i as f64, 0.5]])).unwrap();
    assert_eq!(hash.cell(), 6.0);
    hash.rebuild(8, None, |i| Aabb::of([[i as f64, 0.0, 0.0]])).unwrap();
    assert_eq!(hash.cell(), 3.5);
    hash.rebuild(4, None, |_| Aabb::of([[2.0; 3]])).unwrap();
    assert_eq!(found(&hash, &Aabb::of([[2.0; 3]])), [0, 1, 2, 3]);
}

/// Pairs are the same and in the same order, even if the memory was used before.
#[test]
fn threads_do_not_change_the_order() {
    let at = noise(3 * 30_000, 3);
    let pairs = |n: usize| {
        threads(n, || {
            let mut hash = SpatialHash::default();
            for count in [100, 30_000] {
                hash.rebuild(count, Some(0.05), |i| {
                    Aabb::of([[at[3 * i], at[3 * i + 1], at[3 * i + 2]]]).grown(0.01)
                })
                .unwrap();
            }
            let queries = at.as_chunks::<3>().0.iter().step_by(50);
            queries.map(|x| found(&hash, &Aabb::of([*x]).grown(0.1))).collect::<Vec<_>>()
        })
        .unwrap()
    };
    let one = pairs(1);
    assert!(one.iter().map(Vec::len).sum::<usize>() > 2000);
    assert!([2, 7].into_iter().all(|n| pairs(n) == one));
}

#[test]
fn a_nan_is_not_lost() {
    let nan = [0.0, f64::NAN, 0.0];
    for points in [[nan, [1.0; 3], [2.0; 3]], [[1.0; 3], nan, [2.0; 3]], [[1.0; 3], [2.0; 3], nan]] {
        let all = Aabb::of(points);
        assert!(all.low[1].is_nan() && all.high[1].is_nan() && !all.is_finite());
        assert_eq!((all.low[0], all.high[2]), (0.0, 2.0));
    }
    assert!(!Aabb::EMPTY.is_finite() && !Aabb::EMPTY.overlaps(&Aabb::of([[0.0; 3]])));
}

#[test]
fn distances_of_points() {
    let unit = Aabb::of([[0.0; 3], [1.0; 3]]);
    for (x, square) in [([0.5; 3], 0.0), ([1.0; 3], 0.0), ([0.5, -2.0, 0.5], 4.0), ([-1.0, 3.0, 4.0], 14.0)] {
        assert_eq!(unit.square_distance(x), square);
    }
}

#[test]
fn boxes_that_touch_overlap() {
    let unit = Aabb::of([[0.0; 3], [1.0; 3]]);
    assert_eq!((unit.extent(), unit.grown(0.5).extent()), (1.0, 2.0));
    for k in 0..3 {
        let mut corner = [0.5; 3];
        corner[k] = 1.0;
        assert!(unit.overlaps(&Aabb::of([corner])), "{k}");
        corner[k] = 1.0 + f64::EPSILON;
        assert!(!unit.overlaps(&Aabb::of([corner])) && !Aabb::of([corner]).overlaps(&unit), "{k}");
    }
}
