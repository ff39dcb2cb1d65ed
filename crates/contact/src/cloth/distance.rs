//! The nearest points of a vertex and a triangle, or of two edges.
//!
//! Ericson 2005, "Real-Time Collision Detection", §5.1.5 and §5.1.9.

use coarsen_mesh::vector::{cross, dot, sub};

use crate::Pair;
use crate::shape::norm;
use crate::triangle::nearest;

/// Two edges are nearly parallel if the square of the sine of their angle is at most this. The general formula
/// then loses digits, and ends are tried too.
const PARALLEL: f64 = 1e-6;

/// The nearest points of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    /// The weights of the four nodes: positive for the first part, negative for the second.
    pub(super) weights: [f64; 4],
    /// The vector from the second part to the first: Σ w_a x_a.
    pub(super) vector: [f64; 3],
    /// Its length.
    pub(super) distance: f64,
}

/// Returns the nearest points of a pair with its nodes at these positions.
#[inline]
pub(super) fn gap(pair: &Pair, x: &[[f64; 3]; 4]) -> Gap {
    let of = |weights: [f64; 4]| {
        // From differences to the first node, which keep all digits far from the origin.
        let vector: [f64; 3] =
            std::array::from_fn(|k| (1..4).map(|a| weights[a] * (x[a][k] - x[0][k])).sum::<f64>());
        Gap { weights, vector, distance: norm(vector) }
    };
    match pair {
        Pair::VertexFace { .. } => {
            let [u, v, w] = nearest(x[0], [x[1], x[2], x[3]]);
            of([1.0, -u, -v, -w])
        }
        Pair::EdgeEdge { .. } => {
            let between = |[s, t]: [f64; 2]| of([1.0 - s, s, t - 1.0, -t]);
            let (inside, parallel) = between_lines(x);
            let mut best = between(inside);
            if parallel {
                let (first, second) = ([x[0], x[1]], [x[2], x[3]]);
                for end in [0.0, 1.0] {
                    let own = [
                        [end, along(first[end as usize], second)],
                        [along(second[end as usize], first), end],
                    ];
                    for other in own.map(between) {
                        best = if other.distance < best.distance { other } else { best };
                    }
                }
            }
            best
        }
    }
}

/// The position of the nearest point of a segment to p, from 0 to 1.
fn along(p: [f64; 3], [a, b]: [[f64; 3]; 2]) -> f64 {
    let edge = sub(b, a);
    let square = dot(edge, edge);
    if square > 0.0 { (dot(sub(p, a), edge) / square).clamp(0.0, 1.0) } else { 0.0 }
}

/// The positions of the nearest points of two segments, and whether the segments are nearly parallel.
fn between_lines([p, q, r, s]: &[[f64; 3]; 4]) -> ([f64; 2], bool) {
    let (d, e, from) = (sub(*q, *p), sub(*s, *r), sub(*p, *r));
    let (dd, ee, de) = (dot(d, d), dot(e, e), dot(d, e));
    let (along_d, along_e) = (dot(d, from), dot(e, from));
    let sine = cross(d, e);
    let squares = dot(sine, sine);
    let parallel = squares <= PARALLEL * dd * ee;
    let first = if parallel { 0.5 } else { ((de * along_e - along_d * ee) / squares).clamp(0.0, 1.0) };
    let second = along(std::array::from_fn(|k| p[k] + first * d[k]), [*r, *s]);
    // The nearest point of the first segment to that of the second.
    let first = along(std::array::from_fn(|k| r[k] + second * e[k]), [*p, *q]);
    ([first, second], parallel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64) -> [[f64; 3]; 4] {
        let mut random = coarsen_core::SplitMix64::new(seed);
        [0; 4].map(|_| [0; 3].map(|_| (random.bits() >> 11) as f64 / (1_u64 << 53) as f64))
    }

    const FACE: Pair = Pair::VertexFace { vertex: 0, face: [1, 2, 3] };
    const EDGES: Pair = Pair::EdgeEdge { edges: [[0, 1], [2, 3]] };

    /// No points of a fine grid on both parts are nearer, also for edges that are parallel or meet.
    #[test]
    fn no_other_points_are_nearer() {
        for seed in 0..400 {
            let mut x = random(seed);
            if seed % 4 == 1 {
                let shift = [1e-9 * (seed as f64), 0.3, 0.1];
                x[2] = std::array::from_fn(|k| x[0][k] + shift[k] + 0.2 * (x[1][k] - x[0][k]));
                x[3] = std::array::from_fn(|k| x[1][k] + shift[k] * (1.0 + 1e-8));
            }
            for pair in [FACE, EDGES] {
                let own = gap(&pair, &x);
                let sum: f64 = own.weights.iter().sum();
                assert!(sum.abs() < 1e-14 && own.weights[..pair.first()].iter().all(|w| *w >= 0.0));
                assert!(own.weights[pair.first()..].iter().all(|w| *w <= 0.0));
                for (i, j) in (0..900).map(|k| (f64::from(k / 30) / 29.0, f64::from(k % 30) / 29.0)) {
                    let weights = match pair {
                        Pair::VertexFace { .. } => {
                            [1.0, i * (1.0 - j) - 1.0, -i * (1.0 - j) * (1.0 - j), -i * (1.0 - j) * j]
                        }
                        Pair::EdgeEdge { .. } => [1.0 - i, i, j - 1.0, -j],
                    };
                    let other: [f64; 3] = std::array::from_fn(|k| (0..4).map(|a| weights[a] * x[a][k]).sum());
                    assert!(
                        own.distance <= norm(other) + 1e-9,
                        "{seed} {pair}: {} > {}",
                        own.distance,
                        norm(other)
                    );
                }
            }
        }
    }

    #[test]
    fn distances_by_hand() {
        let x = [[0.2, 0.2, 0.7], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let own = gap(&FACE, &x);
        assert!((own.distance - 0.7).abs() < 1e-15 && (own.vector[2] - 0.7).abs() < 1e-15);
        let x = [[-1.0, 0.0, 0.5], [1.0, 0.0, 0.5], [0.0, -1.0, 0.0], [0.0, 3.0, 0.0]];
        let own = gap(&EDGES, &x);
        assert!(own.weights.iter().zip([0.5, 0.5, -0.75, -0.25]).all(|(a, b)| (a - b).abs() < 1e-15));
        assert!((own.vector[2] - 0.5).abs() < 1e-15);
    }
}
