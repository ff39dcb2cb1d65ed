//! Bending about the edges of cloth that is flat at rest: Bergou, Wardetzky, Harmon, Zorin & Grinspun 2006,
//! *A Quadratic Bending Model for Inextensible Surfaces*.
//!
//! For two triangles over the edge x₀ x₁, with tips x₂ and x₃ and areas A₀ and A₁, the energy is ½ k Σ x_aᵀ
//! Q_ab x_b with
//!
//! > Q = 1 / (A₀ + A₁) c cᵀ    (1)
//! > c = (c₀₃ + c₀₄, c₀₁ + c₀₂, −c₀₁ − c₀₃, −c₀₂ − c₀₄)    (2)
//!
//! where c_ij is the cotangent of the angle between edges e_i and e_j: e₀ = x₀ x₁, e₁ = x₀ x₂, e₂ = x₀ x₃, e₃
//! = x₁ x₂, e₄ = x₁ x₃. The cotangents and areas are those at rest, so the Hessian is constant. Its blocks
//! are k Q_ab times the identity.
//!
//! k is the modulus of a plate: a sheet that is bent to a cylinder of radius R has the energy k/(2 R²) per area, if its
//! triangles are equilateral, in any direction. The paper has 3 in the place of 1 in (1), so its constant is k/3. Other
//! triangles resist some directions of bending more than others, and no refinement changes this. A test measures the energy
//! in units of k/(2 R²):
//!
//! | triangles | along the sides of the squares | along one diagonal | along the other |
//! |---|---|---|---|
//! | equilateral, in any direction | 1 | 1 | 1 |
//! | squares whose diagonals alternate | 1 | 1.5 | 1.5 |
//! | squares with all diagonals alike | 1 | 3 | 1 |
//! | squares with both diagonals | 1.5 | 1 | 1 |
//!
//! On equilateral triangles the plate has Poisson's ratio −1/3: a sphere takes 4/3 of the energy of the
//! cylinder, a saddle of ±1/R 8/3.

use coarsen_mesh::vector::{cross, dot, sub};

use crate::elements::{Element, Elements, Stiffness};
use crate::error::positive;
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::{BodyError, Curvature, Energy};

/// A hinge: two triangles with a common edge.
#[derive(Clone, Copy, Debug)]
pub struct Hinge {
    /// x₀, x₁, x₂, x₃.
    pub corners: [u32; 4],
    /// c.
    weights: [f64; 4],
    /// k / (A₀ + A₁).
    scale: f64,
}

impl Hinge {
    /// Returns the hinges of `triangles` sorted by edge, one for each edge of two triangles; k is the bending
    /// modulus of a plate in N m, E t³ / (12 (1 − ν²)) for a thickness t.
    ///
    /// An edge has no hinge if its two triangles have the same tip, or if the area of one of them is
    /// negligible compared with the square of the edge. `rest` returns the position of a node at rest (z = 0
    /// for flat cloth). A rest shape that is not flat is not checked; [`Bending::new`] refuses it.
    pub fn all(triangles: &[[u32; 3]], rest: impl Fn(u32) -> [f64; 3], k: f64) -> Vec<Self> {
        let half_edges = |&[a, b, c]: &[u32; 3]| [(a, b, c), (b, c, a), (c, a, b)];
        let mut edges: Vec<([u32; 2], [u32; 3])> = triangles
            .iter()
            .flat_map(half_edges)
            .map(|(from, to, tip)| ([from.min(to), from.max(to)], [from, to, tip]))
            .collect();
        edges.sort_unstable();
        let inside = edges.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].1[2] != pair[1].1[2]);
        let hinge = |pair: &[([u32; 2], [u32; 3])]| {
            let corners = [pair[0].1[0], pair[0].1[1], pair[0].1[2], pair[1].1[2]];
            Self::new(corners, corners.map(&rest), k)
        };
        inside.filter_map(hinge).collect()
    }

    /// The hinges of triangles with these positions at rest.
    pub(crate) fn checked(k: f64, triangles: &[[u32; 3]], rest: &[[f64; 3]]) -> Result<Vec<Self>, BodyError> {
        Self::check_stiffness(k)?;
        if let Some(&found) = rest.iter().flatten().find(|v| !v.is_finite()) {
            return Err(BodyError::Value { what: "a rest position of a hinge", found, range: "finite" });
        }
        crate::elements::check_corners("triangle", triangles, rest.len())?;
        Ok(Self::all(triangles, |i| rest[i as usize], k))
    }

    /// Checks that a bending stiffness is positive.
    pub(crate) fn check_stiffness(k: f64) -> Result<f64, BodyError> {
        positive("the bending stiffness", k)
    }

    fn new(corners: [u32; 4], [x0, x1, x2, x3]: [[f64; 3]; 4], k: f64) -> Option<Self> {
        let edge = sub(x1, x0);
        if twice(x0, x1, x2).min(twice(x0, x1, x3)) <= 1e-6 * dot(edge, edge) {
            return None;
        }
        let (c01, c02) = (cotangent(x0, x1, x2), cotangent(x0, x1, x3));
        let (c03, c04) = (cotangent(x1, x0, x2), cotangent(x1, x0, x3));
        let weights = [c03 + c04, c01 + c02, -c01 - c03, -c02 - c04]; // (2)
        let areas = 0.5 * (twice(x0, x1, x2) + twice(x0, x1, x3));
        Some(Self { corners, weights, scale: k / areas })
    }

    /// k Q_ab, to be multiplied by the 3x3 identity.
    pub fn stiffness(&self, a: usize, b: usize) -> f64 {
        self.scale * (self.weights[a] * self.weights[b]) // (1)
    }
}

/// The largest angle between two triangles of flat cloth, in radians. Files with six decimals round positions
/// such that triangles with edges of 5 mm differ by 3e-4.
const FLAT: f64 = 1e-2;

/// Twice the area of a triangle.
fn twice(p: [f64; 3], q: [f64; 3], r: [f64; 3]) -> f64 {
    let n = cross(sub(q, p), sub(r, p));
    dot(n, n).sqrt()
}

/// The cotangent of the angle at p between the edges to q and r.
fn cotangent(p: [f64; 3], q: [f64; 3], r: [f64; 3]) -> f64 {
    dot(sub(q, p), sub(r, p)) / twice(p, q, r)
}

/// The bending energy of cloth, a sum over hinges.
///
/// *Use* with [`Membrane`](crate::Membrane). The energy is quadratic, so its Hessian is constant.
pub type Bending = Elements<Vec<Hinge>, 4>;

impl Elements<Vec<Hinge>, 4> {
    /// Returns the bending energy of `triangles` with the bending modulus k of a plate in N m. It is 0 if all nodes are at `rest`.
    /// `held` nodes stay at their `positions`.
    ///
    /// # Errors
    /// [`BodyError`] if a corner is no node or k is not positive, and [`BodyError::Folded`] for two triangles
    /// whose normals at rest differ by more than 1e-2 rad: the energy would flatten curved cloth.
    pub fn new(
        k: f64,
        triangles: &[[u32; 3]],
        rest: &[[f64; 3]],
        held: &[bool],
        positions: &[[f64; 3]],
    ) -> Result<Self, BodyError> {
        let hinges = Hinge::checked(k, triangles, rest)?;
        for hinge in &hinges {
            let angle = hinge.angle(&hinge.corners.map(|i| rest[i as usize]));
            if angle > FLAT {
                return Err(BodyError::Folded { edge: [0, 1].map(|a| hinge.corners[a] as usize), angle });
            }
        }
        let corners = hinges.iter().map(|hinge| hinge.corners).collect();
        Self::of("hinge", hinges, corners, held, positions)
    }
}

impl Hinge {
    /// k ‖e₀‖² / (A₀ + A₁), the stiffness of the angle, for these positions at rest.
    pub(crate) fn of_angle(&self, rest: &[[f64; 3]; 4]) -> f64 {
        let edge = sub(rest[1], rest[0]);
        self.scale * dot(edge, edge)
    }

    /// The angle θ between the normals of both triangles at these positions at rest, by ‖Σ c_a x_a‖ = 2 ‖e₀‖
    /// sin(θ/2).
    fn angle(&self, rest: &[[f64; 3]; 4]) -> f64 {
        let (bend, edge) = (self.bend(rest), sub(rest[1], rest[0]));
        2.0 * (0.5 * (dot(bend, bend) / dot(edge, edge)).sqrt()).min(1.0).asin()
    }

    /// Σ c_a x_a.
    fn bend(&self, x: &[[f64; 3]; 4]) -> [f64; 3] {
        std::array::from_fn(|k| (0..4).map(|a| self.weights[a] * x[a][k]).sum())
    }
}

impl Element<4> for Vec<Hinge> {
    const WORK: usize = 60;

    fn loops() -> &'static Loops<Self, 4> {
        static COMPILED: Loops<Vec<Hinge>, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, e: usize, x: &[[f64; 3]; 4]) -> Energy {
        let (hinge, bend) = (&self[e], self[e].bend(x));
        let terms = |k: usize| (0..4).map(|a| (hinge.weights[a] * x[a][k]).abs()).sum::<f64>();
        let magnitude = (0..3).map(|k| bend[k].abs() * terms(k)).sum::<f64>();
        hinge.scale * Energy { value: 0.5 * dot(bend, bend), magnitude }
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let (hinge, bend) = (&self[e], self[e].bend(x));
        hinge.weights.map(|c| bend.map(|b| hinge.scale * c * b))
    }

    fn add_hessian(&self, e: usize, _: &[[f64; 3]; 4], _: Curvature, h: &mut Stiffness<4>) {
        for (a, b) in (0..16).map(|ab| (ab / 4, ab % 4)) {
            (0..3).for_each(|k| h[a][k][b][k] += self[e].stiffness(a, b));
        }
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        let numbers = |hinge: &Hinge| [&hinge.weights[..], &[hinge.scale]].concat();
        Some((kernel!("vector", "bending"), self.iter().flat_map(numbers).collect(), Vec::new()))
    }
}
