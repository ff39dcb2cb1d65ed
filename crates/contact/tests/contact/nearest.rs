//! The nearest points of the pairs of two triangles, also of triangles without area and of parallel edges.

use coarsen_contact::{ClothContact, Pair, Touch};
use coarsen_core::SplitMix64;
use coarsen_mesh::vector::norm;

use crate::cloth::distance;

/// Two triangles far apart at rest: they may be anywhere when they are detected.
const REST: [[f64; 3]; 6] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 100.0],
    [1.0, 0.0, 100.0],
    [0.0, 1.0, 100.0],
];

const FACE: Pair = Pair::VertexFace { vertex: 3, face: [0, 1, 2] };
const EDGES: Pair = Pair::EdgeEdge { edges: [[0, 1], [3, 4]] };

fn contact(thickness: f64) -> ClothContact {
    ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &REST, thickness, 40.0).unwrap()
}

/// The pairs of the two triangles.
fn pairs() -> Vec<Pair> {
    let faces = [[0, 1, 2], [3, 4, 5]];
    let vertices = (0..6_u32).map(|vertex| Pair::VertexFace { vertex, face: faces[usize::from(vertex < 3)] });
    let sides = [[0, 1], [0, 2], [1, 2]];
    let edges = (0..9).map(|k| Pair::EdgeEdge { edges: [sides[k / 3], sides[k % 3].map(|node| node + 3)] });
    vertices.chain(edges).collect()
}

fn at(pair: &Pair, x: &[[f64; 3]]) -> [[f64; 3]; 4] {
    pair.nodes().map(|v| x[v as usize])
}

fn combine(weights: [f64; 4], x: &[[f64; 3]; 4]) -> [f64; 3] {
    std::array::from_fn(|k| (0..4).map(|a| weights[a] * x[a][k]).sum())
}

/// The distances of points of a fine grid on both parts.
fn others(pair: &Pair, x: &[[f64; 3]; 4]) -> impl Iterator<Item = f64> {
    (0..900).map(|k| (f64::from(k / 30) / 29.0, f64::from(k % 30) / 29.0)).map(move |(i, j)| {
        let weights = match pair {
            Pair::VertexFace { .. } => {
                [1.0, i * (1.0 - j) - 1.0, -i * (1.0 - j) * (1.0 - j), -i * (1.0 - j) * j]
            }
            Pair::EdgeEdge { .. } => [1.0 - i, i, j - 1.0, -j],
        };
        norm(combine(weights, x))
    })
}

/// The weights are those of points on both parts at the distance of the touch, and no points of the grid are nearer.
fn check(touch: &Touch, x: &[[f64; 3]]) {
    let (Touch { pair, weights, normal, distance, .. }, points) = (*touch, at(&touch.pair, x));
    let first = if matches!(pair, Pair::VertexFace { .. }) { 1 } else { 2 };
    assert!(weights.iter().sum::<f64>().abs() < 1e-14, "{touch:?}");
    assert!(
        weights[..first].iter().all(|w| *w >= 0.0) && weights[first..].iter().all(|w| *w <= 0.0),
        "{touch:?}"
    );
    let vector = combine(weights, &points);
    assert!((norm(vector) - distance).abs() < 1e-14 && (norm(normal) - 1.0).abs() < 1e-12, "{touch:?}");
    assert!((0..3).all(|k| (vector[k] - distance * normal[k]).abs() < 1e-14), "{touch:?}");
    let least = others(&pair, &points).fold(f64::INFINITY, f64::min);
    assert!(distance <= least + 1e-9, "{touch:?}: {least}");
}

/// Also for edges that are parallel or meet.
#[test]
fn no_other_points_are_nearer() {
    let mut contact = contact(10.0);
    for seed in 0..400 {
        let mut random = SplitMix64::new(seed);
        let mut x: [[f64; 3]; 6] = [(); 6].map(|()| [(); 3].map(|()| 0.5 * random.number()));
        if seed % 4 == 1 {
            let shift = [1e-9 * seed as f64, 0.3, 0.1];
            x[3] = std::array::from_fn(|k| x[0][k] + shift[k] + 0.2 * (x[1][k] - x[0][k]));
            x[4] = std::array::from_fn(|k| x[1][k] + shift[k] * (1.0 + 1e-8));
        }
        let found = contact.detect(x.as_flattened()).unwrap();
        assert_eq!(found.len(), 15, "{seed}");
        found.iter().for_each(|touch| check(touch, &x));
    }
}

/// A vertex around a triangle, around one of area 0, and around a point.
#[test]
fn triangles_without_area_have_nearest_points() {
    let corners = [[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.5, 1.5, 1.0]];
    let (flat, point) = ([corners[0], corners[1], [1.5, 0.0, 1.0]], [corners[1]; 3]);
    let mut contact = contact(10.0);
    for [a, b, c] in [corners, flat, point] {
        for vertex in (0..343).map(|i| [i / 49, i / 7 % 7, i % 7].map(|i| -1.5 + 0.7 * f64::from(i))) {
            let above = |x: f64| [vertex[0] + x, vertex[1], vertex[2] + 50.0];
            let x = [a, b, c, vertex, above(0.0), above(0.1)];
            let found = contact.detect(x.as_flattened()).unwrap();
            check(found.iter().find(|touch| touch.pair == FACE).expect("a touch"), &x);
        }
    }
}

#[test]
fn distances_by_hand() {
    let touch = |x: [[f64; 3]; 6], pair: Pair| {
        *contact(10.0)
            .detect(x.as_flattened())
            .unwrap()
            .iter()
            .find(|touch| touch.pair == pair)
            .expect("a touch")
    };
    let (up, down) = ([0.0, 0.0, 60.0], [0.0, 0.0, -60.0]);
    let own =
        touch([[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.2, 0.2, 0.7], up, [1.0, 0.0, 60.0]], FACE);
    assert!((own.distance - 0.7).abs() < 1e-15 && (own.normal[2] - 1.0).abs() < 1e-15, "{own:?}");
    let own = touch([[-1.0, 0.0, 0.5], [1.0, 0.0, 0.5], up, [0.0, -1.0, 0.0], [0.0, 3.0, 0.0], down], EDGES);
    assert!(own.weights.iter().zip([0.5, 0.5, -0.75, -0.25]).all(|(a, b)| (a - b).abs() < 1e-15), "{own:?}");
    assert!((own.distance - 0.5).abs() < 1e-15 && (own.normal[2] - 1.0).abs() < 1e-15, "{own:?}");
}

/// Every pair with points that are nearer than the thickness is found, also where a triangle is nearly flat or edges are
/// nearly parallel.
#[test]
fn no_touch_is_missed() {
    let (mut contact, mut random, all, mut met) = (contact(0.1), SplitMix64::new(6), pairs(), 0);
    for round in 0..1500 {
        let mut x: [[f64; 3]; 6] = [(); 6].map(|()| [(); 3].map(|()| 0.5 * random.number()));
        let along = 10.0_f64.powi(-(round % 9));
        if round % 5 == 0 {
            x[4] = std::array::from_fn(|k| x[3][k] + x[1][k] - x[0][k] + along * x[4][k]);
        }
        if round % 7 == 0 {
            x[2] = std::array::from_fn(|k| x[0][k] + 0.3 * (x[1][k] - x[0][k]) + along * x[2][k]);
        }
        let found: Vec<Pair> =
            contact.detect(x.as_flattened()).unwrap().iter().map(|touch| touch.pair).collect();
        for pair in &all {
            let least = others(pair, &at(pair, &x)).fold(f64::INFINITY, f64::min);
            assert!(least >= 0.1 * (1.0 - 1e-9) || found.contains(pair), "{round}: {pair} at {least}");
            met += usize::from(least < 0.1);
        }
    }
    assert!(met > 1000, "{met}");
}

/// Every pair that comes nearer than a tenth of the thickness from farther away is among the impacts, and most pairs that stay farther apart
/// than the candidates must are none, although all nodes also move alike.
#[test]
fn pairs_that_stay_apart_are_no_candidates() {
    let (mut random, all, mut met, mut far, mut left_out) = (SplitMix64::new(5), pairs(), 0, 0, 0);
    for round in 0..600_usize {
        let mut numbers = |size: f64| [(); 6].map(|()| [(); 3].map(|()| size * random.number()));
        let (mut x, p): ([[f64; 3]; 6], [[f64; 3]; 6]) = (numbers(0.5), numbers(0.15));
        x[3..].iter_mut().for_each(|x| x[round % 3] += (round % 5) as f64 * 0.5);
        let shift = [(round % 7) as f64 - 3.0, 1.0, -0.5];
        let dx = p.map(|p| [0, 1, 2].map(|k| p[k] + shift[k]));
        let mut contact = contact(0.1);
        let impacts = contact.impacts(x.as_flattened(), &dx).unwrap();
        for pair in &all {
            let (start, p) = (at(pair, &x), at(pair, &dx));
            let there = |t: f64| std::array::from_fn(|a| std::array::from_fn(|k| start[a][k] + t * p[a][k]));
            let least = (0..=50).map(|t| distance(pair, there(f64::from(t) / 50.0)));
            let least = least.fold(f64::INFINITY, f64::min);
            if least < 0.01 && distance(pair, start) > 0.02 {
                met += 1;
                assert!(impacts.iter().any(|impact| impact.1 == *pair), "{round}: {pair} at {least}");
            }
            // The thickness, and a quarter of it for either part.
            far += usize::from(least > 0.15);
            left_out += usize::from(least > 0.15 && !contact.candidates().contains(pair));
        }
    }
    assert!(met > 50 && far > 1000 && 10 * left_out > 5 * far, "{met} {left_out} of {far}");
}
