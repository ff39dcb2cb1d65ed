//! Contact of cloth: pairs against all pairs, derivatives, forces, and continuous detection against dense
//! samples of time.

use coarsen_contact::{ClothContact, ContactError, Pair, clearance, time_of_impact};
use coarsen_core::parallel::threads;
use coarsen_elastic::{BodyError, ContactHessian, Curvature, Potential};
use coarsen_mesh::vector::{cross, dot, norm, sub};

use crate::common::{check_gradient, gradient, moved, noise};

/// The triangles of a grid of n x n vertices.
pub(crate) fn grid(n: u32) -> Vec<[u32; 3]> {
    let cell = |c: u32| {
        let a = c / (n - 1) * n + c % (n - 1);
        [[a, a + 1, a + n], [a + 1, a + n + 1, a + n]]
    };
    (0..(n - 1) * (n - 1)).flat_map(cell).collect()
}

/// A unit sheet of n x n vertices that is rolled up with gaps of about 0.05, and shaken by up to `shake`.
pub(crate) fn rolled(n: u32, shake: f64) -> Vec<[f64; 3]> {
    let noise = noise(3 * (n * n) as usize, 7);
    let at = |v: u32| {
        let [u, w] = [v % n, v / n].map(|k| f64::from(k) / f64::from(n - 1));
        let angle = 12.0 * u.sqrt();
        let radius = 0.02 + 0.05 * angle / 6.3;
        let k = 3 * v as usize;
        let point = [radius * angle.cos(), radius * angle.sin(), w];
        [0, 1, 2].map(|c| point[c] + shake * noise[k + c])
    };
    (0..n * n).map(at).collect()
}

fn flat(n: u32) -> Vec<[f64; 3]> {
    let at = |k: u32| f64::from(k) / f64::from(n - 1);
    (0..n * n).map(|v| [at(v % n), at(v / n), 0.0]).collect()
}

fn sheet(n: u32, thickness: f64) -> ClothContact {
    ClothContact::new(&grid(n), &vec![false; (n * n) as usize], &flat(n), thickness, 40.0).unwrap()
}

/// The distance of a point from a segment.
fn to_segment(p: [f64; 3], a: [f64; 3], b: [f64; 3]) -> f64 {
    let (e, d) = (sub(b, a), sub(p, a));
    let t = (dot(d, e) / dot(e, e)).clamp(0.0, 1.0);
    norm([0, 1, 2].map(|k| d[k] - t * e[k]))
}

/// The distance of a pair by cases: inside both parts, or from an end or a corner.
pub(crate) fn distance(pair: &Pair, x: [[f64; 3]; 4]) -> f64 {
    let [p, a, b, c] = x;
    match pair {
        Pair::VertexFace { .. } => {
            let n = cross(sub(b, a), sub(c, a));
            let sides = [(a, b), (b, c), (c, a)];
            let inside = sides.iter().all(|&(a, b)| dot(cross(n, sub(b, a)), sub(p, a)) >= 0.0);
            let plane = dot(sub(p, a), n).abs() / norm(n);
            if inside {
                plane
            } else {
                sides.map(|(a, b)| to_segment(p, a, b)).into_iter().fold(9.0, f64::min)
            }
        }
        Pair::EdgeEdge { .. } => {
            let (d, e, n) = (sub(a, p), sub(c, b), cross(sub(a, p), sub(c, b)));
            let from = sub(b, p);
            let [s, t] = [dot(cross(from, e), n) / dot(n, n), dot(cross(from, d), n) / dot(n, n)];
            let inside = (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t);
            let ends = [to_segment(p, b, c), to_segment(a, b, c), to_segment(b, p, a), to_segment(c, p, a)];
            if inside { dot(from, n).abs() / norm(n) } else { ends.into_iter().fold(9.0, f64::min) }
        }
    }
}

/// All pairs of a surface without a common node, sorted.
fn all_pairs(triangles: &[[u32; 3]], nodes: u32) -> Vec<Pair> {
    let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]);
    let mut edges: Vec<_> = triangles.iter().flat_map(sides).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut pairs = Vec::new();
    for vertex in 0..nodes {
        pairs.extend(
            triangles.iter().filter(|t| !t.contains(&vertex)).map(|&face| Pair::VertexFace { vertex, face }),
        );
    }
    for (i, one) in edges.iter().enumerate() {
        let apart = |other: &&[u32; 2]| !other.iter().any(|end| one.contains(end));
        pairs.extend(
            edges[i + 1..].iter().filter(apart).map(|other| Pair::EdgeEdge { edges: [*one, *other] }),
        );
    }
    pairs.sort_unstable();
    pairs
}

fn at(pair: &Pair, x: &[[f64; 3]]) -> [[f64; 3]; 4] {
    pair.nodes().map(|v| x[v as usize])
}

/// The pairs found are those of all pairs that are nearer than the thickness, also with the candidates of other
/// positions.
#[test]
fn no_pair_is_missed_and_none_is_added() {
    let (n, thickness) = (12, 0.055);
    let mut contact = sheet(n, thickness);
    let pairs = all_pairs(&grid(n), n * n);
    for shake in [0.0, 0.001, 0.02, 0.021, 0.2] {
        let x = rolled(n, shake);
        let expected: Vec<_> = pairs
            .iter()
            .map(|pair| (*pair, distance(pair, at(pair, &x))))
            .filter(|(_, d)| *d < thickness)
            .collect();
        let found = contact.detect(x.as_flattened()).unwrap();
        assert!(found.len() > 100, "{}", found.len());
        assert_eq!(
            found.iter().map(|t| t.pair).collect::<Vec<_>>(),
            expected.iter().map(|p| p.0).collect::<Vec<_>>()
        );
        for (touch, (_, d)) in found.iter().zip(&expected) {
            assert!((touch.distance - d).abs() < 1e-12 && (norm(touch.normal) - 1.0).abs() < 1e-12);
        }
    }
}

/// A flat sheet at rest has no contacts, and the gradient elsewhere is that of the energy.
#[test]
fn gradients_are_those_of_the_energy() {
    let mut contact = sheet(9, 0.06);
    assert_eq!(contact.energy(flat(9).as_flattened()).value, 0.0);
    for shake in [0.004, 0.01] {
        let x = rolled(9, shake);
        let g = check_gradient(&mut contact, x.as_flattened(), 1e-8, 2e-5);
        let sum = |of: &dyn Fn(usize) -> [f64; 3]| {
            (0..81).map(of).fold([0.0; 3], |sum, v| [0, 1, 2].map(|k| sum[k] + v[k]))
        };
        let force = |i: usize| [g[3 * i], g[3 * i + 1], g[3 * i + 2]];
        let size: f64 = g.iter().map(|g| g.abs()).sum();
        assert!(norm(sum(&force)) < 1e-12 * size && norm(sum(&|i| cross(x[i], force(i)))) < 1e-12 * size);
    }
}

/// Two edges that are nearly parallel: the energy fades, and its gradient stays exact.
#[test]
fn parallel_edges_fade() {
    let x = |turn: f64| {
        let low = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, -1.0, -0.2]];
        let high = [[0.1, 0.0, 0.05], [1.1, turn, 0.05], [0.5, 1.0, 0.4]];
        [low, high].as_flattened().to_vec()
    };
    let contact =
        |turn: f64| ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x(turn), 0.1, 40.0).unwrap();
    let edges = Pair::EdgeEdge { edges: [[0, 1], [3, 4]] };
    let mut shares = Vec::new();
    for turn in [-0.06, -0.02, -0.01] {
        let mut contact = contact(turn);
        let points = x(turn);
        let touch = *contact.detect(points.as_flattened()).unwrap().iter().find(|t| t.pair == edges).unwrap();
        check_gradient(&mut contact, points.as_flattened(), 1e-7, 1e-6);
        shares.push(touch.share);
    }
    assert!(shares[0] == 1.0 && shares[1] < 0.7 && shares[2] < 0.25 && shares[2] > 0.0, "{shares:?}");
}

/// Along the normal of a vertex above a triangle the Hessian is the derivative of the gradient: φ'' w wᵀ.
#[test]
fn the_hessian_is_that_of_springs() {
    let x = [
        [0.0, 0.0, 0.0],
        [3.0, 0.0, 0.0],
        [0.0, 3.0, 0.0],
        [1.0, 1.0, 0.1],
        [2.0, 1.0, 2.1],
        [1.0, 2.0, 2.1],
    ];
    let mut contact =
        ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[true, false, false, false, false, false], &x, 0.3, 50.0)
            .unwrap();
    let free = x[1..].as_flattened();
    let mut contact_hessian = ContactHessian::default();
    contact.add_contacts(free, Curvature::Projected, &mut contact_hessian);
    let (stencil, k) = (contact_hessian.stencils()[0], contact_hessian.stiffness());
    assert_eq!((contact_hessian.stencils().len(), stencil.nodes()), (1, &[2, 0, 1][..]));
    let y = 7.0 / 27.0_f64; // (d − ξ) / (δ − ξ)
    let bend = 50.0 * (-2.0 * y.ln() + 4.0 * (1.0 - y) / y + ((1.0 - y) / y).powi(2)); // φ''
    assert!((k[8] / bend - 1.0).abs() < 1e-10 && k[..8].iter().all(|k| k.abs() < 1e-10));
    let mut up = vec![0.0; 15];
    up[8] = 1.0;
    let [more, less] = [1e-6, -1e-6].map(|alpha| gradient(&mut contact, &moved(free, alpha, &up)));
    for (&node, w) in stencil.nodes().iter().zip(stencil.weights()) {
        let k = 3 * node as usize + 2;
        assert!(((more[k] - less[k]) / 2e-6 - bend * w).abs() < 1e-6 * bend, "{node}");
    }
}

/// Until the time that continuous detection returns, no sample of a random motion is nearer than the minimum distance, or
/// than nine tenths of the distance at the start if that is less; and there is an impact or a near miss soon
/// after. Near the minimum distance or below it, the motion ends where it is not nearer than at the start.
#[test]
fn no_impact_is_missed() {
    let (mut impacts, mut misses, mut below) = (0, 0, 0);
    for seed in 0..3000 {
        let numbers = noise(24, 1 + seed);
        let point = |k: usize| [numbers[3 * k], numbers[3 * k + 1], numbers[3 * k + 2]];
        let (x, p) = ([0, 1, 2, 3].map(point), [4, 5, 6, 7].map(point).map(|p| p.map(|p| 2.0 * p)));
        let pair =
            [Pair::VertexFace { vertex: 0, face: [1, 2, 3] }, Pair::EdgeEdge { edges: [[0, 1], [2, 3]] }];
        let (pair, wanted) = (pair[seed as usize % 2], [0.01, 0.5][seed as usize / 2 % 2]);
        let distance_at = |t: f64| {
            let moved = |a: usize| [0, 1, 2].map(|k| x[a][k] + t * p[a][k]);
            distance(&pair, [0, 1, 2, 3].map(moved))
        };
        let least = |from: f64, to: f64| {
            (0..=400).map(|k| distance_at(from + (to - from) * f64::from(k) / 400.0)).fold(9.0, f64::min)
        };
        below += usize::from(distance_at(0.0) < wanted);
        let min_distance = wanted.min(0.9 * distance_at(0.0));
        let start = distance_at(0.0) - min_distance;
        match time_of_impact(&pair, &x, &p, wanted, 1.0) {
            None => {
                misses += 1;
                assert!(least(0.0, 1.0) > min_distance, "{seed} {pair}");
            }
            Some(t) => {
                impacts += 1;
                if wanted > min_distance {
                    let end = wanted.min(distance_at(0.0));
                    assert!(t >= 0.0 && least(0.0, t) > min_distance, "{seed} {pair}");
                    assert!(distance_at(t) > (1.0 - 1e-8) * end, "{seed} {pair}: {t}");
                } else {
                    assert!(t >= 0.0 && least(0.0, t) - min_distance >= 0.1 * start - 1e-12, "{seed} {pair}");
                    assert!(least(t, t + 0.1) - min_distance < 0.12 * start + 1e-3, "{seed} {pair}: {t}");
                }
            }
        }
    }
    assert!(impacts > 100 && misses > 1000 && below > 500, "{impacts} {misses} {below}");
}

/// A triangle 0.002 above another, and contact whose minimum distance is 0.003.
fn below_the_floor() -> (ClothContact, Vec<f64>) {
    let low = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let high = |z: f64| [[0.2, 0.2, z], [1.2, 0.3, z], [0.3, 1.2, z]];
    let at = |z: f64| [low, high(z)].concat();
    let contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &at(0.02), 0.03, 40.0)
        .expect("a valid surface");
    (contact, at(0.002).into_flattened())
}

/// A pair that is nearer than the minimum distance may part, but not approach.
#[test]
fn a_pair_below_the_minimum_distance_may_separate() {
    let (mut contact, x) = below_the_floor();
    let up: Vec<f64> = (0..18).map(|k| if k > 9 && k % 3 == 2 { 0.1 } else { 0.0 }).collect();
    assert!(contact.max_step(&x, &up) >= 1.0 && contact.blocking().is_none());
    let down: Vec<f64> = up.iter().map(|d| -d).collect();
    assert_eq!(contact.max_step(&x, &down), 0.0);
}

/// A pair that is pressed together in a thousand steps, also with a slide, stays at the minimum distance, or where it is.
#[test]
fn many_steps_keep_the_minimum_distance() {
    for (start, kept) in [(0.02, 0.003), (0.0031, 0.003), (0.002, 0.002)] {
        let (mut contact, mut x) = below_the_floor();
        (3..6).for_each(|node| x[3 * node + 2] = start);
        for step in 0..1000 {
            let slide = if step % 3 == 0 { 1e-3 } else { 0.0 };
            let component = |k: usize| match k {
                0..9 => 0.0,
                _ if k % 3 == 2 => -0.1 + slide,
                _ => slide,
            };
            let d: Vec<f64> = (0..18).map(component).collect();
            x = moved(&x, contact.max_step(&x, &d).min(1.0), &d);
        }
        assert!(x[11] >= kept * (1.0 - 1e-5) && x[11] <= 0.0031, "{start}: {}", x[11]);
    }
}

/// A pair that is nearer than the minimum distance moves as one, however far.
#[test]
fn a_pair_below_the_minimum_distance_may_move_rigidly() {
    let (mut contact, x) = below_the_floor();
    let along: Vec<f64> = [3.7, -1.3, 0.9].repeat(6);
    assert!(contact.max_step(&x, &along) >= 1.0 && contact.blocking().is_none());
}

/// Steps that would push layers through each other are cut such that none comes nearer than a tenth of the
/// thickness during the step; the bound is that of the first pair, and does not depend on threads.
#[test]
fn steps_end_before_layers_meet() {
    let (n, thickness) = (10, 0.03);
    let pairs = all_pairs(&grid(n), n * n);
    let x = rolled(n, 0.001);
    for (seed, size) in [(3, 0.002), (4, 0.05), (5, 1.0)] {
        let d: Vec<f64> = noise(x.len() * 3, seed).iter().map(|d| size * d).collect();
        let step = |n: usize| {
            let mut contact = sheet(10, thickness);
            threads(n, || (contact.max_step(x.as_flattened(), &d), contact.blocking())).unwrap()
        };
        let (alpha, blocking) = step(1);
        assert_eq!((alpha, blocking), step(3));
        assert_eq!(alpha < 1.0, size > 0.01, "{alpha}");
        assert_eq!(alpha > 1.0, size < 0.01, "{alpha}"); // small steps may be lengthened
        let end = alpha;
        let mut least = (9.0, None);
        for share in (0..=40).map(|k| f64::from(k) / 40.0) {
            let there = moved(x.as_flattened(), share * end, &d);
            for pair in &pairs {
                let distance = distance(pair, at(pair, there.as_chunks().0));
                least = if distance < least.0 { (distance, Some(*pair)) } else { least };
            }
        }
        assert!(least.0 >= 0.1 * thickness - 1e-12, "{least:?}");
        if let Some((bound, pair)) = blocking {
            assert!(bound == alpha && pairs.contains(&pair), "{pair}");
        }
    }
}

#[test]
fn surfaces_that_cannot_touch_are_refused() {
    let x = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.2, 0.2, 1e-3],
        [0.5, 0.2, 1.0],
        [0.2, 0.5, 1.0],
    ];
    let make = |triangles: &[[u32; 3]], x: &[[f64; 3]; 6], thickness: f64, k: f64| {
        ClothContact::new(triangles, &[false; 6], x, thickness, k).err().expect("an error")
    };
    let both = [[0, 1, 2], [3, 4, 5]];
    let error = make(&both, &x, 0.02, 1.0);
    let near = Pair::VertexFace { vertex: 3, face: [0, 1, 2] };
    assert!(matches!(error, ContactError::Close { pair, .. } if pair == near), "{error}");
    assert!(error.to_string().contains("vertex 3 and triangle 0, 1, 2"), "{error}");
    let mut on = x;
    on[3][2] = 0.0;
    assert!(matches!(make(&both, &on, 0.02, 1.0), ContactError::Close { pair, .. } if pair == near));
    assert!(matches!(make(&both, &x, 0.0, 1.0), ContactError::Value { .. }));
    assert!(matches!(make(&both, &x, 0.001, f64::NAN), ContactError::Value { .. }));
    let error = make(&[[0, 1, 6]], &x, 0.001, 1.0);
    assert!(matches!(error, ContactError::Body(BodyError::Node { node: 6, .. })), "{error}");
    let error = make(&[[0, 1, 2], [0, 1, 0]], &x, 0.001, 1.0);
    assert!(matches!(error, ContactError::Body(BodyError::Degenerate { index: 1, .. })), "{error}");
    let mut bad = x;
    bad[4][1] = f64::NAN;
    assert!(matches!(make(&[[0, 1, 2]], &bad, 0.001, 1.0), ContactError::Position { node: 4 }));
    let mut contact = ClothContact::new(&both, &[false; 6], &x, 0.005, 1.0).unwrap();
    assert!(contact.energy(bad.as_flattened()).value.is_nan());
    assert_eq!(contact.take_fault(), Some(ContactError::Position { node: 4 }));
    let error = contact.renew(bad.as_flattened()).unwrap_err();
    assert!(matches!(error, BodyError::Position { node: 4 }), "{error}");
    assert!(contact.max_step(x.as_flattened(), &[f64::NAN; 18]).is_nan());
    assert_eq!(contact.take_fault(), Some(ContactError::Position { node: 0 }));
    assert!(contact.energy(x.as_flattened()).value > 0.0 && contact.take_fault().is_none());
    // The number is that of all nodes, also if some are held.
    let held = [true, false, false, false, false, false];
    let mut contact = ClothContact::new(&both, &held, &x, 0.005, 1.0).unwrap();
    let mut d = vec![0.0; 15];
    d[10] = f64::INFINITY;
    assert!(contact.max_step(x[1..].as_flattened(), &d).is_nan());
    assert_eq!(contact.take_fault(), Some(ContactError::Position { node: 4 }));
}

#[test]
fn the_clearance_is_the_smallest_distance() {
    let (x, triangles) = (rolled(9, 0.01), grid(9));
    let distances = all_pairs(&triangles, 81).into_iter().map(|pair| distance(&pair, at(&pair, &x)));
    let least = distances.fold(f64::INFINITY, f64::min);
    let (found, pair) = clearance(&triangles, &x, 1.0).unwrap().unwrap();
    assert!((found - least).abs() < 1e-12 && (distance(&pair, at(&pair, &x)) - least).abs() < 1e-12);
    assert_eq!(clearance(&triangles, &x, 0.5 * least).unwrap(), None);
    assert!(matches!(clearance(&triangles, &x, -1.0), Err(ContactError::Value { .. })));
}

/// The error of a search along a step: positions that are finite, and a displacement that is not.
#[test]
fn displacements_that_overflow_are_refused() {
    let (mut contact, x) = below_the_floor();
    let far: Vec<f64> = x.iter().map(|x| x + 1e308).collect();
    assert!(contact.max_step(&far, &[1e308; 18]).is_nan());
    assert!(matches!(contact.take_fault(), Some(ContactError::Box { .. })));
    assert!(contact.max_step(&x, &[0.0; 18]) >= 1.0 && contact.take_fault().is_none());
    // A search that fails leaves the pairs and positions as they were.
    let moved: Vec<f64> = x.iter().map(|x| x + 1.0).collect();
    let pairs = contact.detect(&moved).unwrap().to_vec();
    let apart = [[1.7e308; 9], [1.2e308; 9]].concat();
    assert!(contact.max_step(&moved, &apart).is_nan() && contact.take_fault().is_some());
    assert!(!pairs.is_empty() && contact.slopes(&pairs[0]).as_flattened().iter().any(|f| *f != 0.0));
    assert_eq!(contact.detect(&x).unwrap().len(), pairs.len());
}

/// Held nodes that move take free nodes along, or stay where they are with an error that names the pair.
#[test]
fn held_nodes_do_not_pass_through() {
    let low = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let high = [[0.2, 0.2, 0.1], [1.2, 0.3, 0.1], [0.3, 1.2, 0.1]];
    let all = [low, high].concat();
    let held = [true, true, true, false, false, false];
    let mut contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &held, &all, 0.03, 40.0).unwrap();
    let free = high.as_flattened();
    let raised: Vec<[f64; 3]> = all.iter().map(|p| [p[0], p[1], p[2] + 0.2]).collect();
    let error = contact.carry(free, &[0.0; 9], &raised).unwrap_err();
    assert!(matches!(error, ContactError::Crossed { time, .. } if time > 0.4 && time < 0.5), "{error}");
    assert_eq!(contact.energy(free).value, 0.0);
    let along = [0.0, 0.0, 0.2].repeat(3);
    contact.carry(free, &along, &raised).unwrap();
    let near: Vec<f64> = high.iter().flat_map(|p| [p[0], p[1], p[2] + 0.12]).collect();
    assert!(contact.energy(&near).value > 0.0);
}
