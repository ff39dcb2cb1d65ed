//! Springs, pins, contact potentials, steps and characteristic forces by hand, and the numbers that they refuse.

use coarsen_elastic::{
    Attachments, BaraffWitkin, Barrier, BodyError, ContactPotential, Fibers, ImplicitEuler, Penalty,
    Potential, Spring, Springs,
};
use coarsen_mesh::Mesh;

/// Two tetrahedra: the corner of a unit cube, and the corner of a box with sides 2, 1, 1 beside it. Their
/// volumes are 1/6 and 2/6, and the faces opposite to the common corner have the areas √3/2 and 3/2.
#[test]
fn the_characteristic_force_of_a_corner_by_hand() {
    let positions = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-2.0, 0.0, 0.0]].to_vec();
    let tetrahedra = vec![[0, 1, 2, 3], [0, 4, 3, 2]];
    let mesh = Mesh { positions, tetrahedra, ..Mesh::default() };
    // The norm of the stiffness at rest is √3 k.
    let fibers = |e| Fibers { stretch: [1.0, 4.0][e] / 3.0_f64.sqrt(), shear: 1.0 };
    let body = BaraffWitkin::new(&mesh, &[false; 5], fibers).unwrap();
    let masses = body.masses(4.0);
    assert!((masses[1] - 1.0 / 6.0).abs() < 1e-16 && (masses[4] - 1.0 / 3.0).abs() < 1e-16);
    let mut forces = [0.0; 5];
    body.add_characteristic(&mut forces);
    let (stiffness, area) = ((1.0 + 2.0 * 4.0) / 3.0, 0.5 * 3.0_f64.sqrt() + 1.5);
    assert!((forces[0] - stiffness * area).abs() < 1e-14, "{forces:?}");
}

#[test]
fn both_ends_at_one_node_are_refused() {
    let spring = |ends: [u32; 2]| Spring { ends, stiffness: 1.0, length: 1.0 };
    let refused = Springs::new(vec![spring([0, 1]), spring([1, 1])], &[false; 2], &[[0.0; 3]; 2]).err();
    assert_eq!(refused, Some(BodyError::Loop { index: 1, node: 1 }));
}

#[test]
fn springs_that_are_not_positive_are_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for (stiffness, length) in [(bad, 1.0), (1.0, bad)] {
            let springs = [(1.0, 1.0), (stiffness, length)].map(|(s, l)| Spring {
                ends: [0, 1],
                stiffness: s,
                length: l,
            });
            let refused = Springs::new(springs.to_vec(), &[false; 2], &[[0.0; 3]; 2]).err();
            assert!(
                matches!(refused, Some(BodyError::Degenerate { index: 1, .. })),
                "{stiffness} {length}: {refused:?}"
            );
        }
    }
}

/// The same pins have the same energy, whatever the order of calls.
#[test]
fn the_order_of_calls_does_not_change_bits() {
    let n = 200_000;
    let point = |node: usize| [0.1 * node as f64, 0.3, -0.7 / (1 + node) as f64];
    let kept = |node: &usize| node % 3 != 1;
    let mut upwards = Attachments::new(n).unwrap();
    (0..n).filter(kept).for_each(|node| upwards.attach(node, point(node), 2.0).unwrap());
    let mut downwards = Attachments::new(n).unwrap();
    (0..n).rev().for_each(|node| downwards.attach(node, [9.0; 3], 1.0).unwrap());
    (0..n).filter(|node| !kept(node)).for_each(|node| assert!(downwards.release(node)));
    (0..n).rev().filter(kept).for_each(|node| downwards.attach(node, point(node), 2.0).unwrap());
    assert_eq!(upwards.len(), downwards.len());
    let x: Vec<f64> = (0..3 * n).map(|k| (k as f64).sin()).collect();
    let energy = upwards.energy(&x);
    assert!(energy.value > 0.0 && energy == downwards.energy(&x));
    // After an evaluation pins are still found.
    assert!(downwards.release(0) && !downwards.release(0) && !downwards.release(n));
    let mut without = Attachments::new(n).unwrap();
    (1..n).filter(kept).for_each(|node| without.attach(node, point(node), 2.0).unwrap());
    assert_eq!(without.energy(&x), downwards.energy(&x));
    downwards.attach(0, point(0), 2.0).unwrap();
    assert_eq!(energy, downwards.energy(&x));
}

#[test]
fn pins_without_meaning_are_refused() {
    let mut pins = Attachments::new(2).unwrap();
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(matches!(pins.attach(1, [0.0, bad, 0.0], 1.0), Err(BodyError::Value { .. })), "{bad}");
        assert!(matches!(pins.attach(1, [0.0; 3], bad), Err(BodyError::Value { .. })), "{bad}");
    }
    assert!(matches!(pins.attach(2, [0.0; 3], 1.0), Err(BodyError::Node { node: 2, .. })));
    assert!(pins.is_empty());
}

#[test]
#[should_panic(expected = "wrong length")]
fn positions_of_other_nodes_have_no_pins() {
    Attachments::new(2).unwrap().energy(&[0.0; 9]);
}

#[test]
fn contact_potentials_out_of_range_are_refused() {
    let check = |potential: ContactPotential| potential.check();
    assert_eq!(check(Penalty { stiffness: 2.0 }.into()), Ok(()));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = check(Penalty { stiffness: bad }.into());
        assert!(matches!(refused, Err(BodyError::Value { .. })), "{bad}: {refused:?}");
        for (stiffness, reach) in [(bad, 1.0), (1.0, bad)] {
            let refused = check(Barrier { stiffness, reach }.into());
            assert!(matches!(refused, Err(BodyError::Value { .. })), "{bad}: {refused:?}");
        }
    }
}

#[test]
fn slopes_of_a_barrier_are_its_derivatives() {
    let (potential, h) = (Barrier { stiffness: 3.0, reach: 0.2 }, 1e-6);
    for d in [0.01, 0.05, 0.1, 0.15, 0.199] {
        let ([_, slope, bend], [more, less]) = (potential.at(d), [h, -h].map(|h| potential.at(d + h)));
        assert!(((more[0] - less[0]) / (2.0 * h) - slope).abs() < 1e-6 * slope.abs().max(1.0), "{d}");
        assert!(((more[1] - less[1]) / (2.0 * h) - bend).abs() < 1e-6 * bend.abs().max(1.0), "{d}");
        assert!(bend > 0.0);
    }
    assert_eq!(potential.at(0.2), [0.0; 3]);
    assert!(potential.at(0.0)[0].is_infinite());
    assert!((ContactPotential::from(potential).max_step(0.1, -1.0) - 0.09).abs() < 1e-15);
}

#[test]
fn masses_and_steps_that_are_not_positive_are_refused() {
    let rope = || {
        let spring = Spring { ends: [0, 1], stiffness: 1.0, length: 1.0 };
        Springs::new(vec![spring], &[false; 2], &[[0.0; 3]; 2]).unwrap()
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = ImplicitEuler::new(rope(), &[1.0, bad], 0.1).err();
        assert!(matches!(refused, Some(BodyError::Mass { node: 1, .. })), "{bad}: {refused:?}");
        let refused = ImplicitEuler::new(rope(), &[1.0; 2], bad).err();
        assert!(matches!(refused, Some(BodyError::Value { .. })), "{bad}: {refused:?}");
    }
}
