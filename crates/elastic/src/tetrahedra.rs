//! A density on linear tetrahedra.
//!
//! | symbol | here | |
//! |---|---|---|
//! | F = Σ x_a ∇N_aᵀ | `Shape::deformation` | deformation gradient, constant in an element |
//! | ∇N_a | `Shape::gradients[a]` | gradient of a shape function at rest |
//! | V | `Shape::volume` | rest volume |
//!
//! > E = Σ V ψ(F),  ∂E/∂x_a = Σ V P ∇N_a,  ∂²E/∂x_a∂x_b = Σ V Σ_k λ_k (Q_k ∇N_a)(Q_k ∇N_b)ᵀ    (1)
//!
//! with the eigenvalues λ_k and eigenmatrices Q_k of ∂²ψ/∂F². Sifakis & Barbič 2012, "FEM simulation of 3D
//! deformable solids", chapter 4.

use coarsen_mesh::Mesh;

use crate::BodyError;
use crate::cubic::first_root;
use crate::density::{Density, Lame};
use crate::elements::{Element, Elements, Stiffness};
use crate::loops::Loops;
use crate::mat3::{cofactor, determinant, dot};
use crate::potential::{Curvature, Energy};
use crate::rest::{self, Rest};

/// The deformation gradient of an element at rest.
const REST: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Steps are limited to this fraction of the step to the first flat element.
const SHARE: f64 = 0.9;

/// A body of linear tetrahedra with one energy density; the moduli may differ from element to element.
///
/// Loops over elements run in parallel. Sums have a fixed order, so results are bitwise the same for any
/// number of threads. Evaluations allocate nothing. *Cost* of a Hessian: an SVD and 9 outer products of
/// length 12 per element. Element Hessians are added to the matrix on one thread.
pub type Tetrahedra<D> = Elements<Solid<D>, 4>;

/// Tetrahedra at rest, and their density.
pub struct Solid<D> {
    density: D,
    rest: Vec<Rest<Lame>>,
}

impl<D: Density> Elements<Solid<D>, 4> {
    /// Returns a body with the mesh as rest shape and with `held` nodes. `material` returns the moduli of an
    /// element, given its number.
    ///
    /// # Errors
    /// [`BodyError`] for corners that do not exist, elements without positive volume, moduli of an unstable
    /// material or with which the density is unbounded below, and free nodes without an element.
    pub fn new(
        density: D,
        mesh: &Mesh,
        held: &[bool],
        material: impl Fn(usize) -> Lame,
    ) -> Result<Self, BodyError> {
        let rest = Rest::all(mesh, |e| material(e).checked(e, &density))?;
        rest::body(Solid { density, rest }, mesh, held)
    }

    /// Returns the mass of each free node in kg for a body of `density` kg/m³: a quarter of each element at
    /// the node.
    pub fn masses(&self, density: f64) -> Vec<f64> {
        self.fold(|around| around.map(|(e, _)| 0.25 * density * self.model.rest[e].shape.volume).sum())
    }
}

impl<D: Density> Solid<D> {
    /// A bound from above of ∂²ψ/∂F² at rest, Pa.
    fn constant(&self, rest: &Rest<Lame>) -> f64 {
        self.density.modes(rest.material, &REST).values.into_iter().fold(0.0, f64::max)
    }
}

impl<D: Density> Element<4> for Solid<D> {
    const WORK: usize = 500;

    fn loops() -> &'static Loops<Self, 4> {
        D::loops()
    }

    fn energy(&self, e: usize, x: &[[f64; 3]; 4]) -> Energy {
        let rest = &self.rest[e];
        rest.shape.volume * self.density.energy(rest.material, &rest.shape.deformation(x)) // (1)
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let rest = &self.rest[e];
        let p = self.density.stress(rest.material, &rest.shape.deformation(x));
        rest.shape.forces(&p) // (1)
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 4], curvature: Curvature, h: &mut Stiffness<4>) {
        let rest = &self.rest[e];
        if curvature == Curvature::Constant {
            return rest.shape.add_laplacian(self.constant(rest), h);
        }
        let modes = self.density.modes(rest.material, &rest.shape.deformation(x));
        rest.shape.add_modes(&modes, curvature == Curvature::Projected, h); // (1)
    }

    /// The first flat element is a root of det(F + α D), a cubic in α. *Reference* Smith & Schaefer 2015,
    /// "Bijective parameterization with free boundaries", §3.3.
    fn max_step(&self, e: usize, x: &[[f64; 3]; 4], d: &[[f64; 3]; 4]) -> f64 {
        let (f, d) = (self.rest[e].shape.deformation(x), self.rest[e].shape.deformation(d));
        let along = |a: &[[f64; 3]; 3], b: &[[f64; 3]; 3]| (0..3).map(|i| dot(a[i], b[i])).sum();
        let cubic = [determinant(&f), along(&cofactor(&f), &d), along(&f, &cofactor(&d)), determinant(&d)];
        SHARE * first_root(cubic)
    }

    fn bounds_steps(&self) -> bool {
        !self.density.inverts()
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        let numbers = |rest: &Rest<Lame>| {
            let Lame { lambda, mu } = rest.material;
            rest.shape.data().into_iter().chain([self.constant(rest), lambda, mu]).collect::<Vec<_>>()
        };
        Some((self.density.kernel()?, self.rest.iter().flat_map(numbers).collect(), Vec::new()))
    }

    /// The stiffness is ‖∂P/∂F‖ at rest, for the three stretches.
    fn characteristic(&self, around: &mut dyn Iterator<Item = (usize, usize)>) -> f64 {
        rest::characteristic(&self.rest, around, |&material| {
            let modes = self.density.modes(material, &REST);
            modes.values[6..].iter().map(|v| v * v).sum::<f64>().sqrt()
        })
    }
}
