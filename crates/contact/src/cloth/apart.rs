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
//! A above B. Neighbours in a sheet move alike: the boxes of their whole ways overlap, but (1) tells them apart
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
