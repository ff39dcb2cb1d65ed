//! Nearest points and normals of triangles, and points inside tetrahedra.

use coarsen_mesh::vector::{cross, dot, sub};

use crate::shape::norm;

/// A point is inside a tetrahedron if all barycentric coordinates are at least this value. With a limit of 0,
/// round-off could place a point on a common face outside of both tetrahedra.
const INSIDE: f64 = -1e-10;

/// Squares of lengths with a relative difference below this value count as equal.
pub(crate) const EQUAL: f64 = 1e-9;

/// Returns the barycentric coordinates of the point of a triangle that is nearest to x. Ericson 2005,
/// "Real-Time Collision Detection", §5.1.5.
#[inline]
pub(crate) fn nearest(x: [f64; 3], [a, b, c]: [[f64; 3]; 3]) -> [f64; 3] {
    let (ab, ac) = (sub(b, a), sub(c, a));
    let along = |from: [f64; 3]| (dot(ab, sub(x, from)), dot(ac, sub(x, from)));
    let ((d1, d2), (d3, d4), (d5, d6)) = (along(a), along(b), along(c));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let [va, vb, vc] = [d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2];
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let t = d1 / (d1 - d3);
        return [1.0 - t, t, 0.0];
    }
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let t = d2 / (d2 - d6);
        return [1.0 - t, 0.0, t];
    }
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return [0.0, 1.0 - t, t];
    }
    let [v, w] = [vb, vc].map(|part| part / (va + vb + vc));
    [1.0 - v - w, v, w]
}

/// Σ w_a x_a.
pub(crate) fn combine<const K: usize>(weights: &[f64; K], points: &[[f64; 3]; K]) -> [f64; 3] {
    std::array::from_fn(|k| weights.iter().zip(points).map(|(w, x)| w * x[k]).sum())
}

/// Returns the unit normal of a triangle whose corners are counter-clockwise as seen from its tip; `None` for
/// an area of 0.
pub(crate) fn normal([a, b, c]: [[f64; 3]; 3]) -> Option<[f64; 3]> {
    let n = cross(sub(b, a), sub(c, a));
    let length = norm(n);
    (length > 0.0 && length.is_finite()).then(|| n.map(|n| n / length))
}

/// A tetrahedron, prepared to test many points.
pub(crate) struct Inside {
    origin: [f64; 3],
    /// The gradients of the last three barycentric coordinates.
    gradients: [[f64; 3]; 3],
}

impl Inside {
    /// Returns the test; no point is inside of a flat tetrahedron.
    pub(crate) fn new([a, b, c, d]: [[f64; 3]; 4]) -> Self {
        let [b, c, d] = [b, c, d].map(|x| sub(x, a));
        let gradients = [cross(c, d), cross(d, b), cross(b, c)];
        let six = dot(b, gradients[0]);
        Self { origin: a, gradients: gradients.map(|g| g.map(|g| g / six)) }
    }

    /// Returns the barycentric coordinates of x if it is inside.
    pub(crate) fn coordinates(&self, x: [f64; 3]) -> Option<[f64; 4]> {
        let [b, c, d] = self.gradients.map(|g| dot(g, sub(x, self.origin)));
        let all = [1.0 - b - c - d, b, c, d];
        all.iter().all(|beta| *beta >= INSIDE).then_some(all)
    }
}
