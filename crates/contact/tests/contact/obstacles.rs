//! Planes, spheres, capsules and sampled surfaces, and contact of nodes with them.

use std::sync::Arc;

use coarsen_contact::{Capsule, ContactError, Cuboid, Obstacle, Penetration, Plane, SdfGrid, Shape, Sphere};
use coarsen_core::parallel::threads;
use coarsen_elastic::{Barrier, ContactPotential, Curvature, ImplicitEuler, Potential};
use coarsen_sparse::SystemAt;

use crate::common::{check_gradient, check_hessian, gradient, moved, noise};

fn shapes() -> Vec<(&'static str, Box<dyn Shape>)> {
    vec![
        ("plane", Box::new(Plane::through([0.1, 0.2, -0.1], [1.0, 2.0, -0.5]).unwrap())),
        ("sphere", Box::new(Sphere::new([0.2, -0.1, 0.3], 0.6).unwrap())),
        ("capsule", Box::new(Capsule::new([-0.5, 0.1, 0.0], [0.4, 0.3, -0.2], 0.4).unwrap())),
    ]
}

/// Normals agree with differences of distances, and curvatures with differences of normals.
#[test]
fn derivatives_of_distances() {
    let h = 1e-6;
    for (name, shape) in shapes() {
        for x in noise(300, 5).as_chunks::<3>().0 {
            let n = shape.normal(*x);
            assert!((n.iter().map(|n| n * n).sum::<f64>() - 1.0).abs() < 1e-14, "{name}");
            let curvature = shape.curvature(*x);
            for k in 0..3 {
                let [more, less] = [h, -h].map(|by| {
                    let mut x = *x;
                    x[k] += by;
                    x
                });
                let slope = (shape.distance(more) - shape.distance(less)) / (2.0 * h);
                assert!((slope - n[k]).abs() < 1e-7, "{name} at {x:?}: {slope} for {}", n[k]);
                let (more, less) = (shape.normal(more), shape.normal(less));
                for q in 0..3 {
                    let turn = (more[q] - less[q]) / (2.0 * h);
                    let size = curvature.as_flattened().iter().fold(1.0, |m: f64, c| m.max(c.abs()));
                    assert!((turn - curvature[q][k]).abs() < 1e-5 * size * size, "{name} at {x:?}: {turn}");
                }
            }
        }
    }
}

/// The normal of a box is the gradient of its distance, and its curvature that of the normal: outside near a side, an edge and a
/// corner, and inside.
#[test]
fn derivatives_of_boxes() {
    let block = Cuboid::new([[-0.3, 0.0, 0.1], [-0.1, 0.4, 0.3]], 0.01).unwrap();
    let near =
        [[-0.2, 0.5, 0.2], [-0.05, 0.45, 0.2], [0.0, 0.5, 0.4], [-0.31, -0.01, 0.0], [-0.12, 0.2, 0.2]];
    for x in near {
        let (n, curvature) = (block.normal(x), block.curvature(x));
        for k in 0..3 {
            let [more, less] =
                [1e-6, -1e-6].map(|by| std::array::from_fn(|c| if c == k { x[c] + by } else { x[c] }));
            let slope = (block.distance(more) - block.distance(less)) / 2e-6;
            assert!((slope - n[k]).abs() < 1e-8, "{x:?}: {slope} for {n:?}");
            let turn = [0, 1, 2].map(|q| (block.normal(more)[q] - block.normal(less)[q]) / 2e-6);
            assert!((0..3).all(|q| (turn[q] - curvature[q][k]).abs() < 1e-6), "{x:?}: {turn:?}");
        }
        let foot = [0, 1, 2].map(|k| x[k] - block.distance(x) * n[k]);
        assert!(block.distance(foot).abs() < 1e-12, "{x:?}");
    }
    for (corners, radius) in [
        ([[0.0; 3], [1.0, 0.0, 1.0]], 0.1),
        ([[0.0; 3], [1.0; 3]], -0.1),
        ([[0.0; 3], [1.0, 2.0, f64::NAN]], 0.1),
    ] {
        assert!(matches!(Cuboid::new(corners, radius), Err(ContactError::Value { .. })));
    }
}

/// The depth of a point on the axis is the radius. Its normal is a unit vector that points out of the shape.
#[test]
fn the_middle_of_a_shape_has_a_normal() {
    for axis in [[1.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, -2.0], [1.0, -1.0, 1.0]] {
        let capsule = Capsule::new([0.0; 3], axis, 0.5).unwrap();
        let middle = axis.map(|a| 0.5 * a);
        let n = capsule.normal(middle);
        let out: [f64; 3] = std::array::from_fn(|k| middle[k] + 0.5 * n[k]);
        assert!(
            (capsule.distance(middle) + 0.5).abs() < 1e-15 && capsule.distance(out).abs() < 1e-14,
            "{axis:?}"
        );
        assert!(capsule.curvature(middle).as_flattened().iter().all(|c| c.is_finite()));
    }
    let sphere = Sphere::new([1.0; 3], 0.5).unwrap();
    assert_eq!((sphere.distance([1.0; 3]), sphere.distance([1.0, 1.5, 1.0])), (-0.5, 0.0));
    assert_eq!((sphere.normal([1.0; 3]), sphere.curvature([1.0; 3])), ([0.0, 1.0, 0.0], [[0.0; 3]; 3]));
}

/// The corners and triangles of a box along the axes, counter-clockwise from outside.
pub(crate) fn cuboid(low: [f64; 3], high: [f64; 3]) -> (Vec<[f64; 3]>, Vec<[u32; 3]>) {
    let corner = |c: usize| std::array::from_fn(|k| if c >> k & 1 == 1 { high[k] } else { low[k] });
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    (
        (0..8).map(corner).collect(),
        faces.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).collect(),
    )
}

/// The distance to a box, exact outside and inside.
pub(crate) fn to_cuboid(low: [f64; 3], high: [f64; 3], x: [f64; 3]) -> f64 {
    let out: [f64; 3] = std::array::from_fn(|k| (low[k] - x[k]).max(x[k] - high[k]));
    let outside = out.iter().map(|d| d.max(0.0).powi(2)).sum::<f64>().sqrt();
    outside + out.iter().fold(f64::NEG_INFINITY, |m, d| m.max(*d)).min(0.0)
}

/// A sampled box has the distances of the box: up to the interpolation near its edges and its middle planes, and with a
/// bound below and above outside the samples. Normals are those of the nearest face.
#[test]
fn sampled_surfaces_have_the_distances_of_the_solid() {
    let (low, high, h) = ([-0.3, 0.1, -0.2], [0.5, 0.6, 0.33], 0.03);
    let (corners, triangles) = cuboid(low, high);
    let inside = |x: [f64; 3]| to_cuboid(low, high, x) < 0.0;
    let solid = SdfGrid::new(&corners, &triangles, h, inside).unwrap();
    let mut faces = 0;
    for x in noise(30_000, 7).as_chunks::<3>().0 {
        let (found, expected) = (solid.distance(*x), to_cuboid(low, high, *x));
        assert!(
            (found - expected).abs() <= if expected.abs() < 0.1 { h } else { 0.1 },
            "{x:?}: {found} {expected}"
        );
        assert!((found < 0.0) == (expected < 0.0) || expected.abs() < 0.2 * h, "{x:?}: {found} {expected}");
        // Where one face is the nearest by far, interpolation is exact.
        let out: [f64; 3] = std::array::from_fn(|k| (low[k] - x[k]).max(x[k] - high[k]));
        let most = (0..3).max_by(|&a, &b| out[a].total_cmp(&out[b])).unwrap();
        let alone = (0..3).all(|k| k == most || out[k] < out[most].min(0.0) - 4.0 * h);
        let middle = (x[most] - 0.5 * (low[most] + high[most])).abs() < 2.0 * h;
        if alone && !middle && out[most] < 1.5 * h {
            assert!((found - expected).abs() < 1e-12, "{x:?}: {found} {expected}");
            let side = if x[most] > 0.5 * (low[most] + high[most]) { 1.0 } else { -1.0 };
            let n = solid.normal(*x);
            assert!((n[most] - side).abs() < 1e-12, "{x:?}: {n:?} {out:?} {found}");
            faces += 1;
        }
    }
    assert!(faces > 20, "{faces}");
    assert!(solid.distance([f64::NAN, 0.0, 0.0]).is_nan());
    let far = solid.distance([9.0, 0.3, 0.0]);
    assert!((far - 8.5).abs() < 2.0 * h && (solid.normal([9.0, 0.3, 0.0])[0] - 1.0).abs() < 1e-6, "{far}");
}

#[test]
fn surfaces_that_cannot_be_sampled_are_refused() {
    let (corners, triangles) = cuboid([0.0; 3], [1.0; 3]);
    let sample = |corners: &[[f64; 3]], triangles: &[[u32; 3]], h| {
        SdfGrid::new(corners, triangles, h, |_| false).err()
    };
    assert!(matches!(sample(&corners, &triangles, 0.0), Some(ContactError::Value { .. })));
    assert!(matches!(sample(&corners, &[], 0.1), Some(ContactError::Value { .. })));
    assert!(matches!(sample(&corners, &triangles, 1e-4), Some(ContactError::TooMany { .. })));
    assert_eq!(sample(&corners, &[[0, 1, 9]], 0.1), Some(ContactError::Position { node: 9 }));
    let mut lost = corners.clone();
    lost[3][1] = f64::INFINITY;
    assert_eq!(sample(&lost, &triangles, 0.1), Some(ContactError::Position { node: 3 }));
}

#[test]
fn wrong_shapes_are_refused() {
    let value = |refused: Result<(), ContactError>| matches!(refused, Err(ContactError::Value { .. }));
    let at = [0.0, 1.0, 2.0];
    for bad in [0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(value(Plane::through(at, [bad, 0.0, 0.0]).map(drop)), "{bad}");
        assert!(
            value(Sphere::new(at, bad).map(drop)) && value(Capsule::new(at, [9.0; 3], bad).map(drop)),
            "{bad}"
        );
        assert!(value(Obstacle::new(1, Sphere::new(at, 1.0).unwrap(), bad).map(drop)), "{bad}");
        if bad != 0.0 {
            assert!(value(Plane::through([0.0, bad, 0.0], [0.0, 1.0, 0.0]).map(drop)), "{bad}");
            assert!(value(Sphere::new([0.0, bad, 0.0], 1.0).map(drop)), "{bad}");
            assert!(value(Capsule::new(at, [0.0, bad, 0.0], 1.0).map(drop)), "{bad}");
            assert!(value(Capsule::new([0.0, bad, 0.0], at, 1.0).map(drop)), "{bad}");
        }
    }
    assert!(value(Capsule::new(at, at, 1.0).map(drop)) && value(Sphere::new(at, -1.0).map(drop)));
    let tiny = Plane::through([0.0; 3], [0.0, 1e-200, 0.0]).unwrap();
    assert_eq!(tiny.normal(at), [0.0, 1.0, 0.0]);
}

/// Checks the energy, its gradient and its exact Hessian, and that the projected Hessian is k n nᵀ.
#[test]
fn derivatives_of_obstacles() {
    let x = noise(3 * 200, 11);
    for (name, shape) in shapes() {
        let inside = |x: &[f64; 3]| shape.distance(*x) < 0.0;
        let count = x.as_chunks::<3>().0.iter().filter(|x| inside(x)).count();
        assert!(count > 5 && count < 200, "{name}: {count}");
        let deepest = x.as_chunks::<3>().0.iter().map(|x| -shape.distance(*x)).fold(0.0, f64::max);
        let normals: Vec<_> =
            x.as_chunks::<3>().0.iter().filter(|x| inside(x)).map(|x| shape.normal(*x)).collect();
        let mut obstacle = Obstacle::new(200, shape, 30.0).unwrap();
        assert_eq!(obstacle.penetration(&x), Penetration { contacts: count, deepest });
        let energy = obstacle.energy(&x);
        assert!(energy.value > 0.0 && energy.magnitude >= energy.value);
        check_gradient(&mut obstacle, &x, 1e-6, 1e-6);
        let mut f = ImplicitEuler::equilibrium(obstacle).unwrap();
        let projected = f.system_at(&x).unwrap().contact.clone().unwrap();
        assert_eq!(projected.places().len(), count, "{name}");
        for (block, n) in projected.values().as_chunks::<9>().0.iter().zip(normals) {
            let right = |pq: usize| (block[pq] - 30.0 * n[pq / 3] * n[pq % 3]).abs() < 1e-12;
            assert!((0..9).all(right), "{name}");
        }
        check_hessian(f.potential, &x, 1e-6, 1e-4);
    }
}

/// Points outside a shape.
fn outside(shape: &dyn Shape, seed: u64) -> Vec<f64> {
    let points = noise(900, seed);
    let out = points.as_chunks::<3>().0.iter().filter(|x| shape.distance(**x) > 1e-3);
    out.flatten().copied().collect()
}

/// Checks the derivatives of a barrier, that its projected Hessian is φ'' n nᵀ, and that nodes have a force up to its
/// reach.
#[test]
fn derivatives_of_barriers() {
    let potential = Barrier { stiffness: 3.0, reach: 0.3 };
    for (name, shape) in shapes() {
        let x = outside(&shape, 13);
        let distances: Vec<f64> = x.as_chunks::<3>().0.iter().map(|x| shape.distance(*x)).collect();
        let near = distances.iter().filter(|d| **d < 0.3).count();
        assert!(near > 5 && near < distances.len(), "{name}");
        let mut wall = Obstacle::with_potential(distances.len(), shape, potential).unwrap();
        assert_eq!(wall.penetration(&x), Penetration { contacts: near, deepest: 0.0 });
        let energy = wall.energy(&x);
        assert!(energy.value > 0.0 && energy.magnitude >= energy.value);
        check_gradient(&mut wall, &x, 1e-7, 1e-5);
        let mut contacts = Default::default();
        wall.add_contacts(&x, Curvature::Projected, &mut contacts);
        let blocks = contacts.stiffness().as_chunks::<9>().0;
        let traces = blocks.iter().map(|k| k[0] + k[4] + k[8]).sum::<f64>();
        let bends = distances.iter().map(|d| potential.at(*d)[2]).sum::<f64>();
        assert!((traces - bends).abs() < 1e-12 * bends && contacts.stencils().len() == near, "{name}");
        check_hessian(wall, &x, 1e-7, 1e-3);
    }
}

/// No node reaches the shape until the largest step, which is nearly the distance to the shape if a node goes straight at it,
/// also where its distance is not steepest. Nodes that go along the surface of a solid that is not convex go far.
#[test]
fn steps_end_before_a_barrier() {
    let potential = Barrier { stiffness: 3.0, reach: 0.3 };
    let (corners, triangles) = cuboid([-0.3, -0.3, -0.3], [0.4, 0.3, 0.2]);
    let inside = |x: [f64; 3]| to_cuboid([-0.3, -0.3, -0.3], [0.4, 0.3, 0.2], x) < 0.0;
    let sampled = SdfGrid::new(&corners, &triangles, 0.05, inside).unwrap();
    let mut all = shapes();
    all.push(("sampled", Box::new(sampled)));
    for (name, shape) in all {
        for seed in 0..20 {
            let x = outside(&shape, 100 + seed);
            let d = noise(x.len(), 200 + seed);
            let mut wall = Obstacle::with_potential(x.len() / 3, &*shape, potential).unwrap();
            let most = wall.max_step(&x, &d);
            assert!(most > 0.0 && most.is_finite(), "{name}");
            for k in 0..=50 {
                let at = moved(&x, most * f64::from(k) / 50.0, &d);
                assert!(at.as_chunks::<3>().0.iter().all(|x| shape.distance(*x) > 0.0), "{name} {seed}");
            }
        }
        let x = [0.9, 0.8, 0.7];
        let (n, far) = (shape.normal(x), shape.distance(x));
        let mut wall = Obstacle::with_potential(1, &*shape, potential).unwrap();
        let (most, found) = (0.9 * far / shape.lipschitz(), wall.max_step(&x, &n.map(|n| -n)));
        let left = shape.distance([0, 1, 2].map(|k| x[k] - found * n[k]));
        assert!(found > most - 1e-9 && left > 0.1 * far - 1e-9 && left < 0.2 * far, "{name}: {found}");
        let away = wall.max_step(&x, &n);
        assert!(if shape.is_convex() { away.is_infinite() } else { away > 1.0 }, "{name}: {away}");
    }
    let refused = Obstacle::with_potential(
        1,
        Sphere::new([0.0; 3], 1.0).unwrap(),
        Barrier { stiffness: 1.0, reach: 0.0 },
    );
    assert!(refused.err().unwrap().to_string().contains("reach"));
}

/// Interpolated distances are steeper than 1 at the corner of a box that is on a sample, but nowhere steeper than their
/// bound, so that a step straight at the corner ends before it.
#[test]
fn steps_end_before_the_corners_of_sampled_surfaces() {
    let (low, high) = ([-0.3, -0.3, -0.3], [0.4, 0.3, 0.2]);
    let (corners, triangles) = cuboid(low, high);
    let solid = SdfGrid::new(&corners, &triangles, 0.05, |x| to_cuboid(low, high, x) < 0.0).unwrap();
    let most = solid.lipschitz();
    assert!((most - 3.0_f64.sqrt()).abs() < 1e-6, "{most}");
    let slope = |x: [f64; 3], y: [f64; 3]| {
        let length = (0..3).map(|k| (x[k] - y[k]).powi(2)).sum::<f64>().sqrt();
        (solid.distance(x) - solid.distance(y)).abs() / length
    };
    for (x, direction) in noise(9000, 21).as_chunks::<3>().0.iter().zip(noise(9000, 22).as_chunks::<3>().0) {
        for size in [1e-3, 1.0] {
            let found = slope(*x, [0, 1, 2].map(|k| x[k] + size * direction[k]));
            assert!(found < most + 1e-9, "{x:?} {direction:?}: {found}");
        }
    }
    let before = low.map(|x| x - 0.005);
    assert!(slope(low, before) > 1.5, "{}", slope(low, before));
    let potential = Barrier { stiffness: 3.0, reach: 0.3 };
    let step = Obstacle::with_potential(1, &solid, potential).unwrap().max_step(&before, &[1.0; 3]);
    assert!(step > 0.003 && step < 0.005, "{step}");
}

/// Functions of the distance and its rate that are those of a barrier make a barrier.
#[test]
fn a_potential_of_functions_is_that_of_its_functions() {
    let barrier = Barrier { stiffness: 3.0, reach: 0.3 };
    let known = ContactPotential::from(barrier);
    let other = ContactPotential::Other {
        at: Arc::new(move |distance| barrier.at(distance)),
        max_step: Arc::new(move |distance, rate| known.max_step(distance, rate)),
    };
    for (name, shape) in shapes() {
        let x = outside(&shape, 17);
        let (nodes, d) = (x.len() / 3, noise(x.len(), 18));
        let [mut one, mut same] = [barrier.into(), other.clone()]
            .map(|potential: ContactPotential| Obstacle::with_potential(nodes, &*shape, potential).unwrap());
        assert_eq!(one.energy(&x), same.energy(&x), "{name}");
        assert_eq!(gradient(&mut one, &x), gradient(&mut same, &x), "{name}");
        assert_eq!(one.max_step(&x, &d), same.max_step(&x, &d), "{name}");
    }
}

/// A position that is not a number has no energy of 0.
#[test]
fn nan_is_not_hidden() {
    let mut floor = Obstacle::new(1, Plane::through([0.0; 3], [0.0, 1.0, 0.0]).unwrap(), 2.0).unwrap();
    assert!(floor.energy(&[0.0, f64::NAN, 0.0]).value.is_nan());
    assert!(gradient(&mut floor, &[0.0, f64::NAN, 0.0])[1].is_nan());
}

#[test]
#[should_panic(expected = "energy: wrong length")]
fn positions_of_other_nodes_have_no_contact() {
    Obstacle::new(2, Sphere::new([0.0; 3], 1.0).unwrap(), 2.0).unwrap().energy(&[0.0; 3]);
}

#[test]
fn only_listed_nodes_touch_and_shapes_move() {
    let ball = |y: f64| Sphere::new([0.0, y, 0.0], 1.0).unwrap();
    let mut some = Obstacle::new(3, ball(0.0), 2.0).unwrap().only(&[2, 0, 2]).unwrap();
    let x = [0.5, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.25, 0.0];
    assert_eq!(some.penetration(&x), Penetration { contacts: 2, deepest: 0.75 });
    assert_eq!(some.energy(&x).value, 0.25 + 0.5625);
    assert_eq!(gradient(&mut some, &x), [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.5, 0.0]);
    let mut contacts = Default::default();
    some.add_contacts(&x, Curvature::Projected, &mut contacts);
    assert_eq!(contacts.stencils().iter().map(|s| s.nodes()[0]).collect::<Vec<_>>(), [0, 2]);
    some.set_shape(ball(2.0));
    assert_eq!((some.penetration(&x), some.energy(&x).value), (Penetration::default(), 0.0));
    let refused = Obstacle::new(3, ball(0.0), 2.0).unwrap().only(&[1, 3]).err().unwrap();
    assert!(refused.to_string().starts_with("entry of a list 1 refers to node 3"), "{refused}");
    let nan = [f64::NAN; 9];
    assert!(some.penetration(&nan).deepest.is_nan() && some.energy(&nan).value.is_nan());
    assert!(gradient(&mut some, &nan)[0].is_nan());
}

#[test]
fn threads_do_not_change_bits() {
    let x = moved(&noise(3 * 20_000, 2), 0.3, &noise(3 * 20_000, 4));
    let run = |n: usize| {
        threads(n, || {
            let mut ball = Obstacle::new(20_000, Sphere::new([0.1; 3], 0.8).unwrap(), 3.0).unwrap();
            (ball.energy(&x), gradient(&mut ball, &x), ball.penetration(&x))
        })
        .unwrap()
    };
    assert!([2, 7].into_iter().all(|n| run(n) == run(1)));
}
