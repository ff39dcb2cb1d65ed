//! Layouts, and the properties of `Vector`: the same numbers as a host vector, one reduction for many sums.

use coarsen_core::{Scalar, Vector};
use coarsen_distributed::{
    CommError, Communicator, Counted, DistError, DistVector, Layout, Partition, SelfComm,
};

use crate::common::{LEAF, RANKS, bits, distance, layouts, noise, on_ranks};

#[test]
fn layouts_cover_every_row_once() {
    for ranks in RANKS {
        for layout in layouts(29, 3, ranks) {
            let rows: Vec<u64> = (0..ranks).flat_map(|rank| layout.range(rank)).collect();
            assert_eq!(rows, (0..29).collect::<Vec<_>>());
            for rank in 0..ranks {
                assert_eq!(layout.range(rank).count(), layout.count(rank));
                assert!(layout.range(rank).all(|row| layout.owner(row) == rank));
            }
            assert_eq!(layout.unknowns(), 87);
        }
        let even = Layout::even(29, 1, ranks).unwrap();
        let counts: Vec<_> = (0..ranks).map(|rank| even.count(rank)).collect();
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
        let leaves = Layout::reproducible(29, 1, ranks, LEAF).unwrap();
        assert!(
            (0..ranks)
                .all(|rank| leaves.range(rank).start.is_multiple_of(4) || leaves.range(rank).start == 29)
        );
    }
}

#[test]
fn invalid_layouts_are_refused() {
    assert!(matches!(Layout::new(vec![0], 1), Err(DistError::Value { .. })));
    assert!(matches!(Layout::new(vec![0, 5], 0), Err(DistError::Value { .. })));
    let late = Layout::new(vec![1, 5], 1);
    assert_eq!(late, Err(DistError::FirstStart { start: 1 }));
    assert!(late.unwrap_err().to_string().contains("begins at block row 1"));
    let decreasing = Layout::new(vec![0, 5, 4], 1);
    assert_eq!(decreasing, Err(DistError::Starts { rank: 1, start: 5, end: 4 }));
    assert!(matches!(Layout::new(vec![0, u64::MAX], 3), Err(DistError::Value { .. })));
    let inside = Layout::new(vec![0, 5, 9], 1).unwrap().with_leaves(4);
    assert_eq!(inside, Err(DistError::Unaligned { rank: 1, start: 5, leaf: 4 }));
    assert!(Layout::new(vec![0, 9, 9], 1).unwrap().with_leaves(4).is_ok(), "an empty rank begins at the end");
    let range = "at least 1 block row, and a number of rows whose unknowns fit usize";
    for leaf in [0, usize::MAX] {
        let refused = Err(DistError::Value { what: "the leaf of reductions", found: leaf as u64, range });
        assert_eq!(Layout::reproducible(9, 3, 2, leaf), refused);
        assert_eq!(Layout::even(9, 3, 1).unwrap().with_leaves(leaf), refused);
    }
}

#[test]
fn ranks_with_different_layouts_are_refused() {
    let refused = on_ranks(3, |comm| {
        let starts = if comm.rank() == 1 { vec![0, 2, 5, 9] } else { vec![0, 3, 5, 9] };
        Partition::new(comm, Layout::new(starts, 1).unwrap()).map(drop)
    });
    let disagree = CommError::Disagree { rank: 0, other: 1, stage: "the layout of block rows" };
    refused.into_iter().for_each(|r| assert_eq!(r, Err(DistError::Comm(disagree.clone()))));
    let refused = Partition::new(SelfComm, Layout::even(9, 1, 2).unwrap()).map(drop);
    assert_eq!(refused, Err(DistError::Ranks { parts: 2, ranks: 1 }));
    let partition = Partition::new(SelfComm, Layout::even(9, 1, 1).unwrap()).unwrap();
    let refused = partition.vector(vec![0.0; 8]).map(drop);
    assert_eq!(refused, Err(DistError::Length { what: "the entries of this rank", expected: 9, found: 8 }));
}

/// Every operation of the trait, with uneven and empty ranks.
#[test]
fn operations_equal_those_of_a_host_vector() {
    let n = 87;
    let host: Vec<Vec<f64>> = (0..4).map(|seed| noise(n, seed)).collect();
    let mut expected = host.clone();
    let sums = script(&mut expected);
    for ranks in RANKS {
        for layout in layouts(29, 3, ranks) {
            let found = on_ranks(ranks, |comm| {
                let partition = Partition::new(comm, layout.clone()).unwrap();
                let mut own: Vec<_> = host.iter().map(|v| partition.part_of(v).unwrap()).collect();
                assert_eq!((own[0].size(), own[0].local_size()), (n, 3 * partition.count()));
                let sums = script(&mut own);
                (sums, own.iter().map(|v| v.gathered().unwrap()).collect::<Vec<_>>())
            });
            for (found, vectors) in &found {
                assert!(distance(found, &sums) < 1e-14);
                assert!(vectors.iter().zip(&expected).all(|(v, e)| distance(v, e) < 1e-14));
            }
            assert!(found.iter().all(|one| bits(&one.0) == bits(&found[0].0)), "ranks differ");
        }
    }
}

/// Calls every operation once and returns all sums.
fn script<V: Vector<Real = f64>>(v: &mut [V]) -> Vec<f64> {
    let [x, y, p, q] = v else { unreachable!("four vectors") };
    let read = |s: &V::Scalar| s.read();
    let mut sums = vec![read(&x.dot(y)), x.norm(), read(&x.dot_magnitude(y).magnitude)];
    sums.extend(x.dots([y, p, q]).iter().map(read));
    let pairs = V::dot_magnitudes([(x, y), (p, q)]);
    sums.extend(pairs.iter().flat_map(|d| [read(&d.value), read(&d.magnitude)]));
    let [two, half, more, one, quarter, eighth, three] =
        [2.0, 0.5, 1.5, 1.0, 0.25, 0.125, 3.0].map(|v| x.scalar(v));
    x.axpby(&two, y, &half);
    y.hadamard(&more, p, q, &one);
    sums.push(read(&V::cg_update(x, y, &quarter, p, q)));
    x.axpy(&eighth, y);
    p.scaled(&three, q);
    let mut z = x.like().unwrap();
    z.fill(5.0);
    z.renew_like(x).unwrap();
    assert_eq!(z.norm(), 0.0);
    z.fill(1.0);
    x.axpy(&one, &z);
    q.copy(&z);
    sums
}

/// A vector that is renewed is a zero vector of the other layout.
#[test]
fn renewed_vectors_have_the_other_layout() {
    for ranks in RANKS {
        on_ranks(ranks, |comm| {
            let of = |rows, block| {
                let layout = Layout::even(rows, block, ranks).unwrap();
                let partition = Partition::new(comm.clone(), layout).unwrap();
                let own = vec![2.0; partition.count() * block];
                partition.vector(own).unwrap()
            };
            let (mut v, all) = (of(29, 3), [of(29, 3), of(5, 1), of(90, 2)]);
            for other in &all {
                v.renew_like(other).unwrap();
                assert!(v.same_layout(other) && v.own().len() == other.local_size());
                assert_eq!(v.norm(), 0.0);
                v.copy(other);
                assert_eq!(v.norm(), other.norm());
            }
        });
    }
}

/// Sums keep their values, whenever and in which order they are read, and whether they are read at all.
#[test]
fn sums_are_read_late() {
    let host: Vec<Vec<f64>> = (0..3).map(|seed| noise(87, seed)).collect();
    for ranks in RANKS {
        for (k, layout) in layouts(29, 3, ranks).into_iter().enumerate() {
            // More sums than there are tags.
            let times = if ranks == 2 && k == 0 { 300 } else { 2 };
            on_ranks(ranks, |comm| {
                let partition = Partition::new(comm.clone(), layout.clone()).unwrap();
                let [x, y, z] = [0, 1, 2].map(|k| partition.part_of(&host[k]).unwrap());
                let blocking = |x: &DistVector<_>, y: &DistVector<_>| {
                    let mut sum = [Vec::dot(&x.own().to_vec(), &y.own().to_vec())];
                    comm.all_reduce(&mut sum).unwrap();
                    sum[0].to_bits()
                };
                for _ in 0..times {
                    let [first, second, unread] = [x.dot(&y), y.dot(&z), x.dot(&x)];
                    let kept = second.clone();
                    drop(unread);
                    let third = z.dot(&z);
                    assert_eq!((-third).read().to_bits(), (-f64::from_bits(blocking(&z, &z))).to_bits());
                    assert_eq!(kept.read().to_bits(), blocking(&y, &z));
                    assert_eq!(first.read().to_bits(), blocking(&x, &y));
                    assert_eq!((second + x.scalar(1.0)).read(), kept.read() + 1.0);
                }
            });
        }
    }
}

/// With leaves, sums have the same bits for any number of ranks.
#[test]
fn reproducible_sums_do_not_depend_on_ranks() {
    let [x, y] = [1, 2].map(|seed| noise(87, seed));
    let sums = |ranks: usize| {
        let all = on_ranks(ranks, |comm| {
            let partition = Partition::new(comm, Layout::reproducible(29, 3, ranks, LEAF).unwrap()).unwrap();
            let (x, y) = (partition.part_of(&x).unwrap(), partition.part_of(&y).unwrap());
            let [a, b] = x.dots([&y, &x]);
            bits(&[a, b, x.dot_magnitude(&y).magnitude, x.dot(&y), x.scalar(x.norm())].map(|sum| sum.read()))
        });
        assert!(all.iter().all(|one| *one == all[0]));
        all[0].clone()
    };
    let alone = sums(1);
    RANKS.iter().for_each(|&ranks| assert_eq!(sums(ranks), alone, "{ranks} ranks"));
}

#[test]
fn the_first_nan_is_found_on_every_rank() {
    for at in [0, 40, 86] {
        let mut x = noise(87, 1);
        x[at] = f64::NAN;
        let found = on_ranks(3, |comm| {
            let partition = Partition::new(comm, Layout::even(29, 3, 3).unwrap()).unwrap();
            partition.part_of(&x).unwrap().first_not_finite()
        });
        assert_eq!(found, [Some(at); 3]);
    }
}

/// On two ranks, a reduction is one message from each.
#[test]
fn several_sums_are_one_reduction() {
    on_ranks(2, |comm| {
        let comm = Counted::new(comm);
        let partition = Partition::new(comm.clone(), Layout::even(29, 3, 2).unwrap()).unwrap();
        let v: Vec<_> = (0..9).map(|seed| partition.part_of(&noise(87, seed)).unwrap()).collect();
        let sent = || comm.traffic().iter().map(|stage| stage.messages).sum::<u64>();
        let count = |sum: &dyn Fn() -> f64| {
            let before = sent();
            assert!(sum().is_finite());
            sent() - before
        };
        let all = || {
            let mut sums = Vec::new();
            v[0].dots_with(&v[1..], &mut sums);
            sums[0].read()
        };
        assert_eq!(count(&all), 1);
        assert_eq!(count(&|| v[0].dots([&v[1], &v[2], &v[3]])[0].read()), 1);
        let pairs = || Vector::dot_magnitudes([(&v[0], &v[1]), (&v[2], &v[3])])[0].value.read();
        assert_eq!(count(&pairs), 1);
    });
}

/// Every rank gets what the owners of rows reply, row by row, whatever the lengths.
#[test]
fn rows_of_other_ranks_are_fetched() {
    for ranks in RANKS {
        for layout in layouts(30, 2, ranks) {
            on_ranks(ranks, |comm| {
                let partition = Partition::new(comm, layout.clone()).unwrap();
                let own = partition.layout().range(partition.rank());
                let wanted: Vec<u64> = (0..30).filter(|row| !own.contains(row) && row % 3 != 1).collect();
                let rows = partition.fetch(&wanted, |row, bytes| {
                    assert!(own.contains(&row));
                    bytes.extend(vec![row as u8; row as usize % 4]);
                });
                let expected: Vec<_> = wanted.iter().map(|&row| vec![row as u8; row as usize % 4]).collect();
                assert_eq!(rows.unwrap(), expected);
            });
        }
    }
}
