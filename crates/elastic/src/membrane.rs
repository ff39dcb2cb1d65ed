//! Stretching and shearing of triangles: Baraff & Witkin 1998, *Large Steps in Cloth Simulation*, §4.
//!
//! The derivatives of the map from the flat cloth to space are (Eq. 9 of the paper)
//!
//! > (w_u w_v) = (Δx₁ Δx₂) (Δu₁ Δu₂; Δv₁ Δv₂)⁻¹ = Σ_a x_a g_aᵀ    (1)
//!
//! With e = ‖w‖ − 1 and the area a at rest, the energy is
//!
//! > E = a (½ k (e_u² + e_v²) + c e_u e_v + ½ k' (w_u · w_v)²)    (2)
//!
//! *Deviation*: in the paper the conditions e contain the area, so energies grow with the square of the area,
//! and k depends on the mesh; here it does not. The paper has no c. With c for Poisson's ratio, (2) is a
//! linear membrane in plane stress near rest. With ŵ = w / ‖w‖ and P = ŵ ŵᵀ, the second derivatives are the
//! sum of
//!
//! > a g_a g_b (k P + (k e + c e') / ‖w‖ (I − P)) for each of u and v, with e' of the other direction    (3)
//! > a c (g_au g_bv ŵ_u ŵ_vᵀ + g_av g_bu ŵ_v ŵ_uᵀ)    (4)
//! > a k' (d_a d_bᵀ + (w_u · w_v) (g_au g_bv + g_av g_bu) I),  d_a = g_au w_v + g_av w_u    (5)
//!
//! In the projected Hessian the second term of (3) is 0 if it is negative, which happens under compression
//! (Choi & Ko 2002). The second term of (5), which is indefinite, is dropped.
//!
//! | symbol | name |
//! |---|---|
//! | k, c, k' | [`Fabric`] |
//! | a | `area` |
//! | g_a | `slopes[a]`: the gradient in (u, v) of the shape function of corner a |
//! | the bracket of (3) divided by k | `hessians`, for u and v |
//! | d_a | `shears[a]` |

use coarsen_mesh::vector::{cross, dot, sub};

use crate::elements::{Element, Elements, Stiffness};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::{BodyError, Curvature, Energy};

/// The moduli of a cloth in its plane, in N/m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fabric {
    /// k: resistance to stretching along u and along v.
    pub stretch: f64,
    /// c: coupling of the stretches along u and along v; at most k.
    pub coupling: f64,
    /// k': resistance to shearing.
    pub shear: f64,
}

impl Fabric {
    /// Returns the moduli of an isotropic sheet in plane stress; `young` is Young's modulus times thickness,
    /// N/m.
    pub fn isotropic(young: f64, poisson: f64) -> Self {
        let stretch = young / (1.0 - poisson * poisson);
        Self { stretch, coupling: stretch * poisson, shear: 0.5 * young / (1.0 + poisson) }
    }

    fn check(self) -> Result<Self, BodyError> {
        let range = "positive and finite; the coupling modulus may also be negative, and must not exceed the stretching modulus";
        for (what, found, good) in [
            ("the stretching modulus", self.stretch, self.stretch > 0.0),
            ("the shearing modulus", self.shear, self.shear > 0.0),
            ("the coupling modulus", self.coupling, self.coupling.abs() <= self.stretch),
        ] {
            if !(good && found.is_finite()) {
                return Err(BodyError::Value { what, found, range });
            }
        }
        Ok(self)
    }
}

/// A triangle of flat cloth.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    /// Area at rest, m².
    pub area: f64,
    slopes: [[f64; 2]; 3],
}

impl Triangle {
    /// Returns the triangle with these corners in the flat cloth, (u, v) in m.
    pub fn new([p, q, r]: [[f64; 2]; 3]) -> Self {
        let ([u1, v1], [u2, v2]) = ([q[0] - p[0], q[1] - p[1]], [r[0] - p[0], r[1] - p[1]]);
        let det = u1 * v2 - u2 * v1;
        let (g1, g2) = ([v2 / det, -u2 / det], [-v1 / det, u1 / det]);
        let slopes = [[-g1[0] - g2[0], -g1[1] - g2[1]], g1, g2];
        Self { area: 0.5 * det.abs(), slopes }
    }

    /// Returns the triangle that is at rest at these positions in space, with u along its first edge. `None`
    /// if its height is negligible compared with its longest side.
    pub fn flat([p, q, r]: [[f64; 3]; 3]) -> Option<Self> {
        let normal = cross(sub(q, p), sub(r, p));
        let longest = [sub(q, p), sub(r, q), sub(p, r)].map(|e| dot(e, e)).into_iter().fold(0.0, f64::max);
        let twice = dot(normal, normal).sqrt();
        if twice.is_nan() || 0.5 * twice <= 1e-6 * longest {
            return None;
        }
        let unit = |p: [f64; 3]| p.map(|x| x / dot(p, p).sqrt());
        let t1 = unit(sub(q, p));
        let t2 = cross(unit(normal), t1);
        Some(Self::new([p, q, r].map(|v| [dot(sub(v, p), t1), dot(sub(v, p), t2)])))
    }

    /// Checks that all triangles have an area.
    pub(crate) fn all(triangles: impl Iterator<Item = Option<Self>>) -> Result<Vec<Self>, BodyError> {
        let good = |t: &Self| t.area > 0.0 && t.area.is_finite();
        let checked = |(index, t): (usize, Option<Self>)| {
            let measure = t.map_or(0.0, |t| t.area);
            t.filter(good).ok_or(BodyError::Degenerate { what: "triangle", index, measure })
        };
        triangles.enumerate().map(checked).collect()
    }

    /// The columns w_u and w_v of F with the corners at x.
    pub(crate) fn columns(&self, [x0, x1, x2]: &[[f64; 3]; 3]) -> [[f64; 3]; 2] {
        let [_, g1, g2] = self.slopes;
        [0, 1].map(|s| std::array::from_fn(|c| g1[s] * (x1[c] - x0[c]) + g2[s] * (x2[c] - x0[c]))) // (1)
    }

    /// For a matrix M with these columns, M g_a of each corner: the gradient of M : F.
    pub(crate) fn spread(&self, [u, v]: &[[f64; 3]; 2]) -> [[f64; 3]; 3] {
        self.slopes.map(|g| std::array::from_fn(|c| g[0] * u[c] + g[1] * v[c]))
    }

    /// The numbers that `triangle.cl` reads.
    pub(crate) fn data(&self) -> Vec<f64> {
        self.slopes.into_iter().flatten().chain([self.area]).collect()
    }

    /// The length at rest of the edge opposite to a corner: 2 a ‖g‖.
    pub(crate) fn opposite(&self, corner: usize) -> f64 {
        let [u, v] = self.slopes[corner];
        2.0 * self.area * (u * u + v * v).sqrt()
    }

    /// Returns the data for (2) and its derivatives with the corners at x.
    pub fn at(&self, fabric: Fabric, x: &[[f64; 3]; 3]) -> Stretched {
        let w = self.columns(x);
        let lengths = w.map(|w| (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]).sqrt());
        Stretched { triangle: *self, fabric, w, lengths }
    }
}

/// A triangle of cloth in space.
#[derive(Clone, Copy, Debug)]
pub struct Stretched {
    /// The triangle at rest.
    pub triangle: Triangle,
    fabric: Fabric,
    w: [[f64; 3]; 2],
    lengths: [f64; 2],
}

impl Stretched {
    /// The energy (2).
    pub fn energy(&self) -> Energy {
        let Fabric { stretch, coupling, shear } = self.fabric;
        let ([u, v], s) = (self.lengths.map(|l| l - 1.0), dot(self.w[0], self.w[1]));
        let density = 0.5 * stretch * (u * u + v * v) + coupling * u * v + 0.5 * shear * s * s;
        let [a, b] = self.lengths;
        let magnitude = (stretch * u.abs() + coupling.abs() * v.abs()) * (a + 1.0)
            + (stretch * v.abs() + coupling.abs() * u.abs()) * (b + 1.0)
            + 2.0 * shear * s.abs() * a * b;
        self.triangle.area * Energy { value: 0.0, magnitude }
            + Energy { value: self.triangle.area * density, magnitude: 0.0 }
    }

    /// The gradient ∂E/∂x_a.
    pub fn gradient(&self) -> [[f64; 3]; 3] {
        let Fabric { stretch, coupling, shear } = self.fabric;
        let ([u, v], s) = (self.lengths.map(|l| l - 1.0), dot(self.w[0], self.w[1]));
        let pulls = [stretch * u + coupling * v, stretch * v + coupling * u];
        let unit = self.units();
        let slope = |t: usize, c: usize| pulls[t] * unit[t][c] + shear * s * self.w[1 - t][c]; // ∂E/∂w / a
        let area = self.triangle.area;
        self.triangle
            .slopes
            .map(|g| std::array::from_fn(|c| area * (g[0] * slope(0, c) + g[1] * slope(1, c))))
    }

    /// Returns the data for the blocks of the exact or the projected Hessian.
    pub fn curvature(&self, exact: bool) -> Curved {
        let Fabric { stretch, coupling, shear } = self.fabric;
        let hessian = |t: usize| {
            let (length, other) = (self.lengths[t], self.lengths[1 - t]);
            let unit = unit(self.w[t], length);
            let across = if length > 0.0 {
                1.0 - 1.0 / length + coupling / stretch * (other - 1.0) / length
            } else {
                0.0
            };
            let tension = if exact { across } else { across.max(0.0) };
            std::array::from_fn(|e| {
                let p = unit[e / 3] * unit[e % 3];
                let identity = if e / 3 == e % 3 { 1.0 } else { 0.0 };
                p + tension * (identity - p) // (3)
            })
        };
        let w = &self.w;
        let shears = self.triangle.slopes.map(|g| std::array::from_fn(|c| g[0] * w[1][c] + g[1] * w[0][c]));
        let turn = if exact { shear * dot(w[0], w[1]) } else { 0.0 };
        let Triangle { area, slopes } = self.triangle;
        Curved {
            area,
            slopes,
            fabric: self.fabric,
            hessians: [hessian(0), hessian(1)],
            units: self.units(),
            shears,
            turn,
        }
    }

    fn units(&self) -> [[f64; 3]; 2] {
        [0, 1].map(|s| unit(self.w[s], self.lengths[s]))
    }
}

/// ŵ, or 0 if w = 0 in a collapsed triangle. There (2) has no derivative, and 0 gives a subgradient.
fn unit(w: [f64; 3], length: f64) -> [f64; 3] {
    if length > 0.0 { w.map(|c| c / length) } else { [0.0; 3] }
}

/// The second derivatives of a triangle.
#[derive(Clone, Copy, Debug)]
pub struct Curved {
    /// Area at rest, m².
    pub area: f64,
    slopes: [[f64; 2]; 3],
    fabric: Fabric,
    hessians: [[f64; 9]; 2],
    units: [[f64; 3]; 2],
    shears: [[f64; 3]; 3],
    /// k' w_u · w_v for the exact Hessian, 0 for the projected Hessian.
    turn: f64,
}

impl Curved {
    /// The row-major 3x3 block K_ab = ∂²E/∂x_a∂x_b. K_ba is bitwise its transpose.
    pub fn stiffness(&self, a: usize, b: usize) -> [f64; 9] {
        let (g, h, d) = (self.slopes, self.hessians, self.shears);
        let Fabric { stretch, coupling, shear } = self.fabric;
        let [u, v] = [0, 1].map(|s| stretch * self.area * (g[a][s] * g[b][s]));
        let mut k = std::array::from_fn(|e| {
            u * h[0][e] + v * h[1][e] + shear * self.area * (d[a][e / 3] * d[b][e % 3]) // (3) + (5)
        });
        if coupling != 0.0 {
            let [uv, vu] = [(0, 1), (1, 0)].map(|(s, t)| coupling * self.area * (g[a][s] * g[b][t]));
            let [m, n] = self.units;
            (0..9).for_each(|e| k[e] += uv * (m[e / 3] * n[e % 3]) + vu * (n[e / 3] * m[e % 3])); // (4)
        }
        if self.turn != 0.0 {
            let turn = self.turn * self.area * (g[a][0] * g[b][1] + g[a][1] * g[b][0]);
            (0..3).for_each(|c| k[4 * c] += turn); // (5)
        }
        k
    }
}

/// The energy of stretching and shearing of cloth: a sum over triangles of one fabric.
///
/// *Use* together with [`Bending`](crate::Bending), as a sum by [`Plus`](crate::Plus). *Cost* of a Hessian: 9
/// blocks of 3x3 per triangle.
///
/// ```
/// use coarsen_elastic::{Fabric, Membrane, Potential};
/// let rest = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
/// let fabric = Fabric { stretch: 8.0, coupling: 0.0, shear: 1.0 };
/// let held = [false; 3];
/// let mut cloth = Membrane::new(fabric, &[[0, 1, 2]], &rest, &held, &[[0.0; 3]; 3])?;
/// let twice = [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0]; // stretched along u to the double
/// assert_eq!(cloth.energy(&twice).value, 2.0); // 1/2 · 8/2 · 1²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub type Membrane = Elements<Sheet, 3>;

/// The triangles of a flat cloth and their moduli.
pub struct Sheet {
    fabric: Fabric,
    triangles: Vec<Triangle>,
}

/// The constructors of cloth of a model, which `$model` makes of its material and of triangles at rest.
macro_rules! cloth {
    ($elements:ident, $material:ty, $model:expr) => {
        impl Elements<$elements, 3> {
            /// Returns cloth with the (u, v) of every node in `rest`. `held` nodes stay at their `positions`.
            ///
            /// # Errors
            /// [`BodyError`] for a material out of range, corners that do not exist, and triangles without area at rest.
            pub fn new(
                material: $material,
                triangles: &[[u32; 3]],
                rest: &[[f64; 2]],
                held: &[bool],
                positions: &[[f64; 3]],
            ) -> Result<Self, BodyError> {
                crate::elements::check_corners("triangle", triangles, rest.len())?;
                let flat = triangles.iter().map(|t| Some(Triangle::new(t.map(|i| rest[i as usize]))));
                Self::from_rest(material, triangles, flat, held, positions)
            }

            /// Returns cloth with the (u, v) of the corners of each triangle in `rest`: a pattern with seams, where a node
            /// has several (u, v).
            ///
            /// # Errors
            /// As [`new`](Self::new), and [`BodyError::Length`] unless there is a triangle in `rest` for each triangle.
            pub fn of_pattern(
                material: $material,
                triangles: &[[u32; 3]],
                rest: &[[[f64; 2]; 3]],
                held: &[bool],
                positions: &[[f64; 3]],
            ) -> Result<Self, BodyError> {
                let (expected, found) = (triangles.len(), rest.len());
                if expected != found {
                    return Err(BodyError::Length { what: "triangles of the pattern", expected, found });
                }
                let flat = rest.iter().map(|t| Some(Triangle::new(*t)));
                Self::from_rest(material, triangles, flat, held, positions)
            }

            fn from_rest(
                material: $material,
                corners: &[[u32; 3]],
                flat: impl Iterator<Item = Option<Triangle>>,
                held: &[bool],
                positions: &[[f64; 3]],
            ) -> Result<Self, BodyError> {
                let model: fn($material, Vec<Triangle>) -> Result<$elements, BodyError> = $model;
                Self::of(
                    "triangle",
                    model(material, Triangle::all(flat)?)?,
                    corners.to_vec(),
                    held,
                    positions,
                )
            }
        }
    };
}
pub(crate) use cloth;

cloth!(Sheet, Fabric, |fabric, triangles| Ok(Sheet { fabric: fabric.check()?, triangles }));

impl Elements<Sheet, 3> {
    /// Returns cloth that is at rest at the given positions in space, with (u, v) in the plane of each
    /// triangle.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn in_space(
        fabric: Fabric,
        triangles: &[[u32; 3]],
        held: &[bool],
        positions: &[[f64; 3]],
    ) -> Result<Self, BodyError> {
        crate::elements::check_corners("triangle", triangles, positions.len())?;
        let flat = triangles.iter().map(|t| Triangle::flat(t.map(|i| positions[i as usize])));
        Self::from_rest(fabric, triangles, flat, held, positions)
    }

    /// Returns the mass of each free node in kg for cloth of `density` kg/m²: a third of each triangle at the
    /// node.
    pub fn masses(&self, density: f64) -> Vec<f64> {
        self.fold(|around| around.map(|(e, _)| density * self.model.triangles[e].area / 3.0).sum())
    }
}

impl Element<3> for Sheet {
    const WORK: usize = 150;

    fn loops() -> &'static Loops<Self, 3> {
        static COMPILED: Loops<Sheet, 3> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, e: usize, x: &[[f64; 3]; 3]) -> Energy {
        self.triangles[e].at(self.fabric, x).energy()
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        self.triangles[e].at(self.fabric, x).gradient()
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 3], curvature: Curvature, h: &mut Stiffness<3>) {
        let triangle = &self.triangles[e];
        let curved = triangle.at(self.fabric, x).curvature(curvature == Curvature::Exact);
        let Fabric { stretch, coupling, shear } = self.fabric;
        let weight = triangle.area * (stretch + coupling.abs()).max(2.0 * shear); // bounds (3) to (5) at rest from above
        for (a, b) in (0..9).map(|ab| (ab / 3, ab % 3)) {
            let (g, f) = (triangle.slopes[a], triangle.slopes[b]);
            let laplace = weight * (g[0] * f[0] + g[1] * f[1]);
            let k = match curvature {
                Curvature::Constant => std::array::from_fn(|e| if e % 4 == 0 { laplace } else { 0.0 }),
                _ => curved.stiffness(a, b),
            };
            (0..9).for_each(|e| h[a][e / 3][b][e % 3] += k[e]);
        }
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        let Fabric { stretch, coupling, shear } = self.fabric;
        let data = self.triangles.iter().flat_map(Triangle::data).collect();
        Some((kernel!("vector", "triangle", "membrane"), data, vec![stretch, coupling, shear]))
    }

    /// The characteristic force is k times the total length of the edges opposite to the node.
    fn characteristic(&self, around: &mut dyn Iterator<Item = (usize, usize)>) -> f64 {
        around.map(|(e, corner)| self.fabric.stretch * self.triangles[e].opposite(corner)).sum()
    }
}
