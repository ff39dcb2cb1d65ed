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
