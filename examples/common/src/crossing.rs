//! An independent test for intersection: every edge against every triangle.
//!
//! It shares no code with the detection of contacts in `coarsen-contact`. Its only short cut is a sweep along
//! x: edges and triangles whose intervals in x are apart are not compared.

use coarsen::mesh::vector::{cross, dot, sub};

/// A segment is in the plane of a triangle if it leaves it by no more than this, in units of its length.
const FLAT: f64 = 1e-12;

/// An edge that crosses a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The ends of the edge.
    pub edge: [u32; 2],
    /// The corners of the triangle.
    pub triangle: [u32; 3],
}

/// The edges and triangles of a surface.
pub struct Crossings {
    edges: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
    /// The first node that does not move: edges and triangles of such nodes alone are not compared.
    still: u32,
}

impl Crossings {
    /// The test for a surface of triangles, whose nodes from `still` on do not move.
    pub fn new(triangles: Vec<[u32; 3]>, still: u32) -> Self {
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]);
        let mut edges: Vec<[u32; 2]> = triangles.iter().flat_map(sides).collect();
        edges.sort_unstable();
        edges.dedup();
        Self { edges, triangles, still }
    }

    /// All triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// All edges, sorted.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// All crossings at these positions of all nodes.
    pub fn find(&self, at: &[[f64; 3]]) -> Vec<Crossing> {
        let ends = |nodes: &[u32]| {
            let x = nodes.iter().map(|&v| at[v as usize][0]);
            x.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
        };
        let mut triangles: Vec<([f64; 2], &[u32; 3])> = self.triangles.iter().map(|t| (ends(t), t)).collect();
        triangles.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
        let widest = triangles.iter().map(|(x, _)| x[1] - x[0]).fold(0.0, f64::max);
        let mut found = Vec::new();
        for edge in &self.edges {
            let [low, high] = ends(edge);
            let first = triangles.partition_point(|(x, _)| x[0] < low - widest);
            let near =
                triangles[first..].iter().take_while(|(x, _)| x[0] <= high).filter(|(x, _)| x[1] >= low);
            for (_, triangle) in near {
                let still = edge.iter().chain(*triangle).all(|&v| v >= self.still);
                if still || triangle.iter().any(|v| edge.contains(v)) {
                    continue;
                }
                if crosses(edge.map(|v| at[v as usize]), triangle.map(|v| at[v as usize])) {
                    found.push(Crossing { edge: *edge, triangle: **triangle });
                }
            }
        }
        found
    }
}

/// Whether the segment from p to q crosses the triangle: its ends are on different sides of the plane, and its
/// line passes all sides of the triangle on the same side.
fn crosses([p, q]: [[f64; 3]; 2], [a, b, c]: [[f64; 3]; 3]) -> bool {
    let volume =
        |a: [f64; 3], b: [f64; 3], c: [f64; 3], d: [f64; 3]| dot(cross(sub(b, a), sub(c, a)), sub(d, a));
    let [near, far] = [p, q].map(|end| volume(a, b, c, end));
    let size = |a: [f64; 3], b: [f64; 3]| sub(a, b).iter().map(|x| x.abs()).sum::<f64>();
    if (near > 0.0) == (far > 0.0) || (near - far).abs() <= FLAT * size(a, b) * size(a, c) * size(p, q) {
        return false;
    }
    let around = [(a, b), (b, c), (c, a)].map(|(a, b)| volume(p, q, a, b) > 0.0);
    around[0] == around[1] && around[1] == around[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_by_hand() {
        let triangle = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let through =
            |x: f64, y: f64, low: f64, high: f64| crosses([[x, y, low], [x + 0.1, y, high]], triangle);
        assert!(through(0.2, 0.2, -1.0, 1.0) && through(0.2, 0.2, 1.0, -1.0));
        assert!(!through(0.7, 0.7, -1.0, 1.0) && !through(-0.3, 0.2, -1.0, 1.0));
        assert!(!through(0.2, 0.2, 0.5, 1.0) && !through(0.2, 0.2, -1.0, -0.5));
    }

    /// A strip folded on itself: its tip is above the first triangle, below it, or far away.
    #[test]
    fn folds_cross_once_they_go_too_far() {
        let strip = [[0, 1, 2], [2, 1, 3], [2, 3, 4]];
        let test = Crossings::new(strip.to_vec(), 5);
        let at = |tip: [f64; 3]| [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], tip];
        assert!(test.find(&at([0.2, 0.3, 0.1])).is_empty());
        let found = test.find(&[
            [0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [1.0, 0.0, 0.5],
            [1.0, 1.0, 0.8],
            [0.1, 0.3, -0.1],
        ]);
        assert!(found.contains(&Crossing { edge: [3, 4], triangle: [0, 1, 2] }), "{found:?}");
    }
}
