//! Edges that cross triangles, found by hand and by all edges against all triangles.

use coarsen_contact::{Crossing, Crossings};
use coarsen_mesh::vector::{cross, dot, sub};

/// Whether a segment crosses a triangle: its ends are on different sides, and it passes all sides alike.
fn crosses([p, q]: [[f64; 3]; 2], [a, b, c]: [[f64; 3]; 3]) -> bool {
    let volume =
        |a: [f64; 3], b: [f64; 3], c: [f64; 3], d: [f64; 3]| dot(cross(sub(b, a), sub(c, a)), sub(d, a));
    let around = [(a, b), (b, c), (c, a)].map(|(a, b)| volume(p, q, a, b) > 0.0);
    (volume(a, b, c, p) > 0.0) != (volume(a, b, c, q) > 0.0)
        && around[0] == around[1]
        && around[1] == around[2]
}

#[test]
fn crossings_by_hand() {
    let test = Crossings::new(vec![[0, 1, 2], [3, 4, 5]], vec![false; 6]);
    let through = |x: f64, y: f64, low: f64, high: f64| {
        let triangle = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let edge = [[x, y, low], [x + 0.1, y, high], [x, y + 9.0, 9.0 * high]];
        let found = test.find(&[triangle, edge].concat());
        found.contains(&Crossing { edge: [3, 4], triangle: [0, 1, 2] })
    };
    assert!(through(0.2, 0.2, -1.0, 1.0) && through(0.2, 0.2, 1.0, -1.0));
    assert!(!through(0.7, 0.7, -1.0, 1.0) && !through(-0.3, 0.2, -1.0, 1.0));
    assert!(!through(0.2, 0.2, 0.5, 1.0) && !through(0.2, 0.2, -1.0, -0.5));
}

/// A heap of small triangles, some flat or in one line of cells, on two large ones that do not move: the same crossings
/// as all edges against all triangles.
#[test]
fn no_crossing_is_missed() {
    let mut state = 3_u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1 << 30) - 1.0
    };
    for spread in [[1.0, 1.0, 1.0], [4.0, 0.01, 1.0], [0.02, 3.0, 0.0], [1e-3, 1e-3, 5.0]] {
        let count = 150;
        let mut at = Vec::new();
        for _ in 0..count {
            let middle = spread.map(|s: f64| s * number());
            at.extend([0; 3].map(|_| [0, 1, 2].map(|k| middle[k] + 0.2 * number())));
        }
        at.extend([[-9.0, -9.0, -9.0], [9.0, -9.0, 9.0], [0.0, 9.0, 0.1], [9.0, 9.0, -9.0]]);
        let last = 3 * count as u32;
        let mut triangles: Vec<[u32; 3]> = (0..count as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        triangles.extend([[last, last + 1, last + 2], [last + 1, last + 2, last + 3]]);
        let still = (0..at.len() as u32).map(|v| v >= last).collect();
        let test = Crossings::new(triangles, still);
        let mut all = Vec::new();
        for (edge, triangle) in
            test.edges().iter().flat_map(|edge| test.triangles().iter().map(move |t| (*edge, *t)))
        {
            let still = edge.iter().chain(&triangle).all(|&v| v >= last);
            let apart = !still && !triangle.iter().any(|v| edge.contains(v));
            if apart && crosses(edge.map(|v| at[v as usize]), triangle.map(|v| at[v as usize])) {
                all.push((edge, triangle));
            }
        }
        let mut found: Vec<_> = test.find(&at).iter().map(|c| (c.edge, c.triangle)).collect();
        all.sort_unstable();
        found.sort_unstable();
        assert!(all.len() > 20 && found == all, "{spread:?}: {} of {}", found.len(), all.len());
    }
}

/// Positions that are not finite do not end the test.
#[test]
fn positions_need_not_be_finite() {
    let test = Crossings::new(vec![[0, 1, 2], [3, 4, 5]], vec![false; 6]);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut at: Vec<[f64; 3]> = (0..6).map(|k| [f64::from(k), f64::from(k * k), 0.1]).collect();
        at[4] = [bad; 3];
        assert!(test.find(&at).is_empty(), "{bad}");
    }
}

/// A strip folded on itself: its tip is above the first triangle, below it, or far away.
#[test]
fn folds_cross_once_they_go_too_far() {
    let strip = [[0, 1, 2], [2, 1, 3], [2, 3, 4]];
    let test = Crossings::new(strip.to_vec(), vec![false; 5]);
    let at = |tip: [f64; 3]| [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], tip];
    assert!(test.find(&at([0.2, 0.3, 0.1])).is_empty());
    let found =
        test.find(&[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [1.0, 1.0, 0.8], [0.1, 0.3, -0.1]]);
    assert!(found.contains(&Crossing { edge: [3, 4], triangle: [0, 1, 2] }), "{found:?}");
}
