//! Stretching and shearing of a triangle: Baraff & Witkin 1998, §4.
//!
//! The map from the flat cloth to space has the columns (their (9))
//!
//! > (w_u w_v) = (Δx₁ Δx₂) (Δu₁ Δu₂; Δv₁ Δv₂)⁻¹ = Σ_a x_a g_aᵀ    (1)
//!
//! and the energies, with a the area at rest,
//!
//! > ½ k a ((‖w_u‖ − 1)² + (‖w_v‖ − 1)²),  ½ k' a (w_u · w_v)²    (2)
//!
//! Deviation: they put the area inside the condition, so that energies grow with its square; here k does not depend on the mesh.
//! Their second derivatives, with ŵ = w / ‖w‖ and P = ŵ ŵᵀ, are
//!
//! > k a g_a g_b (P + max(0, 1 − 1/‖w‖) (I − P)) for each of u and v    (3)
//!
//! where the maximum drops the negative part of a compressed triangle and leaves K positive semidefinite (Choi & Ko 2002), and
//!
//! > k' a d_a d_bᵀ,  d_a = g_au w_v + g_av w_u    (4)
//!
//! Deviation: (4) drops the term of the second derivative of w_u · w_v (Gauss-Newton), which is indefinite.
//!
//! | symbol | name |
//! |---|---|
//! | k, k' | `STRETCH`, `SHEAR` |
//! | a | `area` |
//! | g_a | `slopes[a]`: the gradient of the hat of corner a in (u, v) |
//! | the bracket of (3) | `hessians`, for u and v |
//! | d_a | `shears[a]` |

use super::sheet::Sheet;

/// k, N/m.
pub(crate) const STRETCH: f64 = 5e3;

/// k', N/m.
const SHEAR: f64 = 1e3;

/// What a triangle's second derivatives are made of.
pub(crate) struct Triangle {
    /// Area at rest, m².
    pub(crate) area: f64,
    slopes: [[f64; 2]; 3],
    hessians: [[f64; 9]; 2],
    shears: [[f64; 3]; 3],
}

impl Triangle {
    /// Triangle t of a sheet.
    pub(crate) fn new(sheet: &Sheet, t: usize) -> Self {
        let corners = sheet.triangles[t].map(|i| i as usize);
        let [p, q, r] = corners.map(|i| sheet.rest[i]);
        let ([u1, v1], [u2, v2]) = ([q[0] - p[0], q[1] - p[1]], [r[0] - p[0], r[1] - p[1]]);
        let det = u1 * v2 - u2 * v1;
        let (g1, g2) = ([v2 / det, -u2 / det], [-v1 / det, u1 / det]);
        let slopes = [[-g1[0] - g2[0], -g1[1] - g2[1]], g1, g2];

        let [x0, x1, x2] = corners.map(|i| sheet.positions[i]);
        let w: [[f64; 3]; 2] =
            [0, 1].map(|s| std::array::from_fn(|c| g1[s] * (x1[c] - x0[c]) + g2[s] * (x2[c] - x0[c]))); // (1)
        let shears = slopes.map(|g| std::array::from_fn(|c| g[0] * w[1][c] + g[1] * w[0][c]));
        Self { area: 0.5 * det.abs(), slopes, hessians: w.map(stretch_hessian), shears }
    }

    /// K_ab, row-major 3x3; K_ba is its transpose to the bit.
    pub(crate) fn stiffness(&self, a: usize, b: usize) -> [f64; 9] {
        let (g, h, d) = (self.slopes, self.hessians, self.shears);
        let [u, v] = [0, 1].map(|s| STRETCH * self.area * (g[a][s] * g[b][s]));
        std::array::from_fn(|e| {
            u * h[0][e] + v * h[1][e] + SHEAR * self.area * (d[a][e / 3] * d[b][e % 3]) // (3) + (4)
        })
    }
}

/// P + max(0, 1 − 1/‖w‖) (I − P).
fn stretch_hessian(w: [f64; 3]) -> [f64; 9] {
    let length = (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]).sqrt();
    let unit = w.map(|c| c / length);
    let tension = (1.0 - 1.0 / length).max(0.0);
    std::array::from_fn(|e| {
        let p = unit[e / 3] * unit[e % 3];
        let identity = if e / 3 == e % 3 { 1.0 } else { 0.0 };
        p + tension * (identity - p) // (3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    /// A sheet of 3 x 3 vertices with the given place of each.
    fn sheet(place: impl Fn([f64; 2]) -> [f64; 3]) -> Sheet {
        let mut sheet = Sheet::new(Grid::new("cloth", [3, 3, 1], 3).unwrap(), 3);
        sheet.positions = sheet.rest.iter().map(|&p| place(p)).collect();
        sheet
    }

    /// ½ k a Σ (‖w‖ − 1)² by its definition (2), for triangle t.
    fn stretch_energy(sheet: &Sheet, t: usize) -> f64 {
        let corners = sheet.triangles[t].map(|i| i as usize);
        let g = Triangle::new(sheet, t).slopes;
        let stretch = |s: usize| {
            let w = [0, 1, 2].map(|c| (0..3).map(|a| g[a][s] * sheet.positions[corners[a]][c]).sum::<f64>());
            (w.iter().map(|w| w * w).sum::<f64>().sqrt() - 1.0).powi(2)
        };
        0.5 * STRETCH * 0.125 * (stretch(0) + stretch(1))
    }

    /// A sheet under tension along both axes, w_u ⟂ w_v: (3) is the exact second derivative of (2), by differences.
    #[test]
    fn stretching_is_the_second_derivative_of_its_energy() {
        let mut s = sheet(|[u, v]| [1.2 * u, 1.1 * v, 0.0]);
        let triangle = Triangle::new(&s, 0);
        let corners = s.triangles[0].map(|i| i as usize);
        let step = 1e-4;
        for (a, b, p, q) in (0..81).map(|k| (k / 27, k / 9 % 3, k / 3 % 3, k % 3)) {
            let mut energy = |dp: f64, dq: f64| {
                let kept = s.positions.clone();
                s.positions[corners[a]][p] += dp * step;
                s.positions[corners[b]][q] += dq * step;
                let e = stretch_energy(&s, 0);
                s.positions = kept;
                e
            };
            let mixed = energy(1.0, 1.0) - energy(1.0, -1.0) - energy(-1.0, 1.0) + energy(-1.0, -1.0);
            let (da, db) = (triangle.shears[a][p], triangle.shears[b][q]);
            let stretch = triangle.stiffness(a, b)[3 * p + q] - SHEAR * triangle.area * da * db;
            assert!((mixed / (4.0 * step * step) - stretch).abs() < 1e-2, "{a} {b} {p} {q}");
        }
    }

    #[test]
    fn a_flat_triangle_by_hand() {
        let s = sheet(|[u, v]| [u, v, 0.0]);
        let triangle = Triangle::new(&s, 0); // (0, 0), (½, 0), (½, ½): slopes (−2, 0), (2, −2), (0, 2)
        assert_eq!((triangle.area, triangle.slopes), (0.125, [[-2.0, 0.0], [2.0, -2.0], [0.0, 2.0]]));
        let expected = [STRETCH * 0.5, 0.0, 0.0, 0.0, SHEAR * 0.5, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(triangle.stiffness(0, 0), expected);
    }

    #[test]
    fn compression_leaves_no_negative_part() {
        let s = sheet(|[u, v]| [0.5 * u, v, 0.0]);
        let k = Triangle::new(&s, 0).stiffness(0, 0);
        assert_eq!((k[8], k[0] > 0.0), (0.0, true));
    }
}
