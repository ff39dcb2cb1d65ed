//! The searches of ranks give the lists of one host, with equal work, and errors on all ranks.

use coarsen_contact::{Aabb, BroadPhase, ClothContact, ContactError, Pair, Search, Topology, Touch};
use coarsen_distributed::{Communicator, Layout, Partition};
use coarsen_elastic::Potential;

use super::common::{THICKNESS, flat, folded, grid, search};
use crate::common::{RANKS, bits, on_ranks};

/// All pairs, on one host, whose boxes overlap at these positions and that `keep` accepts.
fn expected(parts: &Topology, x: &[[f64; 3]], reach: f64, keep: fn(&Pair) -> bool) -> Vec<Pair> {
    let mut pairs = Vec::new();
    BroadPhase::default()
        .find(parts, |node| Aabb::of([x[node as usize]]).grown(reach), keep, &mut pairs)
        .unwrap();
    pairs
}

/// Surfaces, positions and the reach of boxes: folded, flat, all nodes in a tiny box, two triangles, no triangle.
fn surfaces() -> Vec<(Topology, Vec<[f64; 3]>, f64)> {
    let of = |triangles: &[[u32; 3]], rest: &[[f64; 3]]| {
        Topology::new(triangles, &vec![false; rest.len()], rest).unwrap()
    };
    let (n, two) = (25, [[0, 1, 2], [3, 4, 5]]);
    let apart: Vec<[f64; 3]> =
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]].iter().flat_map(|[x, y]| [[*x, *y, 0.0]]).collect();
    let both: Vec<[f64; 3]> = apart.iter().map(|p| p.map(|x| x + 0.01)).collect();
    let both = [apart, both].concat();
    vec![
        (of(&grid(n), &flat(n)), folded(n), THICKNESS),
        (of(&grid(n), &flat(n)), flat(n), THICKNESS),
        (of(&grid(9), &flat(9)), flat(9).iter().map(|p| p.map(|x| 1e-3 * x)).collect(), 0.1),
        (of(&two, &both), both.clone(), 0.02),
        (of(&[], &both), both, 0.02),
    ]
}

/// The lists of the shares are together that of one host; tests of ranks are equal except for one in each of 16 pieces.
#[test]
fn pairs_are_those_of_one_host() {
    for (case, (parts, x, reach)) in surfaces().iter().enumerate() {
        let keep = |pair: &Pair| pair.nodes().iter().sum::<u32>() % 3 != 0;
        let host = expected(parts, x, *reach, keep);
        assert_eq!(host.is_empty(), case == 4, "{case}");
        for ranks in RANKS {
            let all = on_ranks(ranks, |comm| {
                let (mut search, mut found) = (search(comm), Vec::new());
                let of = |node: u32| Aabb::of([x[node as usize]]).grown(*reach);
                search.pairs(parts, None, &of, &keep, &mut found).unwrap();
                assert!(found.is_sorted());
                (search.tests(), found)
            });
            let (counts, lists): (Vec<u64>, Vec<_>) = all.into_iter().unzip();
            let mut together = lists.concat();
            together.sort();
            assert!(together == host, "{case}, {ranks} ranks: {} pairs of {}", together.len(), host.len());
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 16, "{case}, {ranks} ranks: {counts:?}");
        }
    }
}

/// From the second search on, ranks build hashes of what is near their queries. The lists are together that of one
/// host, and the hashes of a sheet whose rows are neighbours have little more than a share of it.
#[test]
fn hashes_are_shared() {
    shared_hashes(&[4]);
}

#[test]
#[ignore = "8 s: run by .ci/full"]
fn long_hashes_are_shared() {
    shared_hashes(&[2, 3, 4, 7]);
}

/// Compares the lists on each number of ranks; those of a large sheet on the given ones.
fn shared_hashes(of_large: &[usize]) {
    let n = 101;
    let large = (
        Topology::new(&grid(n), &vec![false; (n * n) as usize], &flat(n)).unwrap(),
        folded(n),
        0.4 * THICKNESS,
    );
    for (case, (parts, x, reach)) in surfaces().iter().chain([&large]).enumerate() {
        let keep = |pair: &Pair| pair.nodes().iter().sum::<u32>() % 3 != 0;
        // The sheet moves, and a part of it moves against the rest.
        let moved: Vec<[f64; 3]> = x
            .iter()
            .map(|&[u, v, w]| [u + 0.3, v, w + if v > 0.5 { 0.2 } else { 0.0 } * THICKNESS])
            .collect();
        let hosts = [x, &moved].map(|x| expected(parts, x, *reach, keep));
        let numbers: &[usize] = if case == surfaces().len() { of_large } else { &[2, 3, 4, 7] };
        for &ranks in numbers {
            let all = on_ranks(ranks, |comm| {
                let (mut search, mut lists) = (search(comm), Vec::new());
                search.whole_below = 0;
                for x in [x, &moved, x] {
                    let (mut found, of) =
                        (Vec::new(), |node: u32| Aabb::of([x[node as usize]]).grown(*reach));
                    search.pairs(parts, None, &of, &keep, &mut found).unwrap();
                    assert!(found.is_sorted());
                    lists.push(found);
                }
                (lists, search.tests(), search.hashed())
            });
            for (k, host) in [0, 1, 0].into_iter().enumerate() {
                let mut together: Vec<Pair> = all.iter().flat_map(|rank| rank.0[k].clone()).collect();
                together.sort();
                let counts = (together.len(), hosts[host].len());
                assert!(together == hosts[host], "{case}, search {k}, {ranks} ranks: {counts:?}");
            }
            if case == surfaces().len() {
                let every = (parts.triangles() + parts.queries()) as f64 - f64::from(n * n);
                let most = all.iter().map(|rank| rank.2).max().unwrap() as f64 / every;
                assert!(most < 1.0 / ranks as f64 + 0.3, "{ranks} ranks: {most}");
                let tests: Vec<f64> = all.iter().map(|rank| rank.1 as f64).collect();
                let mean = tests.iter().sum::<f64>() / ranks as f64;
                assert!(tests.iter().all(|own| (own - mean).abs() <= 0.1 * mean), "{tests:?}");
            }
        }
    }
}

/// Ranks that take the touches at their nodes have those of one host, in its order; an energy, which needs all, is a
/// fault.
#[test]
fn touches_at_own_nodes_are_those_of_one_host() {
    let n = 25;
    let (rest, x) = (flat(n), folded(n));
    let held: Vec<bool> = (0..n * n).map(|v| v % 11 == 0).collect();
    let free = |x: &[[f64; 3]]| -> Vec<f64> {
        x.iter().zip(&held).filter(|(_, held)| !**held).flat_map(|(x, _)| *x).collect()
    };
    let (x, moved) = (free(&x), free(&x.iter().map(|&[u, v, w]| [u, v, 1.1 * w]).collect::<Vec<_>>()));
    let mut host = ClothContact::new(&grid(n), &held, &rest, THICKNESS, 40.0).unwrap();
    let slots: Vec<Option<u64>> = held
        .iter()
        .scan(0, |next, held| {
            let own = *next;
            *next += u64::from(!held);
            Some((!held).then_some(own))
        })
        .collect();
    for at in [&x, &moved] {
        let touches = host.detect(at).unwrap().to_vec();
        assert!(touches.len() > 300);
        for ranks in RANKS {
            on_ranks(ranks, |comm| {
                let layout = Layout::even(x.len() as u64 / 3, 3, ranks).unwrap();
                let partition = Partition::new(comm.clone(), layout).unwrap();
                let search = search(comm).at_nodes_of(&partition, rest.len(), |v| slots[v as usize]);
                let mut contact =
                    ClothContact::with(search, &grid(n), &held, &rest, THICKNESS, 40.0).unwrap();
                let own = partition.layout().range(partition.rank());
                let is_own = |v: u32| slots[v as usize].is_some_and(|row| own.contains(&row));
                let of_host: Vec<Touch> = touches
                    .iter()
                    .filter(|touch| touch.pair.nodes().into_iter().any(is_own))
                    .copied()
                    .collect();
                assert!(contact.detect(at).unwrap() == of_host);
                assert_eq!(contact.search().touching(), touches.len());
                assert_eq!(contact.energy(at).value.is_nan(), ranks > 1);
                let fault = contact.take_fault();
                assert!(ranks == 1 || matches!(fault, Some(ContactError::Ranks { .. })), "{fault:?}");
            });
        }
    }
}

/// Touches, energies and the bounds of steps have the bits of one host; work on a folded sheet is equal within 5 %.
#[test]
fn contact_has_the_bits_of_one_host() {
    let n = 33;
    let (rest, x) = (flat(n), folded(n));
    let x = x.as_flattened();
    let down: Vec<f64> = (0..x.len()).map(|k| if k % 3 == 2 { -x[k] } else { 0.0 }).collect();
    let held = vec![false; rest.len()];
    let mut host = ClothContact::new(&grid(n), &held, &rest, THICKNESS, 40.0).unwrap();
    let touches = host.detect(x).unwrap().to_vec();
    assert!(touches.len() > 1000);
    let (energy, bound) = (host.energy(x).value, host.max_step(x, &down));
    let (far, blocking) = (down.iter().map(|d| 0.01 * d).collect::<Vec<_>>(), host.blocking());
    assert!(bound < 1.0 && blocking.is_some());
    let longer = host.max_step(x, &far);
    for ranks in RANKS {
        let tests = on_ranks(ranks, |comm| {
            let mut contact =
                ClothContact::with(search(comm), &grid(n), &held, &rest, THICKNESS, 40.0).unwrap();
            let found = contact.detect(x).unwrap();
            assert_eq!(found.len(), touches.len());
            for (a, b) in found.iter().zip(&touches) {
                assert!(a.pair == b.pair && bits(&a.numbers()) == bits(&b.numbers()), "{a:?} for {b:?}");
            }
            let tests = contact.search().tests();
            assert_eq!(contact.energy(x).value.to_bits(), energy.to_bits());
            assert_eq!(contact.max_step(x, &down).to_bits(), bound.to_bits());
            assert_eq!(contact.blocking(), blocking);
            assert_eq!(contact.max_step(x, &far).to_bits(), longer.to_bits());
            tests as f64
        });
        let mean = tests.iter().sum::<f64>() / ranks as f64;
        assert!(tests.iter().all(|own| (own - mean).abs() <= 0.05 * mean), "{tests:?}");
    }
}

/// Steps that are announced have the touches and impacts of one host, from shares of the searches for some nodes,
/// which hold the pairs of one host together.
#[test]
fn steps_have_the_bits_of_one_host() {
    let n = 21;
    let (rest, start) = (flat(n), folded(n));
    let held: Vec<bool> = (0..n * n).map(|v| v < 3).collect();
    // The halves come together; some nodes turn aside.
    let displacements = |step: usize| -> Vec<[f64; 3]> {
        let displacement = |(v, x): (usize, &[f64; 3])| match v {
            0..3 => [0.0; 3],
            _ if (v + 31 * step) % 61 < 2 => [0.0, 0.0, -0.5 * THICKNESS * x[2].signum()],
            _ => [0.1 * THICKNESS, 0.0, -0.02 * x[2]],
        };
        start.iter().enumerate().map(displacement).collect()
    };
    for ranks in RANKS {
        let searches = on_ranks(ranks, |comm| {
            let mut host = ClothContact::new(&grid(n), &held, &rest, THICKNESS, 40.0).unwrap();
            let mut shared =
                ClothContact::with(search(comm.clone()), &grid(n), &held, &rest, THICKNESS, 40.0).unwrap();
            let (mut x, mut met, mut touched) = (start[3..].as_flattened().to_vec(), 0, 0);
            for step in 0..8 {
                host.start_step(&x);
                shared.start_step(&x);
                let dx = displacements(step);
                let of_host = host.impacts(&x, &dx).unwrap();
                let own = shared.impacts(&x, &dx).unwrap();
                assert!(own.iter().all(|impact| of_host.contains(impact)), "{step}");
                let counts = comm.all_gather(&[own.len() as u8; 1]).unwrap();
                let count: usize = counts.iter().map(|count| usize::from(count[0])).sum();
                assert_eq!(count % 256, of_host.len() % 256, "{step}");
                let share = if of_host.is_empty() { 1.0 } else { 0.1 };
                x.iter_mut().zip(dx[3..].as_flattened()).for_each(|(x, d)| *x += share * d);
                let found = host.detect(&x).unwrap();
                assert!(shared.detect(&x).unwrap() == found, "{step}");
                (met, touched) = (met + of_host.len(), touched + found.len());
            }
            assert!(met > 0 && touched > 1000, "{met} {touched}");
            shared.search().searched_some()
        });
        assert!(searches.iter().all(|count| *count > 2 && *count == searches[0]), "{searches:?}");
    }
}

/// An error of one rank is an error of all, and names the rank; the group goes on.
#[test]
fn errors_reach_all_ranks() {
    let n = 9;
    let (rest, held) = (flat(n), vec![false; 81]);
    let parts = Topology::new(&grid(n), &held, &rest).unwrap();
    // With hashes of the whole surface, and with hashes that are shared from the second search on.
    for (ranks, whole_below) in [2, 3, 7].into_iter().flat_map(|ranks| [(ranks, 32), (ranks, 0)]) {
        on_ranks(ranks, |comm| {
            let (rank, mut search, mut found) = (comm.rank(), search(comm), Vec::new());
            search.whole_below = whole_below;
            let grown = |by: f64| move |x: [f64; 3]| Aabb::of([x]).grown(by);
            search
                .pairs(&parts, None, &|node| grown(0.1)(rest[node as usize]), &|_| true, &mut found)
                .unwrap();
            // One rank has a position that is not a number.
            let lost = |node: u32| {
                grown(0.1)(if rank == 1 && node == 7 { [f64::NAN; 3] } else { rest[node as usize] })
            };
            let error = search.pairs(&parts, None, &lost, &|_| true, &mut found).unwrap_err();
            match (&error, rank) {
                (ContactError::Box { .. }, 1) => {}
                (ContactError::Ranks { reason }, 0 | 2..) => {
                    assert!(reason.starts_with("rank 1 reports: box "), "{reason}");
                }
                _ => panic!("rank {rank}: {error}"),
            }
            // One rank has other positions.
            let other = |node: u32| grown(if rank == 1 { 0.2 } else { 0.1 })(rest[node as usize]);
            let error = search.pairs(&parts, None, &other, &|_| true, &mut found).unwrap_err();
            let ContactError::Ranks { reason } = &error else { panic!("{error}") };
            assert!(reason.starts_with("ranks 0 and 1 disagree"), "{reason}");
            assert!(found.is_empty());
            // The same for the pairs of some nodes, and for other nodes or another search on one rank.
            let some: Vec<bool> = (0..81).map(|v| v < 20).collect();
            let error = search.pairs(&parts, Some(&some), &lost, &|_| true, &mut found).unwrap_err();
            assert!(matches!(error, ContactError::Box { .. }) == (rank == 1), "{error}");
            let good = |node: u32| grown(0.1)(rest[node as usize]);
            let others: Vec<bool> = (0..81).map(|v| v < if rank == 1 { 21 } else { 20 }).collect();
            for case in 0..3 {
                let found = &mut found;
                let error = match case {
                    0 => search.pairs(&parts, Some(&some), &other, &|_| true, found),
                    1 => search.pairs(&parts, Some(&others), &good, &|_| true, found),
                    _ if rank == 1 => search.pairs(&parts, None, &good, &|_| true, found),
                    _ => search.pairs(&parts, Some(&some), &good, &|_| true, found),
                };
                let Err(ContactError::Ranks { reason }) = &error else { panic!("{error:?}") };
                assert!(reason.starts_with("ranks 0 and 1 disagree") && found.is_empty(), "{case}: {reason}");
            }
            let same = |node: u32| grown(0.1)(rest[node as usize]);
            search.pairs(&parts, None, &same, &|_| true, &mut found).unwrap();
            let all = expected(&parts, &rest, 0.1, |_| true);
            // So small a surface is one group, which one rank has.
            assert!(found.len() < all.len() || whole_below == 0);
            assert!(found.iter().all(|pair| all.contains(pair)));
        });
    }
}

/// A rank that ends stops the search of the others with a typed error, also inside a contact.
#[test]
fn a_rank_that_ends_is_an_error() {
    let n = 9;
    let (rest, held) = (flat(n), vec![false; 81]);
    on_ranks(3, |comm| {
        if comm.rank() == 2 {
            return;
        }
        let error =
            ClothContact::with(search(comm), &grid(n), &held, &rest, 0.02, 1.0).err().expect("an error");
        assert!(matches!(&error, ContactError::Ranks { reason } if reason.contains("has ended")), "{error}");
    });
}
