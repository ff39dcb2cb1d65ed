//! Pairs that stay apart along an axis.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x, p | `x`, `p` | positions of the four nodes, and their displacements |
//! | A, B | | the nodes of the first part and of the second |
//!
//! > min_B x − max_A x + min(0, min_B p − max_A p) > r  along an axis    (1)
//!
//! for a time t from 0 to 1, B is above A by the left side at least, so that no points of both are nearer than r; or
//! A above B. Neighbours in a sheet move alike: the boxes of their whole displacements overlap, but (1) tells them apart
//! without a distance.

use coarsen_mesh::vector::{cross, dot, sub};

use crate::Pair;

/// Whether (1) shows that a pair stays farther apart than r. False where numbers overflow; positions are finite.
#[inline]
pub(super) fn apart(pair: &Pair, x: &[[f64; 3]; 4], p: &[[f64; 3]; 4], r: f64) -> bool {
    match pair {
        Pair::VertexFace { .. } => splits::<1>(x, p, r),
        Pair::EdgeEdge { .. } => splits::<2>(x, p, r),
    }
}

/// Whether the plane of a triangle, or the planes along two edges, show that a pair is farther apart than r: no point
/// is nearer than its plane, and no segment than its line. False for parts that are nearly parallel or flat, and
/// where numbers overflow.
///
/// *Cost* a fifth of a distance; layers on each other are told apart so.
#[inline]
pub(super) fn beyond(pair: &Pair, x: &[[f64; 3]; 4], r: f64) -> bool {
    let (d, e, from) = match pair {
        Pair::VertexFace { .. } => (sub(x[2], x[1]), sub(x[3], x[1]), sub(x[0], x[1])),
        Pair::EdgeEdge { .. } => (sub(x[1], x[0]), sub(x[3], x[2]), sub(x[0], x[2])),
    };
    let n = cross(d, e);
    let (square, high) = (dot(n, n), dot(n, from));
    // Errors of the direction are below 1e-12, and r is taken longer by more than that.
    square > STEEP * dot(d, d) * dot(e, e) && high * high > SURE * r * r * square && high.is_finite()
}

/// The least square of the sine of two edges whose normal counts.
const STEEP: f64 = 1e-6;

/// The square of a factor of distances beyond all rounding errors.
const SURE: f64 = 1.0 + 1e-6;

/// [`apart`] for a first part of N nodes.
#[inline(always)]
fn splits<const N: usize>(x: &[[f64; 3]; 4], p: &[[f64; 3]; 4], r: f64) -> bool {
    // min_A, max_A, min_B, max_B
    let ends = |of: &[[f64; 3]; 4], k: usize| {
        let (mut a, mut b) = ([of[0][k]; 2], [of[3][k]; 2]);
        for node in of.iter().take(N) {
            a = [a[0].min(node[k]), a[1].max(node[k])];
        }
        for node in of.iter().skip(N) {
            b = [b[0].min(node[k]), b[1].max(node[k])];
        }
        (a, b)
    };
    let mut split = false;
    for k in 0..3 {
        let ((a, b), (pa, pb)) = (ends(x, k), ends(p, k));
        split |= b[0] - a[1] + nearer(pb[0] - pa[1]) > r; // (1)
        split |= a[0] - b[1] + nearer(pa[0] - pb[1]) > r;
    }
    split
}

/// min(0, p), and NaN for NaN, which `f64::min` would ignore.
fn nearer(p: f64) -> f64 {
    if p >= 0.0 { 0.0 } else { p }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::distance::gap;

    /// No pair beyond r by its planes is nearer than r, and layers on each other are told apart.
    #[test]
    fn pairs_beyond_are_farther() {
        let mut random = coarsen_core::SplitMix64::new(6);
        let mut found = 0;
        for round in 0..8000 {
            let pair = match round % 2 {
                0 => Pair::VertexFace { vertex: 0, face: [1, 2, 3] },
                _ => Pair::EdgeEdge { edges: [[0, 1], [2, 3]] },
            };
            let mut x: [[f64; 3]; 4] = std::array::from_fn(|_| [0; 3].map(|_| random.numbers(1)[0]));
            if round % 5 == 0 {
                // Nearly parallel edges, and a triangle that is nearly flat.
                let along = 10.0_f64.powi(-(round % 9));
                x[3] = [0, 1, 2].map(|k| x[2][k] + x[1][k] - x[0][k] + along * x[3][k]);
            }
            let (r, distance) = (0.1, gap(&pair, &x).distance);
            if beyond(&pair, &x, r) {
                found += 1;
                assert!(distance > r, "{round}: {distance}");
            }
            assert!(!beyond(&pair, &x, distance), "{round}");
        }
        assert!(found > 3000, "{found}");
        let nan = [[f64::NAN; 3], [0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        assert!(!beyond(&Pair::VertexFace { vertex: 0, face: [1, 2, 3] }, &nan, 0.1));
    }

    #[test]
    fn numbers_that_overflow_are_not_apart() {
        let (pair, x) =
            (Pair::EdgeEdge { edges: [[0, 1], [2, 3]] }, [[0.0; 3], [0.0; 3], [1.0; 3], [1.0; 3]]);
        let away = |by: f64| [[0.0; 3], [0.0; 3], [by; 3], [by; 3]];
        assert!(apart(&pair, &x, &away(0.0), 0.9) && !apart(&pair, &x, &away(-0.2), 0.9));
        assert!(apart(&pair, &x, &away(5.0), 0.9) && !apart(&pair, &x, &away(f64::NEG_INFINITY), 0.9));
        assert!(!apart(&pair, &x, &[[f64::NEG_INFINITY; 3]; 4], 0.9), "the difference is no number");
        let vast = x.map(|x| x.map(|x| x * 1e308 * 1.5));
        assert!(!apart(&pair, &vast, &away(f64::NEG_INFINITY), 0.9));
    }
}
