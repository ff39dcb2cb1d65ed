//! A density on linear tetrahedra.
//!
//! | symbol | here | |
//! |---|---|---|
//! | F = Σ x_a ∇N_aᵀ | `deformation` | deformation gradient, constant in an element |
//! | ∇N_a | `gradients[a]` | gradient of a shape function at rest |
//! | V | `volume` | rest volume |
//!
//! > E = Σ V ψ(F),  ∂E/∂x_a = Σ V P ∇N_a,  ∂²E/∂x_a∂x_b = Σ V Σ_k λ_k (Q_k ∇N_a)(Q_k ∇N_b)ᵀ    (1)
//!
//! with the eigenvalues λ_k and eigenmatrices Q_k of ∂²ψ/∂F². Sifakis & Barbič 2012, "FEM simulation of 3D
//! deformable solids", chapter 4.

use coarsen_mesh::Mesh;

use crate::BodyError;
use crate::cubic::first_root;
use crate::density::{Density, Lame};
use crate::elements::{Element, Elements, Stiffness, add_outer, check_corners};
use crate::mat3::{cofactor, determinant, dot};
use crate::potential::{Curvature, Energy};

/// The deformation gradient of an element at rest.
const REST: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The largest share of the distance to the first flat element that a step may cover.
const SHARE: f64 = 0.9;

/// The energy of a body of linear tetrahedra with one density; each element may have its own moduli.
///
/// Loops over elements run in parallel and are summed in a fixed order, so results are bitwise the same at
/// any thread count. Evaluations allocate nothing.
/// *Cost* of a Hessian: per element an SVD and 9 outer products of length 12; the scatter runs on one thread.
pub type Tetrahedra<D> = Elements<Solid<D>, 4>;

/// Tetrahedra at rest, and their density.
pub struct Solid<D> {
    density: D,
    rest: Vec<Rest>,
}

struct Rest {
    gradients: [[f64; 3]; 4],
    volume: f64,
    material: Lame,
}

impl<D: Density> Elements<Solid<D>, 4> {
    /// The body with the mesh as its rest shape, and with `held` nodes; `material` returns the moduli of an
    /// element from its number.
    ///
    /// # Errors
    /// [`BodyError`] for corners that do not exist, elements without positive volume, moduli of an unstable
    /// material, and free nodes without an element.
    pub fn new(
        density: D,
        mesh: &Mesh,
        held: &[bool],
        material: impl Fn(usize) -> Lame,
    ) -> Result<Self, BodyError> {
        check_corners("tetrahedron", &mesh.tetrahedra, mesh.positions.len())?;
        let rest = mesh.tetrahedra.iter().enumerate().map(|(index, corners)| {
            let [a, b, c, d] = corners.map(|c| mesh.positions[c as usize]);
            let edge = |p: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| p[k] - a[k]) };
            let edges = [edge(b), edge(c), edge(d)]; // Dmᵀ
            let six = determinant(&edges);
            if !(six.is_finite() && six > 0.0) {
                return Err(BodyError::Degenerate { what: "tetrahedron", index, measure: six / 6.0 });
            }
            let [nb, nc, nd] = cofactor(&edges).map(|row| row.map(|x| x / six)); // Dm⁻¹
            let na = std::array::from_fn(|k| -(nb[k] + nc[k] + nd[k]));
            let material = material(index).checked(index)?;
            Ok(Rest { gradients: [na, nb, nc, nd], volume: six / 6.0, material })
        });
        let solid = Solid { density, rest: rest.collect::<Result<_, _>>()? };
        let elements = Self::of("tetrahedron", solid, mesh.tetrahedra.clone(), held, &mesh.positions)?;
        match elements.loose() {
            Some(node) => Err(BodyError::Loose { node }),
            None => Ok(elements),
        }
    }

    /// The mass of each free node in kg for a body of `density` kg/m³: a quarter of each element at the node.
    pub fn masses(&self, density: f64) -> Vec<f64> {
        self.fold(|around| around.map(|(e, _)| 0.25 * density * self.model.rest[e].volume).sum())
    }
}

impl Rest {
    /// F = Σ (x_a − x_0) ∇N_aᵀ, since the ∇N_a add up to zero. Differences of positions stay accurate far
    /// from the origin.
    fn deformation(&self, at: &[[f64; 3]; 4]) -> [[f64; 3]; 3] {
        let term = |i: usize, j: usize| (1..4).map(|a| (at[a][i] - at[0][i]) * self.gradients[a][j]).sum();
        std::array::from_fn(|i| std::array::from_fn(|j| term(i, j)))
    }

    /// h += V w ∇N_a·∇N_b I, with the largest eigenvalue w of ∂²ψ/∂F² at rest.
    fn add_laplacian(&self, density: &impl Density, h: &mut Stiffness<4>) {
        let weight = density.modes(self.material, &REST).values.iter().copied().fold(0.0, f64::max);
        for (a, left) in self.gradients.iter().enumerate() {
            for (b, right) in self.gradients.iter().enumerate() {
                let entry = self.volume * weight * dot(left, right);
                (0..3).for_each(|k| h[a][k][b][k] += entry);
            }
        }
    }
}

impl<D: Density> Element<4> for Solid<D> {
    const WORK: usize = 500;

    fn energy(&self, e: usize, x: &[[f64; 3]; 4]) -> Energy {
        let rest = &self.rest[e];
        rest.volume * self.density.energy(rest.material, &rest.deformation(x)) // (1)
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let rest = &self.rest[e];
        let p = self.density.stress(rest.material, &rest.deformation(x));
        rest.gradients.map(|n| p.map(|row| rest.volume * dot(&row, &n))) // (1)
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 4], curvature: Curvature, h: &mut Stiffness<4>) {
        let rest = &self.rest[e];
        if curvature == Curvature::Constant {
            return rest.add_laplacian(&self.density, h);
        }
        let modes = self.density.modes(rest.material, &rest.deformation(x));
        for (value, q) in modes.values.iter().zip(&modes.matrices) {
            let weight =
                rest.volume * if curvature == Curvature::Projected { value.max(0.0) } else { *value };
            if weight != 0.0 {
                let w = rest.gradients.map(|n| q.map(|row| dot(&row, &n)));
                add_outer(weight, &w, h); // (1)
            }
        }
    }

    /// det(F + α D) = 0 is a cubic in α: Smith & Schaefer 2015, "Bijective parameterization with free
    /// boundaries", §3.3.
    fn max_step(&self, e: usize, x: &[[f64; 3]; 4], d: &[[f64; 3]; 4]) -> f64 {
        let (f, d) = (self.rest[e].deformation(x), self.rest[e].deformation(d));
        let along = |a: &[[f64; 3]; 3], b: &[[f64; 3]; 3]| (0..3).map(|i| dot(&a[i], &b[i])).sum();
        let cubic = [determinant(&f), along(&cofactor(&f), &d), along(&f, &cofactor(&d)), determinant(&d)];
        SHARE * first_root(cubic)
    }

    fn bounds_steps(&self) -> bool {
        !self.density.inverts()
    }

    /// ξᵢ is ‖∂P/∂F‖ for a stretch at rest, averaged by volume over the elements at the node. ℓᵢ is the total
    /// area of the faces opposite to the node. For an interior node these faces form the closed polyhedron of
    /// the paper; for a surface node the polyhedron is open, and ℓᵢ is about half as large.
    fn characteristic(&self, around: &mut dyn Iterator<Item = (usize, usize)>) -> f64 {
        let stiffness = |e: &Rest| {
            let modes = self.density.modes(e.material, &REST);
            modes.values[6..].iter().map(|v| v * v).sum::<f64>().sqrt()
        };
        let [volume, weighted, area] = around.fold([0.0; 3], |[volume, weighted, area], (e, corner)| {
            let (e, normal) = (&self.rest[e], self.rest[e].gradients[corner]);
            let face = 3.0 * e.volume * dot(&normal, &normal).sqrt(); // opposite to the corner
            [volume + e.volume, weighted + e.volume * stiffness(e), area + face]
        });
        area * weighted / volume
    }
}
