//! Impact zones: the bits of one rank, no pair that meets, momentum, and limits of nodes.

use coarsen_contact::{ClothContact, ImpactZones, Pair, clearance};
use coarsen_core::SplitMix64;
use coarsen_distributed_solvers::{ROUNDS, Resolved, resolve_impacts};

use super::common::{THICKNESS, flat, folded, grid, search};
use crate::common::{RANKS, bits, on_ranks};

const N: u32 = 17;

/// Displacements that would close the fold: the upper half moves down through the lower one, which rises; all are shaken and
/// drift.
fn closing(far: f64) -> Vec<[f64; 3]> {
    let noise = SplitMix64::new(8).numbers(3 * (N * N) as usize);
    let of = |(v, [u, ..]): (usize, [f64; 3])| {
        let shake = |k: usize| 0.3 * THICKNESS * noise[3 * v + k];
        [0.01 + shake(0), shake(1), far * THICKNESS * if u > 0.5 { -1.0 } else { 1.0 } + shake(2)]
    };
    flat(N).into_iter().enumerate().map(of).collect()
}

fn mass(node: u32) -> f64 {
    1.0 + 0.1 * f64::from(node % 7)
}

/// What every rank has after the zones, and whether pairs still meet.
fn resolved(
    ranks: usize,
    far: f64,
    masses: fn(u32) -> f64,
    stop: fn(u32, [f64; 3]) -> Option<([f64; 3], f64)>,
) -> Vec<(Vec<[f64; 3]>, Resolved, usize)> {
    let (x, held) = (folded(N), vec![false; (N * N) as usize]);
    on_ranks(ranks, |comm| {
        let mut contact =
            ClothContact::with(search(comm.clone()), &grid(N), &held, &x, THICKNESS, 40.0).unwrap();
        let mut dx = closing(far);
        let before = contact.impacts(x.as_flattened(), &dx).unwrap().len();
        let done = resolve_impacts(&comm, &mut contact, x.as_flattened(), masses, stop, &mut dx).unwrap();
        // Anew, without what was known from the rounds.
        let mut rebuilt = ClothContact::with(search(comm), &grid(N), &held, &x, THICKNESS, 40.0).unwrap();
        assert_eq!(rebuilt.impacts(x.as_flattened(), &dx).unwrap(), []);
        (dx, done, before)
    })
}

/// Also displacements that change so much that pairs are searched again between rounds.
#[test]
fn impact_zones_separate_pairs_and_keep_momentum() {
    for far in [1.5, 6.0] {
        let one = &resolved(1, far, mass, |_, _| None)[0];
        assert!(one.2 > 100 && !one.1.left && one.1.rounds > 0, "{:?}", one.1);
        let momentum = |dx: &[[f64; 3]]| {
            let along = |k: usize| dx.iter().zip(0..).map(|(u, node)| mass(node) * u[k]).sum::<f64>();
            [0, 1, 2].map(along)
        };
        let [before, after] = [momentum(&closing(far)), momentum(&one.0)];
        assert!(before.iter().zip(after).all(|(a, b)| (a - b).abs() < 1e-9), "{before:?} {after:?}");
        let moved: Vec<[f64; 3]> =
            folded(N).iter().zip(&one.0).map(|(x, u)| [0, 1, 2].map(|k| x[k] + u[k])).collect();
        let (distance, _) = clearance(&grid(N), &moved, THICKNESS).unwrap().expect("a near pair");
        assert!(distance >= 0.1 * THICKNESS * (1.0 - 1e-9), "{distance}");
        for ranks in RANKS {
            for (dx, done, _) in resolved(ranks, far, mass, |_, _| None) {
                assert!(bits(dx.as_flattened()) == bits(one.0.as_flattened()) && done == one.1, "{ranks}");
            }
        }
    }
}

/// Displacements that are slowed after the last round keep the momentum too, and held nodes stop a zone.
#[test]
fn pairs_that_are_slowed_end_at_their_impact() {
    let pair = Pair::VertexFace { vertex: 3, face: [0, 1, 2] };
    let falling = [[0.0; 3], [0.0; 3], [0.0; 3], [0.0, 0.0, -4.0], [1.0; 3]];
    let mut dx = falling;
    assert_eq!(ImpactZones::rigid_fail_safe(&[(0.5, pair)], |_| 1.0, &mut dx), [0, 1, 2, 3]);
    assert_eq!(dx.map(|u| u[2]), [-0.5, -0.5, -0.5, -2.5, 1.0]);
    let mut dx = falling;
    ImpactZones::rigid_fail_safe(&[(0.5, pair)], |node| if node == 0 { f64::INFINITY } else { 1.0 }, &mut dx);
    assert_eq!(dx.map(|u| u[2]), [0.0, 0.0, 0.0, -2.0, 1.0]);
}

/// Held nodes keep their displacements, and limits of nodes are met.
#[test]
fn held_nodes_stay_and_limits_are_met() {
    let held = |node: u32| if node < 5 { f64::INFINITY } else { mass(node) };
    let floor = |node: u32, u: [f64; 3]| {
        (node.is_multiple_of(5) && u[2] < -0.0104).then_some(([0.0, 0.0, 1.0], -0.01))
    };
    let one = &resolved(1, 1.5, held, floor)[0];
    assert_eq!(one.0[..5], closing(1.5)[..5]);
    let low = |node: usize| node.is_multiple_of(5) && node >= 5 && one.0[node][2] < -0.011;
    assert!(!one.1.left && !(0..one.0.len()).any(low), "{:?}", one.1);
    for ranks in [2, 3, 7] {
        for (dx, ..) in resolved(ranks, 1.5, held, floor) {
            assert!(bits(dx.as_flattened()) == bits(one.0.as_flattened()), "{ranks}");
        }
    }
}

/// Limits that cannot be met are counted, on every rank.
#[test]
fn limits_that_are_left_are_counted() {
    let up = |node: u32, _: [f64; 3]| (node == 40).then_some(([0.0, 0.0, 1.0], 0.0));
    for ranks in [1, 3] {
        for (_, done, _) in resolved(ranks, 1.5, mass, up) {
            assert!(done.over == 1 && done.rounds >= ROUNDS, "{ranks}: {done:?}");
        }
    }
    assert_eq!(resolved(1, 1.5, mass, |_, _| None)[0].1.over, 0);
}
