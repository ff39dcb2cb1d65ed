//! Contact of edges with shapes: derivatives, steps, and what is refused.

use coarsen_contact::{
    Capsule, ContactError, Friction, Obstacle, Penetration, Plane, SdfGrid, Shape, Sphere, Spin,
};
use coarsen_elastic::{Barrier, Curvature, Penalty, Potential};

use crate::common::{check_gradient, gradient, moved, noise};

const BARRIER: Barrier = Barrier { stiffness: 3.0, reach: 0.3 };

/// Two nodes, none of them held.
const FREE: [bool; 2] = [false; 2];

fn shapes() -> [(&'static str, Box<dyn Shape>); 2] {
    let ball = Sphere::new([0.1, -0.2, 0.0], 0.5).unwrap();
    let bar = Capsule::new([-0.4, 0.0, 0.1], [0.4, 0.2, 0.0], 0.3).unwrap();
    [("sphere", Box::new(ball)), ("capsule", Box::new(bar))]
}

/// The least distance of points of an edge, by samples.
fn least(shape: &dyn Shape, ends: &[f64]) -> f64 {
    let point = |s: f64| [0, 1, 2].map(|k| (1.0 - s) * ends[k] + s * ends[3 + k]);
    (0..=400).map(|k| shape.distance(point(f64::from(k) / 400.0))).fold(f64::INFINITY, f64::min)
}

/// Edges of which no point is in a shape; node numbers follow each other.
fn outside(shape: &dyn Shape, seed: u64) -> (Vec<[u32; 2]>, Vec<f64>) {
    let all = noise(1800, seed);
    let x: Vec<f64> = all
        .as_chunks::<6>()
        .0
        .iter()
        .filter(|ends| least(shape, &ends[..]) > 2e-3)
        .flatten()
        .copied()
        .collect();
    ((0..x.len() as u32 / 6).map(|e| [2 * e, 2 * e + 1]).collect(), x)
}

/// The energy of edges is continuous, its gradient is exact, and the projected Hessian is positive semidefinite.
#[test]
fn derivatives_of_edges() {
    for (name, shape) in shapes() {
        let (list, x) = outside(&shape, 31);
        let nodes = x.len() / 3;
        let only =
            |potential| Obstacle::with_potential(nodes, &*shape, potential).unwrap().only(&[]).unwrap();
        let mut edges = only(BARRIER).edges(&list, &vec![false; nodes], x.as_chunks().0).unwrap();
        let found = edges.penetration(&x);
        assert!(
            found.contacts > 10 && found.contacts < list.len() && found.deepest == 0.0,
            "{name}: {found}"
        );
        check_gradient(&mut edges, &x, 1e-8, 1e-4);
        let mut contacts = Default::default();
        edges.add_contacts(&x, Curvature::Projected, &mut contacts);
        assert!(contacts.stencils().iter().all(|s| s.nodes().len() == 2));
        for k in contacts.stiffness().as_chunks::<9>().0 {
            assert!(k[0] >= 0.0 && k[4] >= 0.0 && k[8] >= 0.0 && k[1] == k[3], "{name}");
        }
        // Edges through the shape, by a penalty.
        let through = noise(600, 33);
        let list: Vec<[u32; 2]> = (0..100).map(|e| [2 * e, 2 * e + 1]).collect();
        let potential = Penalty { stiffness: 5.0 };
        let mut edges = Obstacle::with_potential(200, &*shape, potential)
            .unwrap()
            .only(&[])
            .unwrap()
            .edges(&list, &[false; 200], through.as_chunks().0)
            .unwrap();
        assert!(edges.penetration(&through).deepest > 0.1, "{name}");
        check_gradient(&mut edges, &through, 1e-7, 1e-5);
    }
}

/// The largest change of a component of the forces of an edge between `count` + 1 places on a path.
fn jump<S: Shape>(edge: &mut Obstacle<S>, path: &dyn Fn(f64) -> [f64; 6], count: u32) -> f64 {
    let mut forces = (0..=count).map(|k| gradient(edge, &path(f64::from(k) / f64::from(count))));
    let mut before = forces.next().unwrap();
    let mut most = 0.0_f64;
    for now in forces {
        most = now.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(most, f64::max);
        before = now;
    }
    most
}

/// Forces of an edge are continuous where its nearest point moves over an end, along a ball and along a bar, and where it
/// turns through the direction of the bar, so that the nearest point goes from one end to the other: changes shrink with the
/// steps, which a jump would not. An edge has no force on a plane, at any angle.
#[test]
fn forces_of_edges_are_continuous() {
    let rest = [-0.5, 0.0, 0.0, 0.5, 0.0, 0.0];
    let only = |shape: Box<dyn Shape>| {
        let edge = Obstacle::with_potential(2, shape, BARRIER).unwrap().only(&[]).unwrap();
        edge.edges(&[[0, 1]], &FREE, rest.as_chunks().0).unwrap()
    };
    let ball = || Box::new(Sphere::new([0.0, -1.0, 0.0], 1.0).unwrap());
    let bar = || Box::new(Capsule::new([-2.0, -1.0, 0.0], [2.0, -1.0, 0.0], 1.0).unwrap());
    let shifted = |t: f64| [-0.5 + 1.2 * t, 0.05, 0.0, 0.5 + 1.2 * t, 0.05, 0.0];
    let across = |t: f64| [0.1, 0.05, -0.5 + 1.2 * t, 0.1, 0.06, 0.5 + 1.2 * t];
    let tilted = |t: f64| [-0.5, 0.05 + 0.1 * (t - 0.5), 0.0, 0.5, 0.05 - 0.1 * (t - 0.5), 0.0];
    let turned = |t: f64| {
        let (s, c) = (0.8 * (t - 0.5)).sin_cos();
        [-0.5 * c, 0.05, -0.5 * s, 0.5 * c, 0.05 + 0.02 * s, 0.5 * s]
    };
    let paths: [(&str, Box<dyn Shape>, &dyn Fn(f64) -> [f64; 6]); 5] = [
        ("over the end on a ball", ball(), &shifted),
        ("tilted on a ball", ball(), &tilted),
        ("over the end on a bar", bar(), &across),
        ("tilted on a bar", bar(), &tilted),
        ("through the direction of a bar", bar(), &turned),
    ];
    for (name, shape, path) in paths {
        let mut edge = only(shape);
        let pressed = (0..=20).any(|k| gradient(&mut edge, &path(f64::from(k) / 20.0))[1] < -1.0);
        assert_eq!(pressed, name != "tilted on a bar", "{name}");
        let jumps = [4000, 16000].map(|count| jump(&mut edge, path, count));
        assert!(jumps[1] < 0.6 * jumps[0] || jumps[0] == 0.0, "{name}: {jumps:?}");
    }
    let mut flat = only(Box::new(Plane::through([0.0; 3], [0.0, 1.0, 0.0]).unwrap()));
    for k in 0..=200 {
        assert_eq!(gradient(&mut flat, &tilted(f64::from(k) / 200.0)), [0.0; 6]);
    }
}

/// No point of an edge reaches the shape until the largest step, also where no end does; an edge that goes straight at it
/// may go nearly the whole distance.
#[test]
fn steps_end_before_edges_dip() {
    for (name, shape) in shapes() {
        let mut dips = 0;
        for seed in 0..20 {
            let (list, x) = outside(&shape, 100 + seed);
            let d = noise(x.len(), 200 + seed);
            let mut wall = Obstacle::with_potential(x.len() / 3, &*shape, BARRIER).unwrap();
            let of_nodes = wall.max_step(&x, &d);
            let mut wall = wall.edges(&list, &vec![false; x.len() / 3], x.as_chunks().0).unwrap();
            let most = wall.max_step(&x, &d);
            assert!(most > 0.0 && most <= of_nodes, "{name}");
            dips += usize::from(
                moved(&x, of_nodes, &d).as_chunks::<6>().0.iter().any(|e| least(&shape, e) < 0.0),
            );
            for k in 0..=20 {
                let at = moved(&x, most * f64::from(k) / 20.0, &d);
                assert!(at.as_chunks::<6>().0.iter().all(|ends| least(&shape, ends) > 0.0), "{name} {seed}");
            }
        }
        assert!(dips > 5, "{name}: {dips}");
    }
    let ball = Sphere::new([0.0; 3], 0.5).unwrap();
    let x = [-1.0, 0.6, 0.0, 1.0, 0.6, 0.0];
    let wall = Obstacle::with_potential(2, ball, BARRIER).unwrap();
    let mut wall = wall.edges(&[[0, 1]], &FREE, x.as_chunks().0).unwrap();
    let down = [0.0, -1.0, 0.0, 0.0, -1.0, 0.0];
    assert!((wall.max_step(&x, &down) - 0.09).abs() < 1e-9);
    assert!(wall.max_step(&x, &down.map(|d| -d)) > 1e9);
    assert_eq!(wall.penetration(&x), Penetration { contacts: 1, deepest: 0.0 });
}

#[test]
fn edges_without_meaning_are_refused() {
    let ball = || Obstacle::with_potential(2, Sphere::new([0.0; 3], 0.5).unwrap(), BARRIER).unwrap();
    let x = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0];
    assert!(ball().edges(&[[1, 0]], &FREE, x.as_chunks().0).is_ok());
    for (list, held, x) in [
        ([0, 2], &FREE[..], &x[..]),
        ([0, 0], &FREE, &x),
        ([0, 1], &FREE, &x[..3]),
        ([0, 1], &FREE[..1], &x[..3]),
        ([0, 1], &[true, false], &x),
    ] {
        let error = ball().edges(&[list], held, x.as_chunks().0).expect_err("an error");
        assert!(matches!(error, ContactError::Body(_)), "{error}");
    }
    let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let solid =
        SdfGrid::new(&corners, &faces, 0.1, |x| x.iter().all(|x| *x > 0.0) && x.iter().sum::<f64>() < 1.0);
    let error = Obstacle::with_potential(2, solid.unwrap(), BARRIER)
        .unwrap()
        .edges(&[[0, 1]], &FREE, x.as_chunks().0)
        .expect_err("an error");
    assert!(matches!(error, ContactError::Concave), "{error}");
}

/// A ball that passes through a strip in one step meets its nodes and the edge between them, at the time at which it
/// comes near; one that moves with the nodes meets nothing.
#[test]
fn shapes_that_move_meet_edges_in_their_path() {
    let at = |y: f64| Sphere::new([0.0, y, 0.0], 0.05).unwrap();
    let x = [-0.3, 0.2, 0.0, 0.3, 0.2, 0.0, 0.01, 0.25, 0.0, 0.1, 0.2, 0.0];
    let ball = || Obstacle::with_potential(4, at(0.0), Barrier { stiffness: 1.0, reach: 0.01 }).unwrap();
    let still = [0.0; 12];
    let along = |y: f64| move |t: f64| at(y * t);
    let edge = || ball().edges(&[[0, 1]], &[false; 4], x.as_chunks().0).unwrap();
    let mut found = edge().impacts(&x, &still, &[], along(0.6), ([0.0; 3], 0.6));
    assert_eq!(found.remove(0).1.nodes(), [2]);
    assert!(found[0].1.nodes() == [0, 1] && found[0].0 > 0.2 && found[0].0 < 0.25, "{found:?}");
    assert_eq!(found.len(), 1, "{found:?}");
    let with: Vec<f64> = (0..12).map(|k| if k % 3 == 1 { 0.6 } else { 0.0 }).collect();
    assert!(edge().impacts(&x, &with, &[], along(0.6), ([0.0; 3], 0.6)).is_empty());
    let penalty = Obstacle::new(4, at(0.0), 1.0).unwrap();
    assert!(penalty.impacts(&x, &still, &[], along(0.6), ([0.0; 3], 0.6)).is_empty());
}

/// What goes along with a shape is not met, however near and far it goes.
#[test]
fn nodes_that_move_with_a_shape_do_not_touch_it() {
    let ball = |y: f64| Sphere::new([0.0, y, 0.0], 0.1).unwrap();
    let obstacle = Obstacle::with_potential(2, ball(0.0), BARRIER)
        .unwrap()
        .edges(&[[0, 1]], &FREE, &[[0.0; 3], [0.05, 0.0, 0.0]])
        .unwrap();
    for gap in [1e-4, 1e-3] {
        let x = [0.0, 0.1 + gap, 0.0, 0.05, 0.1 + gap, 0.0];
        let path = |t: f64| ball(0.5 * t);
        let met = |d: [f64; 6]| obstacle.impacts(&x, &d, &[], path, ([0.0, 0.5, 0.0], 0.0));
        assert_eq!(met([0.0, 0.5, 0.0, 0.0, 0.5, 0.0]), [], "{gap}");
        assert!(!met([0.0; 6]).is_empty(), "what stays is met");
    }
}

/// Edges of which one end is held, in either order, have the forces and the steps of free edges, at their free ends.
#[test]
fn free_ends_of_held_edges_have_contact() {
    for (name, shape) in shapes() {
        let (list, all) = outside(&shape, 31);
        let held: Vec<bool> = (0..2 * list.len()).map(|i| i % 2 == i / 2 % 2).collect();
        let slots: Vec<usize> = (0..held.len()).filter(|&i| !held[i]).collect();
        let gather = |all: &[f64]| slots.iter().flat_map(|&i| all[3 * i..3 * i + 3].to_vec()).collect();
        let (places, x): (&[[f64; 3]], Vec<f64>) = (all.as_chunks().0, gather(&all));
        let of = |nodes: usize, held: &[bool]| {
            let only = Obstacle::with_potential(nodes, &*shape, BARRIER).unwrap().only(&[]).unwrap();
            only.edges(&list, held, places).unwrap()
        };
        let (mut whole, mut half) = (of(held.len(), &vec![false; held.len()]), of(slots.len(), &held));
        assert_eq!(whole.penetration(&all), half.penetration(&x), "{name}");
        assert_eq!(check_gradient(&mut half, &x, 1e-8, 1e-4), gather(&gradient(&mut whole, &all)), "{name}");
        let mut contacts = Default::default();
        half.add_contacts(&x, Curvature::Projected, &mut contacts);
        assert!(contacts.stencils().len() > 10, "{name}");
        assert!(contacts.stencils().iter().all(|s| s.nodes().len() == 1 && s.weights()[0] < 1.0));
        let d = noise(all.len(), 7);
        let still: Vec<f64> = (0..d.len()).map(|k| if held[k / 3] { 0.0 } else { d[k] }).collect();
        let most = half.max_step(&x, &gather(&d));
        assert!(most == whole.max_step(&all, &still) && most < 1.0, "{name}: {most}");
        // Far away with their held ends, no edge is near.
        half.hold(&places.iter().map(|x| x.map(|x| x + 50.0)).collect::<Vec<_>>());
        assert_eq!(half.penetration(&x.iter().map(|x| x + 50.0).collect::<Vec<_>>()).contacts, 0, "{name}");
    }
}

/// A ball that lifts the middle of an edge meets the point of it, of which the free end has a share; one that goes with the held
/// end and the free one meets nothing. Edges between held nodes are left out.
#[test]
fn shapes_meet_edges_with_a_held_end() {
    let at = |y: f64| Sphere::new([0.0, y, 0.0], 0.1).unwrap();
    let places = [[-0.3, 0.11, 0.0], [0.3, 0.11, 0.0], [-0.3, 0.11, 0.1]];
    let ball = Obstacle::with_potential(1, at(0.0), BARRIER).unwrap();
    let edge = ball.edges(&[[0, 1], [0, 2]], &[true, false, true], &places).unwrap();
    let (x, path) = (places[1], |t: f64| at(0.2 * t));
    let met = |d: [f64; 3], held: &[[f64; 3]]| edge.impacts(&x, &d, held, path, ([0.0, 0.2, 0.0], 0.0));
    let found = met([0.0; 3], &[]);
    let [(t, point, carried)] = &found[..] else { panic!("{found:?}") };
    assert!(*t < 0.05 && point.nodes() == [0] && *carried == [0.0; 3], "{found:?}");
    assert!((point.weights()[0] - 0.5).abs() < 1e-9, "{found:?}");
    let up = places.map(|[x, y, z]| [x, y + 0.2, z]);
    let (_, _, carried) = met([0.0; 3], &up)[0];
    assert!((carried[1] - 0.1).abs() < 2e-3, "{carried:?}");
    assert_eq!(met([0.0, 0.2, 0.0], &up), []);
    assert_eq!(met([0.0, 0.5, 0.0], &[]), [], "a free end that goes farther");
    assert_eq!(edge.inside(&x), None);
    assert_eq!(edge.inside(&[0.3, 0.08, 0.0]), Some([0, 0]));
}

/// A point of an edge slides with the held end, and is held back at the free one.
#[test]
fn held_ends_slide() {
    let ball = Sphere::new([0.0; 3], 0.1).unwrap();
    let places = [[-0.3, 0.11, 0.0], [0.3, 0.11, 0.0]];
    let obstacle = Obstacle::with_potential(1, ball, BARRIER).unwrap();
    let obstacle = obstacle.edges(&[[0, 1]], &[true, false], &places).unwrap();
    let mut friction = Friction::new(obstacle, Spin::default(), 0.5, 0.01).unwrap();
    friction.renew(&places[1]).unwrap();
    assert_eq!(gradient(&mut friction, &places[1]), [0.0; 3]);
    friction.hold(&places.map(|[x, y, z]| [x, y, z + 0.2]));
    let g = gradient(&mut friction, &places[1]);
    assert!(g[0] == 0.0 && g[1].abs() < 1e-12 && g[2] > 1e-3, "{g:?}");
}
