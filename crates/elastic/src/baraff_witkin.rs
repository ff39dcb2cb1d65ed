//! Baraff-Witkin tetrahedra: energies of stretching along three axes and of shearing between them.
//!
//! The axes e₁, e₂, e₃ of an element are orthonormal at rest. With w_i = F e_i and ŵ = w / ‖w‖
//!
//! > ψ = k/2 Σ_i (‖w_i‖ − 1)² + k'/2 Σ_{i<j} (w_i · w_j)²    (1)
//! > ∂ψ/∂w_i = k (‖w_i‖ − 1) ŵ_i + k' Σ_{j≠i} (w_i · w_j) w_j    (2)
//!
//! The Hessian of one stretch, ½ k (‖w‖ − 1)², has the eigenvalues
//!
//! > k with the vector ŵ,    k (1 − 1/‖w‖) with all vectors orthogonal to w    (3)
//!
//! The Hessian of one shear, with s = w_i · w_j, is k' times a 6x6 matrix for (w_i, w_j). With I = ‖w_i‖² +
//! ‖w_j‖² the matrix and its eigenvalues are
//!
//! > g gᵀ + s H,    g = (w_j, w_i),    H swaps the two halves    (4)
//! > eigenvalues (I ± √(I² + 12 s²)) / 2 = ℓ with the vectors ℓ g + s H g    (5)
//! > ±s with the vectors (a, ±a), where a is any vector orthogonal to w_i ± w_j    (6)
//!
//! The eigenvalue (5) with the minus sign is never positive. The projection sets the negative eigenvalues of
//! each stretch and of each shear to 0.
//!
//! | symbol | here | |
//! |---|---|---|
//! | k, k' | [`Fibers`] | moduli, Pa |
//! | ∇N_a · e_i | `Rest::gradients[a][i]` | shape gradient in the frame of the axes; F has columns w_i |
//! | V | `Shape::volume` | rest volume |

use coarsen_mesh::Mesh;

use crate::BodyError;
use crate::elements::{Element, Elements, Stiffness, add_outer};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::{dot, mul_transposed, transpose};
use crate::potential::{Curvature, Energy};
use crate::rest::{self, Rest};

/// The largest allowed |e_i · e_j − δ_ij|, which axes in single precision satisfy.
const SKEW: f64 = 1e-6;

/// The coordinate axes.
const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The moduli in Pa of a solid with three orthogonal families of fibers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fibers {
    /// k: resistance to stretching along each axis.
    pub stretch: f64,
    /// k': resistance to shearing between two axes.
    pub shear: f64,
}

/// A body of tetrahedra that resists stretching along three axes and shearing between them; the cloth of
/// Baraff and Witkin has two axes.
///
/// *Use* for anisotropic bodies; no singular values are needed. With k = 2 μ and k' = μ, small strains obey
/// Hooke's law with λ = 0 for any axes, as with [`Arap`](crate::Arap). The energy of large strains depends on
/// the axes. *Not* for materials that preserve volume. *Not* if elements must recover from inversion, because
/// a mirrored element has no energy. *Cost* of a Hessian per element: a 9x9 matrix of 3 stretches and 3
/// shears, and its products with the gradients of 4 corners. *Reference* Baraff & Witkin 1998, §4;
/// eigensystem: T. Kim 2020, "A finite element formulation of Baraff-Witkin cloth", CGF 39(8); bodies: Wu,
/// Wang & Wang 2022, Table 1.
///
/// ```
/// use coarsen_elastic::{BaraffWitkin, Fibers, Potential};
/// let mut mesh = coarsen_mesh::Mesh::bar([1, 1, 1], 1.0);
/// let mut cube = BaraffWitkin::new(&mesh, &[false; 8], |_| Fibers { stretch: 6.0, shear: 1.0 })?;
/// mesh.positions.iter_mut().for_each(|p| p[0] *= 2.0); // stretched along x to the double
/// assert_eq!(cube.energy(mesh.positions.as_flattened()).value, 3.0); // 6/2 · 1²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub type BaraffWitkin = Elements<Fibrous, 4>;

/// Tetrahedra at rest, each in the frame of its axes.
pub struct Fibrous {
    rest: Vec<Rest<Fibers>>,
}

impl Elements<Fibrous, 4> {
    /// Returns a body with the mesh as rest shape, `held` nodes, and the coordinate axes as axes. `fibers`
    /// returns the moduli of an element, given its number.
    ///
    /// # Errors
    /// [`BodyError`] for corners that do not exist, elements without positive volume, moduli that are not
    /// positive and finite, and free nodes without an element.
    pub fn new(mesh: &Mesh, held: &[bool], fibers: impl Fn(usize) -> Fibers) -> Result<Self, BodyError> {
        Self::along(mesh, held, fibers, |_| AXES)
    }

    /// As [`new`](Self::new), but with other axes. `axes` returns the axes e₁, e₂, e₃ of an element, given
    /// its number; their signs do not matter.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`BodyError::Axes`] for axes that are not orthonormal to 1e-6.
    pub fn along(
        mesh: &Mesh,
        held: &[bool],
        fibers: impl Fn(usize) -> Fibers,
        axes: impl Fn(usize) -> [[f64; 3]; 3],
    ) -> Result<Self, BodyError> {
        let mut rest = Rest::all(mesh, |e| fibers(e).checked(e))?;
        for (index, rest) in rest.iter_mut().enumerate() {
            let axes = axes(index);
            let gap = |(p, e): (&f64, &f64)| (p - e).abs();
            let products = mul_transposed(&axes, &axes);
            let gaps = products.as_flattened().iter().zip(AXES.as_flattened()).map(gap);
            // f64::max would ignore NaN.
            let gap = gaps.fold(0.0, |most, gap| if gap > most || gap.is_nan() { gap } else { most });
            if gap.is_nan() || gap > SKEW {
                return Err(BodyError::Axes { index, gap });
            }
            rest.shape.gradients = rest.shape.gradients.map(|n| axes.map(|axis| dot(axis, n)));
        }
        rest::body(Fibrous { rest }, mesh, held)
    }

    /// Returns the mass of each free node in kg for a body of `density` kg/m³: a quarter of each element at
    /// the node.
    pub fn masses(&self, density: f64) -> Vec<f64> {
        self.fold(|around| around.map(|(e, _)| 0.25 * density * self.model.rest[e].shape.volume).sum())
    }
}

impl Fibers {
    fn checked(self, index: usize) -> Result<Self, BodyError> {
        let Self { stretch, shear } = self;
        let good = |v: f64| v.is_finite() && v > 0.0;
        if good(stretch) && good(shear) { Ok(self) } else { Err(BodyError::Fibers { index, stretch, shear }) }
    }

    /// ψ.
    fn energy(self, w: &[[f64; 3]; 3]) -> Energy {
        let mut energy = Energy::default();
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            let length = dot(w[i], w[i]).sqrt();
            let (excess, shear) = (length - 1.0, dot(w[i], w[j]));
            let products: f64 = w[i].iter().zip(&w[j]).map(|(a, b)| (a * b).abs()).sum();
            energy.value += 0.5 * (self.stretch * excess * excess + self.shear * shear * shear); // (1)
            energy.magnitude += self.stretch * excess.abs() * (length + 1.0);
            energy.magnitude += 2.0 * self.shear * shear.abs() * products;
        }
        energy
    }

    /// ∂ψ/∂w_i.
    fn slopes(self, w: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let mut slopes = w.map(|w| {
            let (unit, length) = direction(&w);
            unit.map(|u| self.stretch * (length - 1.0) * u) // (2)
        });
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            let shear = self.shear * dot(w[i], w[j]);
            for p in 0..3 {
                slopes[i][p] += shear * w[j][p]; // (2)
                slopes[j][p] += shear * w[i][p];
            }
        }
        slopes
    }

    /// ∂²ψ/∂w_i∂w_j, exact or projected.
    fn curvature(self, w: &[[f64; 3]; 3], exact: bool) -> Stiffness<3> {
        let mut c = [[[[0.0; 3]; 3]; 3]; 3];
        (0..3).for_each(|i| add_stretch(self.stretch, exact, i, w, &mut c));
        let add_shear = if exact { add_exact_shear } else { add_projected_shear };
        [[0, 1], [1, 2], [2, 0]].into_iter().for_each(|pair| add_shear(self.shear, pair, w, &mut c));
        c
    }
}

/// ŵ and ‖w‖; ŵ = 0 for w = 0.
fn direction(w: &[f64; 3]) -> ([f64; 3], f64) {
    let length = dot(*w, *w).sqrt();
    (if length > 0.0 { w.map(|w| w / length) } else { [0.0; 3] }, length)
}

/// Adds the Hessian of the stretch along axis i to c, by (3).
fn add_stretch(k: f64, exact: bool, i: usize, w: &[[f64; 3]; 3], c: &mut Stiffness<3>) {
    let (unit, length) = direction(&w[i]);
    let tension = k * (1.0 - 1.0 / length);
    let across = if exact && length > 0.0 { tension } else { tension.max(0.0) };
    for (p, q) in (0..9).map(|pq| (pq / 3, pq % 3)) {
        let along = unit[p] * unit[q];
        c[i][p][i][q] += k * along + across * (if p == q { 1.0 } else { 0.0 } - along); // (3)
    }
}

/// Adds the Hessian of the shear between axes i and j to c, by (4).
fn add_exact_shear(k: f64, [i, j]: [usize; 2], w: &[[f64; 3]; 3], c: &mut Stiffness<3>) {
    let mut g = [[0.0; 3]; 3];
    (g[i], g[j]) = (w[j], w[i]);
    add_outer(k, &g, c); // (4)
    let turn = k * dot(w[i], w[j]);
    for p in 0..3 {
        c[i][p][j][p] += turn; // (4)
        c[j][p][i][p] += turn;
    }
}

/// Adds the projected Hessian of the shear between axes i and j to c, by (5) and (6).
fn add_projected_shear(k: f64, [i, j]: [usize; 2], w: &[[f64; 3]; 3], c: &mut Stiffness<3>) {
    let (s, squares) = (dot(w[i], w[j]), dot(w[i], w[i]) + dot(w[j], w[j]));
    let most = 0.5 * (squares + (squares * squares + 12.0 * s * s).sqrt());
    let mut q = [[0.0; 3]; 3];
    q[i] = std::array::from_fn(|p| most * w[j][p] + s * w[i][p]); // (5)
    q[j] = std::array::from_fn(|p| most * w[i][p] + s * w[j][p]);
    let square = dot(q[i], q[i]) + dot(q[j], q[j]);
    if square > 0.0 {
        add_outer(k * most / square, &q, c);
    }
    if s != 0.0 {
        let sign = s.signum();
        // ‖w_i ± w_j‖² = I + 2 |s| > 0.
        let (normal, _) = direction(&std::array::from_fn(|p| w[i][p] + sign * w[j][p]));
        for (p, q) in (0..9).map(|pq| (pq / 3, pq % 3)) {
            let across = 0.5 * k * (if p == q { 1.0 } else { 0.0 } - normal[p] * normal[q]); // (6)
            c[i][p][i][q] += s.abs() * across;
            c[j][p][j][q] += s.abs() * across;
            c[i][p][j][q] += s * across;
            c[j][p][i][q] += s * across;
        }
    }
}

impl Element<4> for Fibrous {
    const WORK: usize = 400;

    fn loops() -> &'static Loops<Self, 4> {
        static COMPILED: Loops<Fibrous, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, e: usize, x: &[[f64; 3]; 4]) -> Energy {
        let rest = &self.rest[e];
        rest.shape.volume * rest.material.energy(&transpose(&rest.shape.deformation(x)))
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let rest = &self.rest[e];
        let slopes = transpose(&rest.material.slopes(&transpose(&rest.shape.deformation(x))));
        rest.shape.forces(&slopes)
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 4], curvature: Curvature, h: &mut Stiffness<4>) {
        let rest = &self.rest[e];
        if curvature == Curvature::Constant {
            // At rest the eigenvalues of (3) and (5) are k, 2 k' and 0 or less.
            return rest.shape.add_laplacian(rest.material.stretch.max(2.0 * rest.material.shear), h);
        }
        let w = transpose(&rest.shape.deformation(x));
        let c = rest.material.curvature(&w, curvature == Curvature::Exact);
        for (a, p) in (0..12).map(|ap| (ap / 3, ap % 3)) {
            let n = rest.shape.gradients[a].map(|n| rest.shape.volume * n);
            let entry = |j: usize, q: usize| (0..3).map(|i| n[i] * c[i][p][j][q]).sum::<f64>();
            let left: [[f64; 3]; 3] = std::array::from_fn(|q| std::array::from_fn(|j| entry(j, q)));
            for (row, n) in h[a][p].iter_mut().zip(&rest.shape.gradients) {
                (0..3).for_each(|q| row[q] += dot(left[q], *n));
            }
        }
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        let numbers = |rest: &Rest<Fibers>| {
            let Fibers { stretch, shear } = rest.material;
            rest.shape.data().into_iter().chain([stretch, shear]).collect::<Vec<_>>()
        };
        let data = self.rest.iter().flat_map(numbers).collect();
        Some((kernel!("vector", "rest", "baraff_witkin"), data, Vec::new()))
    }

    /// The stiffness is ‖∂P/∂F‖ at rest, for the three stretches.
    fn characteristic(&self, around: &mut dyn Iterator<Item = (usize, usize)>) -> f64 {
        rest::characteristic(&self.rest, around, |fibers| 3.0_f64.sqrt() * fibers.stretch)
    }
}
