//! Impacts of a step: only pairs that meet, and none after zones have parted them.

use coarsen_contact::{ClothContact, ImpactZones, Pair, time_of_impact};

/// A vertex that slides above a large triangle and ends above half of the thickness, 1, does not meet it, from whatever
/// distance it comes.
#[test]
fn a_pair_that_would_meet_after_the_end_does_not_meet() {
    let pair = Pair::VertexFace { vertex: 0, face: [1, 2, 3] };
    for start in [2.0, 3.0, 4.0] {
        let x = [[0.0, 0.0, start], [-50.0, -50.0, 0.0], [50.0, -50.0, 0.0], [0.0, 60.0, 0.0]];
        let p = [[2.0, 0.0, 0.5 - start], [0.0; 3], [0.0; 3], [0.0; 3]];
        assert_eq!(time_of_impact(&pair, &x, &p, 0.1, 1.0), None, "{start}");
        let through = [[2.0, 0.0, -start], [0.0; 3], [0.0; 3], [0.0; 3]];
        let t = time_of_impact(&pair, &x, &through, 0.1, 1.0).expect("an impact");
        let left = start * (1.0 - t);
        assert!(left > 0.1 && t < 1.0, "{start}: {t}");
    }
}

/// A triangle falls and slides with one corner above a large one. One round of zones parts them, from a small or a large
/// distance, so that no later round finds them again; and the corner goes along the large triangle as far as it would.
#[test]
fn separated_pairs_do_not_touch_again() {
    for start in [2.0, 3.0, 5.0, 10.0] {
        for slide in [0.0, 2.0, 6.0] {
            let x = [
                [-50.0, -50.0, 0.0],
                [50.0, -50.0, 0.0],
                [0.0, 60.0, 0.0],
                [0.0, 0.0, start],
                [1.0, 0.0, start + 20.0],
                [0.0, 1.0, start + 20.0],
            ];
            let mut contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x, 1.0, 50.0).unwrap();
            let mut dx = [[0.0; 3]; 6];
            dx[3..].fill([slide, 0.0, -start - 1.0]);
            let mut zones = ImpactZones::default();
            let met = contact.impacts(x.as_flattened(), &dx).unwrap();
            assert!(met.len() == 1 && met[0].0 < 1.0, "{start}, {slide}: {met:?}");
            zones.add_impact(&contact, met[0], &dx);
            zones.separate(|_| 1.0, contact.thickness(), &mut dx);
            let met = contact.impacts(x.as_flattened(), &dx).unwrap();
            assert!(met.is_empty(), "{start}, {slide}: {met:?}");
            assert!((dx[3][0] - slide).abs() < 1e-9, "{dx:?}");
        }
    }
}

/// Limits that share no node are met after one round, and a second round changes nothing.
/// Limits that share a node are not met by one round; each keeps the momentum, and repeated rounds reach the
/// displacements that `separate` finds.
#[test]
fn a_round_of_impulses_meets_limits_that_share_no_node() {
    let mut apart = ImpactZones::default();
    let mut dx = [[0.0, 0.0, -3.0]; 4];
    (0..4).for_each(|node| apart.add_limit(node, [0.0, 0.0, 1.0], -f64::from(node)));
    assert!(apart.round(|_| 2.0, &mut dx) > 1.0);
    assert_eq!(dx.map(|u| u[2]), [0.0, -1.0, -2.0, -3.0]);
    assert_eq!(apart.round(|_| 2.0, &mut dx), 0.0);

    // A corner above each of two large triangles, far apart: two pairs without a common node.
    let pair = |at: f64| {
        let large = [[at - 9.0, -9.0, 0.0], [at + 9.0, -9.0, 0.0], [at, 9.0, 0.0]];
        [large, [[at, 0.0, 1.0], [at + 1.0, 0.0, 9.0], [at, 1.0, 9.0]]].concat()
    };
    let x = [pair(0.0), pair(100.0)].concat();
    let faces: Vec<[u32; 3]> = (0..4).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    let mut contact = ClothContact::new(&faces, &[false; 12], &x, 0.2, 50.0).unwrap();
    let mut dx = [[0.0; 3]; 12];
    for corner in [3, 9] {
        dx[corner][2] = -2.0;
    }
    let met = contact.impacts(x.as_flattened(), &dx).unwrap();
    let mut zones = ImpactZones::default();
    met.iter().for_each(|impact| zones.add_impact(&contact, *impact, &dx));
    assert!(met.len() == 2 && zones.round(|_| 1.0, &mut dx) > 0.5, "{met:?}");
    assert!(zones.round(|_| 1.0, &mut dx) < 1e-12);

    // Four triangles, one above the other; the highest falls on the others, so that limits share the middle ones.
    let triangle = |z: f64| [[0.0, 0.0, z], [4.0, 0.0, z], [0.0, 4.0, z]];
    let x: Vec<[f64; 3]> = (0..4).flat_map(|k| triangle(f64::from(k))).collect();
    let mut contact = ClothContact::new(&faces, &[false; 12], &x, 0.2, 50.0).unwrap();
    let mut start = vec![[0.0; 3]; 12];
    start[9..].fill([0.0, 0.0, -4.0]);
    start[6..9].fill([0.0, 0.0, -2.0]);
    let met = contact.impacts(x.as_flattened(), &start).unwrap();
    let mut zones = ImpactZones::default();
    met.iter().for_each(|impact| zones.add_impact(&contact, *impact, &start));
    let momentum = |dx: &[[f64; 3]]| dx.iter().map(|u| u[2]).sum::<f64>();
    let (mut together, mut dx) = (zones.clone(), start.clone());
    together.separate(|_| 1.0, 1e-9, &mut dx);
    let mut rounds = 0;
    let mut own = start.clone();
    while zones.round(|_| 1.0, &mut own) > 1e-11 {
        rounds += 1;
        assert!((momentum(&own) - momentum(&start)).abs() < 1e-12 && rounds < 1000, "{rounds}");
    }
    assert!(rounds > 1, "{rounds}");
    assert!(own.iter().flatten().zip(dx.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-6));
}
