//! Bending about the edges of a sheet that was flat: Bergou, Wardetzky, Harmon, Zorin & Grinspun 2006, *A Quadratic Bending Model
//! for Inextensible Surfaces*.
//!
//! For two triangles over the edge x₀ x₁, with tips x₂ and x₃ and areas A₀ and A₁, the energy is ½ k Σ x_aᵀ Q_ab x_b with
//!
//! > Q = 3 / (A₀ + A₁) c cᵀ    (1)
//! > c = (c₀₃ + c₀₄, c₀₁ + c₀₂, −c₀₁ − c₀₃, −c₀₂ − c₀₄)    (2)
//!
//! where c_ij is the cotangent of the angle between edges e_i and e_j: e₀ = x₀ x₁, e₁ = x₀ x₂, e₂ = x₀ x₃, e₃ = x₁ x₂,
//! e₄ = x₁ x₃. All of it is known at rest, so bending adds constants: Q_ab times the identity.

use super::sheet::Sheet;

/// k, N m.
const BENDING: f64 = 5e-5;

/// Two triangles about their common edge.
pub(crate) struct Hinge {
    /// x₀, x₁, x₂, x₃.
    pub(crate) corners: [u32; 4],
    /// c.
    weights: [f64; 4],
    /// 3 k / (A₀ + A₁).
    scale: f64,
}

impl Hinge {
    /// The hinges of a sheet, one for each edge inside it, edges in increasing order.
    pub(crate) fn all(sheet: &Sheet) -> Vec<Self> {
        let half_edges = |&[a, b, c]: &[u32; 3]| [(a, b, c), (b, c, a), (c, a, b)];
        let mut edges: Vec<([u32; 2], [u32; 3])> = sheet
            .triangles
            .iter()
            .flat_map(half_edges)
            .map(|(from, to, tip)| ([from.min(to), from.max(to)], [from, to, tip]))
            .collect();
        edges.sort_unstable();
        let inside = edges.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        inside
            .map(|pair| Self::new(sheet, [pair[0].1[0], pair[0].1[1], pair[0].1[2], pair[1].1[2]]))
            .collect()
    }

    fn new(sheet: &Sheet, corners: [u32; 4]) -> Self {
        let [x0, x1, x2, x3] = corners.map(|i| sheet.rest[i as usize]);
        let (c01, c02) = (cotangent(x0, x1, x2), cotangent(x0, x1, x3));
        let (c03, c04) = (cotangent(x1, x0, x2), cotangent(x1, x0, x3));
        let weights = [c03 + c04, c01 + c02, -c01 - c03, -c02 - c04]; // (2)
        let areas = 0.5 * (cross(x0, x1, x2).abs() + cross(x0, x1, x3).abs());
        Self { corners, weights, scale: 3.0 * BENDING / areas }
    }

    /// k Q_ab, to be multiplied by the 3x3 identity.
    pub(crate) fn stiffness(&self, a: usize, b: usize) -> f64 {
        self.scale * (self.weights[a] * self.weights[b]) // (1)
    }
}

/// (q − p) x (r − p): twice the signed area.
fn cross(p: [f64; 2], q: [f64; 2], r: [f64; 2]) -> f64 {
    (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
}

/// The cotangent of the angle at p between the edges to q and r.
fn cotangent(p: [f64; 2], q: [f64; 2], r: [f64; 2]) -> f64 {
    ((q[0] - p[0]) * (r[0] - p[0]) + (q[1] - p[1]) * (r[1] - p[1])) / cross(p, q, r).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    fn hinges() -> (Sheet, Vec<Hinge>) {
        let sheet = Sheet::new(Grid::new("cloth", [5, 5, 1], 3).unwrap(), 5);
        let hinges = Hinge::all(&sheet);
        (sheet, hinges)
    }

    /// By Euler's formula 25 vertices and 32 triangles have 56 edges; 16 of them are the boundary.
    #[test]
    fn one_hinge_for_each_inner_edge() {
        assert_eq!(hinges().1.len(), 56 - 16);
    }

    /// A flat sheet in any pose is not bent: c annihilates constants, u and v.
    #[test]
    fn flat_sheets_are_not_bent() {
        let (sheet, hinges) = hinges();
        for hinge in &hinges {
            let moment = |f: &dyn Fn([f64; 2]) -> f64| {
                (0..4).map(|a| hinge.weights[a] * f(sheet.rest[hinge.corners[a] as usize])).sum::<f64>()
            };
            assert!([moment(&|_| 1.0), moment(&|p| p[0]), moment(&|p| p[1])].iter().all(|m| m.abs() < 1e-14));
        }
    }

    /// A square folded about its diagonal: all angles are 45 degrees at the edge, so c = (2, 2, −2, −2), A₀ + A₁ = h².
    #[test]
    fn the_diagonal_of_a_square() {
        let (_, hinges) = hinges();
        let diagonal = hinges.iter().find(|h| h.corners[..2].iter().all(|i| [0, 6].contains(i))).unwrap();
        assert!(diagonal.weights.iter().zip([2.0, 2.0, -2.0, -2.0]).all(|(c, w)| (c - w).abs() < 1e-14));
        assert!((diagonal.stiffness(0, 2) / (-4.0 * 3.0 * BENDING * 16.0) - 1.0).abs() < 1e-14);
    }
}
