//! Colliders and what they prescribe.

use mpm::collider::{Collider, Kind, Obstacle, Phase};
use mpm::constraints::{Constraints, NodeConstraint};
use mpm::grid::{Grid, Nodes};
use mpm::particles::{Particle, apply};
use mpm::shape::Shape;

use super::{DX, bodies, cloud};

fn nodes() -> Nodes {
    let mut particles: Vec<Particle> = cloud(300, 0.1, 2);
    let grid = Grid::around(&mut particles, DX).unwrap();
    Nodes::from_particles(&grid, &particles, &bodies())
}

/// The constraints of a step of `dt` from time 0.
fn held(nodes: &Nodes, colliders: &[Collider], dt: f64, gravity: [f64; 3]) -> Constraints {
    Constraints::new(nodes, &Obstacle::all(colliders, DX).unwrap(), [0.0, dt], gravity)
}

/// A turning collider moves nodes along circles: the velocity of a step ends on the circle, not outside.
#[test]
fn sticky_nodes_follow_a_rotation() {
    let nodes = nodes();
    let shape = Shape::Sphere { centre: [0.0; 3], radius: 10.0 };
    let turn = Phase { until: 1.0, velocity: [0.5, 0.0, 0.0], rate: 90.0 };
    let collider = Collider::new(shape, Kind::Sticky).moving([0.0, 1.0, 0.0], vec![turn]);
    let constraints = held(&nodes, &[collider], 1.0, [0.0; 3]);
    assert!(constraints.free.is_empty());
    for (x, constraint) in nodes.positions.iter().zip(&constraints.by_node) {
        let NodeConstraint::Fixed(v) = constraint else { panic!("{constraint:?}") };
        // A quarter turn around y takes (x, y, z) to (z, y, −x).
        let end = [x[2] + 0.5, x[1], -x[0]];
        assert!((0..3).all(|k| (x[k] + v[k] - end[k]).abs() < 1e-12), "{x:?} {v:?}");
    }
}

/// A slipping node keeps the normal velocity of the wall, and its free directions are those of the wall. A node
/// that leaves a separating wall is free.
#[test]
fn slipping_nodes_have_the_normal_velocity_of_the_wall() {
    let nodes = nodes();
    let normal = [0.6, 0.8, 0.0];
    let wall = Shape::Plane { point: [0.0; 3], normal };
    let moving = |kind| {
        let phase = Phase { until: 9.0, velocity: [0.3, 0.0, 0.2], rate: 0.0 };
        Collider::new(wall, kind).moving([0.0, 1.0, 0.0], vec![phase])
    };
    let (dt, gravity) = (0.01, [0.0, -9.8, 0.0]);
    let slip = held(&nodes, &[moving(Kind::Slip)], dt, gravity);
    let apart = held(&nodes, &[moving(Kind::Separating)], dt, gravity);
    let dot = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
    let (mut kinds, solid) = ([0; 3], wall.solid().unwrap());
    for (node, (v, x)) in nodes.velocities.iter().zip(&nodes.positions).enumerate() {
        if solid.distance(*x) >= 0.0 {
            assert_eq!(slip.by_node[node], NodeConstraint::Free);
            kinds[0] += 1;
            continue;
        }
        let NodeConstraint::Slip { free, given } = slip.by_node[node] else {
            panic!("{:?}", slip.by_node[node])
        };
        let after: [f64; 3] = std::array::from_fn(|k| v[k] + given[k]);
        assert!((dot(after, normal) - dot([0.3, 0.0, 0.2], normal)).abs() < 1e-9);
        assert!(apply(&free, normal).iter().all(|v| v.abs() < 1e-9));
        let leaves = dot(std::array::from_fn(|k| v[k] + dt * gravity[k] - [0.3, 0.0, 0.2][k]), normal) > 0.0;
        assert_eq!(apart.by_node[node] == NodeConstraint::Free, leaves);
        kinds[1 + usize::from(leaves)] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 5), "{kinds:?}");
}

/// Two walls leave one direction, three none.
#[test]
fn walls_add_up() {
    let nodes = nodes();
    let wall = |normal| Collider::new(Shape::Plane { point: [9.0; 3], normal }, Kind::Slip);
    let walls = [wall([1.0, 0.0, 0.0]), wall([0.5, 1.0, 0.0]), wall([0.1, 0.2, 1.0])];
    let two = held(&nodes, &walls[..2], 0.01, [0.0; 3]);
    for (constraint, v) in two.by_node.iter().zip(&nodes.velocities) {
        let NodeConstraint::Slip { free, given } = constraint else { panic!("{constraint:?}") };
        let trace = free[0][0] + free[1][1] + free[2][2];
        assert!(
            (trace - 1.0).abs() < 1e-9 && (v[0] + given[0]).abs() < 1e-9 && (v[1] + given[1]).abs() < 1e-9
        );
    }
    // Walls with nearly opposite normals, one of which moves: the first one decides, and no velocity grows.
    let down = Phase { until: 1.0, velocity: [0.0, -1.0, 0.0], rate: 0.0 };
    let moving = wall([1e-4, -1.0, 0.0]).moving([0.0, 1.0, 0.0], vec![down]);
    let pressed = held(&nodes, &[wall([0.0, 1.0, 0.0]), moving], 0.01, [0.0; 3]);
    for constraint in &pressed.by_node {
        let NodeConstraint::Slip { given, .. } = constraint else { panic!("{constraint:?}") };
        assert!(given.iter().all(|v| v.abs() < 10.0), "{given:?}");
    }
    let three = held(&nodes, &walls, 0.01, [0.0; 3]);
    let still = |constraint: &NodeConstraint| matches!(constraint, NodeConstraint::Fixed(v) if v.iter().all(|v| v.abs() < 1e-9));
    assert!(three.by_node.iter().all(still) && three.free.is_empty());
}

/// In a groove of 60° each wall has its own part of the impulse, so that friction is that of one wall.
#[test]
fn two_walls_share_the_impulse() {
    let nodes = nodes();
    let normals = [[0.75_f64.sqrt(), 0.5, 0.0], [-(0.75_f64.sqrt()), 0.5, 0.0]];
    let parts = [2.0, 3.0];
    let r: [f64; 3] = std::array::from_fn(|k| parts[0] * normals[0][k] + parts[1] * normals[1][k]);
    for (order, rough) in [([0, 1], 0), ([0, 1], 1), ([1, 0], 0), ([1, 0], 1)] {
        let wall = |at: usize| Collider {
            friction: if at == rough { 0.5 } else { 0.0 },
            ..Collider::new(Shape::Plane { point: [9.0, 99.0, 0.0], normal: normals[at] }, Kind::Slip)
        };
        let grips = held(&nodes, &order.map(wall), 0.01, [0.0; 3]).grips;
        assert_eq!(grips.len(), nodes.len());
        for grip in &grips {
            let part: f64 = (0..3).map(|k| grip.share[k] * r[k]).sum();
            assert!((part - parts[rough]).abs() < 1e-12, "{order:?} {rough}: {grip:?}");
        }
    }
    let wall = |normal| Collider {
        friction: 0.5,
        ..Collider::new(Shape::Plane { point: [9.0, 99.0, 0.0], normal }, Kind::Slip)
    };
    let [alone, both, and_a_third] = [&[0][..], &[0, 1], &[0, 1, 0]].map(|order| {
        held(&nodes, &order.iter().map(|&at| wall(normals[at])).collect::<Vec<_>>(), 0.01, [0.0; 3]).grips
    });
    assert!(alone.iter().all(|grip| grip.share == grip.normal));
    assert!(both == and_a_third && both.iter().all(|grip| grip.share != grip.normal));
}

/// Friction comes from a collider that holds the node: not from a separating one that the node leaves, nor from a wall
/// parallel to an earlier one.
#[test]
fn friction_comes_from_the_wall_that_holds() {
    let nodes = nodes();
    let wall = |normal, kind, friction| Collider {
        friction,
        ..Collider::new(Shape::Plane { point: [9.0; 3], normal }, kind)
    };
    let floor = |friction| wall([0.0, 1.0, 0.0], Kind::Slip, friction);
    let side = wall([1.0, 0.0, 0.0], Kind::Separating, 0.5);
    let both = held(&nodes, &[floor(0.0), side], 0.01, [0.0; 3]);
    let mut kinds = [0; 2];
    for (node, v) in (0..).zip(&nodes.velocities) {
        let grip = both.grips.iter().find(|grip| grip.node == node);
        assert_eq!(
            grip.map(|grip| (grip.normal, grip.friction)),
            (v[0] <= 0.0).then_some(([1.0, 0.0, 0.0], 0.5))
        );
        kinds[usize::from(grip.is_some())] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 5), "{kinds:?}");
    assert!(held(&nodes, &[floor(0.0), floor(0.5)], 0.01, [0.0; 3]).grips.is_empty());
    let first = held(&nodes, &[floor(0.2), floor(0.5)], 0.01, [0.0; 3]);
    assert!(first.grips.len() == nodes.len() && first.grips.iter().all(|grip| grip.friction == 0.2));
    assert!(first.grips.iter().all(|grip| grip.share == grip.normal));
}
