//! Impacts of a step: only pairs that meet, and none after zones have parted them.

use coarsen_contact::{ClothContact, Pair, Zones, time_of_impact};

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
fn pairs_that_zones_have_parted_meet_no_more() {
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
            let mut by = [[0.0; 3]; 6];
            by[3..].fill([slide, 0.0, -start - 1.0]);
            let mut zones = Zones::default();
            let met = contact.impacts(x.as_flattened(), &by).unwrap();
            assert!(met.len() == 1 && met[0].0 < 1.0, "{start}, {slide}: {met:?}");
            zones.meet(&contact, met[0], &by);
            zones.part(|_| 1.0, contact.thickness(), &mut by);
            let met = contact.impacts(x.as_flattened(), &by).unwrap();
            assert!(met.is_empty(), "{start}, {slide}: {met:?}");
            assert!((by[3][0] - slide).abs() < 1e-9, "{by:?}");
        }
    }
}
