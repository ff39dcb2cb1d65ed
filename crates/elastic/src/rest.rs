//! Linear tetrahedra at rest.
//!
//! | symbol | here | |
//! |---|---|---|
//! | F = Σ x_a ∇N_aᵀ | `deformation` | deformation gradient, constant in an element |
//! | ∇N_a | `gradients[a]` | gradient of a shape function at rest |
//! | V | `volume` | rest volume |
//!
//! Sifakis & Barbič 2012, "FEM simulation of 3D deformable solids", chapter 4.

use coarsen_mesh::Mesh;

use crate::BodyError;
use crate::density::Modes;
use crate::elements::{Element, Elements, Stiffness, add_outer, check_corners};
use crate::mat3::{cofactor, determinant, dot};

/// One tetrahedron at rest and its moduli.
pub(crate) struct Rest<M> {
    pub(crate) shape: Shape,
    pub(crate) material: M,
}

/// The shape functions of a tetrahedron at rest. Its functions are not generic, so that they are compiled
/// once, in this crate.
pub(crate) struct Shape {
    pub(crate) gradients: [[f64; 3]; 4],
    pub(crate) volume: f64,
}

impl<M> Rest<M> {
    /// Returns the tetrahedra of a mesh. `material` returns the checked moduli of an element, given its
    /// number.
    pub(crate) fn all(
        mesh: &Mesh,
        material: impl Fn(usize) -> Result<M, BodyError>,
    ) -> Result<Vec<Self>, BodyError> {
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
            let shape = Shape { gradients: [na, nb, nc, nd], volume: six / 6.0 };
            Ok(Self { shape, material: material(index)? })
        });
        rest.collect()
    }
}

impl Shape {
    /// F, computed as Σ (x_a − x_0) ∇N_aᵀ, since the ∇N_a add up to zero. Differences keep all digits far
    /// from the origin.
    pub(crate) fn deformation(&self, at: &[[f64; 3]; 4]) -> [[f64; 3]; 3] {
        let term = |i: usize, j: usize| (1..4).map(|a| (at[a][i] - at[0][i]) * self.gradients[a][j]).sum();
        std::array::from_fn(|i| std::array::from_fn(|j| term(i, j)))
    }

    /// The numbers that `rest.cl` reads.
    pub(crate) fn data(&self) -> Vec<f64> {
        self.gradients.into_iter().flatten().chain([self.volume]).collect()
    }

    /// V P ∇N_a for each corner a.
    pub(crate) fn forces(&self, p: &[[f64; 3]; 3]) -> [[f64; 3]; 4] {
        self.gradients.map(|n| p.map(|row| self.volume * dot(row, n)))
    }

    /// Adds V Σ_k λ_k (Q_k ∇N_a)(Q_k ∇N_b)ᵀ to the blocks of h, without negative λ_k if `projected`.
    pub(crate) fn add_modes(&self, modes: &Modes, projected: bool, h: &mut Stiffness<4>) {
        for (value, q) in modes.values.iter().zip(&modes.matrices) {
            let weight = self.volume * if projected { value.max(0.0) } else { *value };
            if weight != 0.0 {
                add_outer(weight, &self.gradients.map(|n| q.map(|row| dot(row, n))), h);
            }
        }
    }

    /// Adds V w (∇N_a · ∇N_b) I to the blocks of h, with the `weight` w.
    pub(crate) fn add_laplacian(&self, weight: f64, h: &mut Stiffness<4>) {
        for (a, left) in self.gradients.iter().enumerate() {
            for (b, right) in self.gradients.iter().enumerate() {
                let entry = self.volume * weight * dot(*left, *right);
                (0..3).for_each(|k| h[a][k][b][k] += entry);
            }
        }
    }
}

/// Returns ℓᵢ ξᵢ of a node (Wang et al. 2020, HOT, Eq. 9). ξᵢ is the stiffness averaged by volume over the
/// elements at the node, and ℓᵢ is the area of their faces opposite to the node. For an interior node these
/// faces are the closed polyhedron of the paper. For a surface node the polyhedron is open, and ℓᵢ is about
/// half as large.
pub(crate) fn characteristic<M>(
    rest: &[Rest<M>],
    around: &mut dyn Iterator<Item = (usize, usize)>,
    stiffness: impl Fn(&M) -> f64,
) -> f64 {
    let [volume, weighted, area] = around.fold([0.0; 3], |[volume, weighted, area], (e, corner)| {
        let Rest { shape, material } = &rest[e];
        let normal = shape.gradients[corner];
        let face = 3.0 * shape.volume * dot(normal, normal).sqrt(); // opposite to the corner
        [volume + shape.volume, weighted + shape.volume * stiffness(material), area + face]
    });
    area * weighted / volume
}

/// Returns the body of a mesh with `held` nodes, or an error if a free node has no element.
pub(crate) fn body<T: Element<4>>(model: T, mesh: &Mesh, held: &[bool]) -> Result<Elements<T, 4>, BodyError> {
    let body = Elements::of("tetrahedron", model, mesh.tetrahedra.clone(), held, &mesh.positions)?;
    match body.loose() {
        Some(node) => Err(BodyError::Loose { node }),
        None => Ok(body),
    }
}
