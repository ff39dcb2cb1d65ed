//! A membrane with the stiffness of [`PlanarStiffness`]: Wang, O'Brien & Ramamoorthi 2011, §3.
//!
//! With the columns w_u and w_v of F, and the energy E(p) per area of `orthotropic`
//!
//! > p = ((‖w_u‖² − 1)/2, (‖w_v‖² − 1)/2, w_u · w_v),    S = ∂E/∂p    (1)
//! > ∂E/∂w_u = S_uu w_u + S_uv w_v,    ∂E/∂w_v = S_vv w_v + S_uv w_u    (2)
//! > ∂²E/∂w² = Σ_ij (∂²E/∂p_i∂p_j) q_i q_jᵀ + (S_uu S_uv; S_uv S_vv) ⊗ I    (3)
//! > q = ((w_u, 0), (0, w_v), (w_v, w_u))    (4)
//!
//! The projected Hessian has both terms of (3) without their negative eigenvalues. It is positive semidefinite, but not
//! the nearest such matrix.

use coarsen_mesh::vector::dot;

use crate::BodyError;
use crate::elements::{Element, Elements, Stiffness, add_outer};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::eigen;
use crate::membrane::{Triangle, cloth};
use crate::orthotropic::{Planar, PlanarStiffness};
use crate::potential::{Curvature, Energy};

/// Cloth whose stiffness depends on the direction of the largest strain and on this strain.
///
/// *Use* for woven and knitted cloth that was measured along its threads and across them. *Not* for strong compression:
/// the Green strain of a triangle that vanishes is finite; nor for sheets that are stretched alike in all directions by
/// several per cent, such as over a ball, where the direction of the largest strain is not defined and its turning adds a
/// stress that cloth does not have. *Cost* of a Hessian per triangle: two eigenproblems and five
/// outer products of 9 numbers. *Reference* Wang, O'Brien & Ramamoorthi 2011, "Data-driven elastic models for cloth:
/// modeling and measurement", ACM TOG 30(4), §3; used by Li et al. 2020, "P-Cloth", §5.
///
/// ```
/// use coarsen_elastic::{AnisotropicMembrane, Orthotropic, PlanarStiffness, Potential};
/// let (rest, held) = ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [false; 3]);
/// let planar = PlanarStiffness::constant(Orthotropic { c11: 8.0, c12: 1.0, c22: 2.0, c33: 1.0 })?;
/// let mut cloth = AnisotropicMembrane::new(planar, &[[0, 1, 2]], &rest, &held, &[[0.0; 3]; 3])?;
/// let twice = [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0]; // stretched along u to the double: ε_uu = 3/2
/// assert_eq!(cloth.energy(&twice).value, 4.5); // 1/2 · 8/2 · (3/2)²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub type AnisotropicMembrane = Elements<Anisotropic, 3>;

/// The triangles of a flat cloth and their stiffness.
pub struct Anisotropic {
    planar: PlanarStiffness,
    triangles: Vec<Triangle>,
}

cloth!(Anisotropic, PlanarStiffness, |planar, triangles| Ok(Anisotropic { planar, triangles }));

impl Anisotropic {
    /// The columns of F, and E of a triangle, by (1).
    #[inline(always)]
    fn at(&self, e: usize, x: &[[f64; 3]; 3]) -> ([[f64; 3]; 2], Planar) {
        let w = self.triangles[e].columns(x);
        let [u, v] = w.map(|w| 0.5 * (dot(w, w) - 1.0));
        (w, self.planar.at([u, v, dot(w[0], w[1])]))
    }
}

/// The eigenvalues and eigenvectors of (a b; b c).
fn eigen2([a, b, c]: [f64; 3]) -> [(f64, [f64; 2]); 2] {
    let (half, root) = (0.5 * (a - c), (0.5 * (a - c)).hypot(b));
    let (sin, cos) = (0.5 * b.atan2(half)).sin_cos();
    let mean = 0.5 * (a + c);
    [(mean + root, [cos, sin]), (mean - root, [-sin, cos])]
}

impl Element<3> for Anisotropic {
    const WORK: usize = 400;

    fn loops() -> &'static Loops<Self, 3> {
        static COMPILED: Loops<Anisotropic, 3> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, e: usize, x: &[[f64; 3]; 3]) -> Energy {
        let ([u, v], planar) = self.at(e, x);
        let [along, across, shear] = planar.stress.map(f64::abs);
        let products = u.iter().zip(&v).map(|(a, b)| (a * b).abs()).sum::<f64>();
        let magnitude = along * (dot(u, u) + 1.0) + across * (dot(v, v) + 1.0) + 2.0 * shear * products;
        let area = self.triangles[e].area;
        Energy { value: area * planar.energy, magnitude: area * magnitude }
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let ([u, v], planar) = self.at(e, x);
        let (triangle, [a, b, c]) = (&self.triangles[e], planar.stress);
        let of_u = std::array::from_fn(|k| a * u[k] + c * v[k]); // (2)
        let of_v = std::array::from_fn(|k| b * v[k] + c * u[k]);
        triangle.spread(&[of_u, of_v]).map(|g| g.map(|g| triangle.area * g))
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 3], curvature: Curvature, h: &mut Stiffness<3>) {
        let triangle = &self.triangles[e];
        let mut add = |weight: f64, columns: &[[f64; 3]; 2]| {
            add_outer(triangle.area * weight, &triangle.spread(columns), h);
        };
        if curvature == Curvature::Constant {
            let at_rest = self.planar.at_rest();
            for k in 0..6 {
                add(at_rest.largest(), &[0, 1].map(|s| std::array::from_fn(|p| f64::from(3 * s + p == k))));
            }
            return;
        }
        let above = |value: f64| if curvature == Curvature::Exact { value } else { value.max(0.0) };
        let ([u, v], planar) = self.at(e, x);
        let (values, vectors) = eigen(&planar.hessian);
        for (value, n) in values.into_iter().zip(vectors) {
            // Σ n_i q_i, by (4).
            let of_u = std::array::from_fn(|k| n[0] * u[k] + n[2] * v[k]);
            let of_v = std::array::from_fn(|k| n[1] * v[k] + n[2] * u[k]);
            add(above(value), &[of_u, of_v]); // (3)
        }
        let [a, b, c] = planar.stress;
        for (value, n) in eigen2([a, c, b]) {
            for p in 0..3 {
                let axis: [f64; 3] = std::array::from_fn(|k| f64::from(k == p));
                add(above(value), &n.map(|n| axis.map(|e| n * e))); // (3)
            }
        }
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        let data = self.triangles.iter().flat_map(Triangle::data).collect();
        Some((kernel!("vector", "mat3", "triangle", "anisotropic_membrane"), data, self.planar.data()))
    }

    /// The characteristic force is the larger stiffness at rest times the total length of the edges opposite to the node.
    fn characteristic(&self, around: &mut dyn Iterator<Item = (usize, usize)>) -> f64 {
        let at_rest = self.planar.at_rest();
        around.map(|(e, corner)| at_rest.c11.max(at_rest.c22) * self.triangles[e].opposite(corner)).sum()
    }
}
