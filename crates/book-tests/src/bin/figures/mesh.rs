//! A half ring of triangles, and −Δ on it by linear elements.

use coarsen::backend::conformance::noise;
use coarsen::sparse::{Bsr, SparseError, assembly};

/// Maximum displacement of a node from the regular grid, relative to the distance of two nodes.
const STRAY: f64 = 0.2;

/// Points in the plane and triangles between them.
pub(crate) struct Mesh {
    pub(crate) points: Vec<[f64; 2]>,
    pub(crate) triangles: Vec<[usize; 3]>,
    /// Nodes with a prescribed value.
    pub(crate) held: Vec<bool>,
}

impl Mesh {
    /// The upper half of a ring with inner radius 1 and outer radius 2, `across` by `along` nodes, slightly
    /// disordered, fixed at its right end.
    pub(crate) fn half_ring(across: usize, along: usize) -> Self {
        let stray = noise(2 * across * along, 5);
        let inside = |i: usize, n: usize| f64::from(u8::from(i > 0 && i + 1 < n)) * STRAY;
        let points = (0..across * along)
            .map(|k| {
                let (i, j) = (k % across, k / across);
                let at = |i: usize, n: usize, stray: f64| (i as f64 + inside(i, n) * stray) / (n - 1) as f64;
                let radius = 1.0 + at(i, across, stray[2 * k]);
                let (sin, cos) = (std::f64::consts::PI * at(j, along, stray[2 * k + 1])).sin_cos();
                [radius * cos, radius * sin]
            })
            .collect::<Vec<_>>();
        let mut triangles = Vec::new();
        for (i, j) in (0..along - 1).flat_map(|j| (0..across - 1).map(move |i| (i, j))) {
            let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| j * across + i);
            let length =
                |p: usize, q: usize| (points[p][0] - points[q][0]).hypot(points[p][1] - points[q][1]);
            // Split each quadrilateral along the shorter diagonal.
            let two =
                if length(a, c) < length(b, d) { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
            triangles.extend(two);
        }
        let held = (0..points.len()).map(|k| k < across).collect();
        Self { points, triangles, held }
    }

    /// ∫ ∇Nᵢ · ∇Nⱼ for free nodes, rows of the identity for fixed ones.
    pub(crate) fn laplacian(&self) -> Result<Bsr<f64>, SparseError> {
        let n = self.points.len();
        let mut entries: Vec<(u32, u32, f64)> =
            (0..n).filter(|&k| self.held[k]).map(|k| (k as u32, k as u32, 1.0)).collect();
        for triangle in &self.triangles {
            let p = triangle.map(|k| self.points[k]);
            // The side opposite to a node, which is its gradient times twice the area, turned by 90°.
            let side = [0, 1, 2].map(|a| {
                let (q, r) = (p[(a + 1) % 3], p[(a + 2) % 3]);
                [r[0] - q[0], r[1] - q[1]]
            });
            let area = 0.5 * (side[0][0] * side[1][1] - side[0][1] * side[1][0]).abs();
            for (a, b) in (0..9).map(|ab| (ab / 3, ab % 3)) {
                let (i, j) = (triangle[a], triangle[b]);
                if !self.held[i] && !self.held[j] {
                    let dot = side[a][0] * side[b][0] + side[a][1] * side[b][1];
                    entries.push((i as u32, j as u32, dot / (4.0 * area)));
                }
            }
        }
        assembly::from_triplets(n, n, &entries)
    }
}
