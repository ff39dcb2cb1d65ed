//! Heat conduction with linear finite elements.
//!
//! | symbol | here | unit |
//! |---|---|---|
//! | u | `u`, temperature | K or °C |
//! | k | `conductivity`, constant on each element | W / (m K) |
//! | ρc | 1: time is measured in m² of diffusion at k = 1 | |
//! | f | `source` | W / m³ |
//! | φᵢ | the hat function of vertex i | |
//! | M, K | `mass` (lumped), and the stiffness in `matrix` | |
//!
//! Strong form, with u prescribed on a part of the boundary and zero flux through the rest:
//!
//! ```text
//! ∂u/∂t − ∇·(k ∇u) = f                                                       (1)
//! ```
//!
//! Multiplied by a test function and integrated by parts (Thomée 2006, *Galerkin Finite Element Methods for
//! Parabolic Problems*, §1):
//!
//! ```text
//! M u' + K(u) u = M f,    K_ij = Σ_e k_e |e| ∇φ_i·∇φ_j                        (2)
//! M_ii = Σ_e |e| / (corners of e)             lumped: Thomée 2006, §15        (3)
//! (M/τ + K(uⁿ)) uⁿ⁺¹ = M (uⁿ/τ + f)           implicit Euler of step τ        (4)
//! ```
//!
//! On a triangle in space, ∇ is the surface gradient and K the cotangent Laplacian (Dziuk 1988). With a
//! lumped mass and no obtuse angle, the matrix of (4) is an M-matrix, so temperatures stay in the range of
//! the prescribed and the old ones.

use coarsen::mesh::Mesh;
use coarsen::mesh::vector::{cross, dot, sub};
use coarsen::sparse::{Bsr, SparseError, assembly};

/// A mesh that is unsuitable for finite elements.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FemError {
    /// No elements.
    #[error("the mesh has no tetrahedra and no triangles; heat conduction requires elements")]
    Empty,
    /// An element without area or volume.
    #[error("element {element} has no area or volume ({extent:e}); remove it, or mesh the body again")]
    Flat {
        /// The element.
        element: usize,
        /// The area or volume of the element.
        extent: f64,
    },
    /// A vertex that belongs to no element.
    #[error(
        "no element uses vertex {vertex}, so its temperature is undetermined (in a mesh with tetrahedra, triangles \
         do not conduct); remove those triangles, and then the vertex with Mesh::without_unused"
    )]
    Unused {
        /// The vertex.
        vertex: usize,
    },
    /// A matrix that cannot be assembled.
    #[error(transparent)]
    Matrix(#[from] SparseError),
}

/// The discrete equation (2) on the tetrahedra of a mesh, or on its triangles if it has no tetrahedra.
pub(crate) struct Heat {
    /// M/τ + K from the last assembly.
    pub(crate) matrix: Bsr<f64>,
    /// M_ii.
    pub(crate) mass: Vec<f64>,
    /// The number of corners of an element: 3 or 4.
    corners: usize,
    /// The corners of all elements.
    elements: Vec<u32>,
    /// |e| ∇φ_i·∇φ_j for each element and each pair of its corners.
    stiffness: Vec<f64>,
    /// The index of each of these values in the matrix.
    places: Vec<usize>,
    /// The indices of the diagonal entries in the matrix.
    diagonal: Vec<usize>,
}

impl Heat {
    /// Computes the parts of (2) that depend only on the mesh; the matrix is that for k = 1 and τ = ∞.
    pub(crate) fn new(mesh: &Mesh) -> Result<Self, FemError> {
        let at = |v: u32| mesh.positions[v as usize];
        let n = mesh.positions.len();
        let (corners, elements) = if mesh.tetrahedra.is_empty() {
            (3, mesh.triangles.as_flattened().to_vec())
        } else {
            (4, mesh.tetrahedra.as_flattened().to_vec())
        };
        if elements.is_empty() {
            return Err(FemError::Empty);
        }
        let (mut stiffness, mut mass) = (Vec::new(), vec![0.0; n]);
        for (element, vertices) in elements.chunks_exact(corners).enumerate() {
            let extent = match *vertices {
                [a, b, c] => triangle([a, b, c].map(at), &mut stiffness),
                [a, b, c, d] => tetrahedron([a, b, c, d].map(at), &mut stiffness),
                _ => 0.0,
            };
            if !(extent > 0.0 && extent.is_finite()) {
                return Err(FemError::Flat { element, extent });
            }
            vertices.iter().for_each(|&v| mass[v as usize] += extent / corners as f64); // (3)
        }
        // ANCHOR: assemble
        let pairs = || {
            elements
                .chunks_exact(corners)
                .flat_map(|e| e.iter().flat_map(|&i| e.iter().map(move |&j| (i, j))))
        };
        let entry = |((i, j), &k)| (i, j, k);
        let entries: Vec<_> = pairs().zip(&stiffness).map(entry).collect();
        let matrix = assembly::from_triplets(n, n, &entries)?; // duplicates are summed
        // ANCHOR_END: assemble
        let place =
            |i: usize, j: usize| matrix.pattern().find(i, j).expect("an entry that was just assembled");
        let places = pairs().map(|(i, j)| place(i as usize, j as usize)).collect();
        let own = |vertex: usize| matrix.pattern().find(vertex, vertex).ok_or(FemError::Unused { vertex });
        let diagonal = (0..n).map(own).collect::<Result<_, _>>()?;
        Ok(Self { matrix, mass, corners, elements, stiffness, places, diagonal })
    }

    /// The number of unknowns, one per vertex.
    pub(crate) fn unknowns(&self) -> usize {
        self.mass.len()
    }

    // ANCHOR: refresh
    /// Assembles the matrix of (4) into the existing pattern. `rate` is 1/τ, or 0 for the steady state.
    /// `conductivity` takes an element and its mean temperature.
    pub(crate) fn assemble(&mut self, rate: f64, u: &[f64], conductivity: impl Fn(usize, f64) -> f64) {
        let values = self.matrix.values_mut();
        values.fill(0.0);
        self.diagonal.iter().zip(&self.mass).for_each(|(&at, m)| values[at] = rate * m); // M/τ
        let pairs = self.corners * self.corners;
        for (e, vertices) in self.elements.chunks_exact(self.corners).enumerate() {
            let mean = vertices.iter().map(|&v| u[v as usize]).sum::<f64>() / self.corners as f64;
            let k = conductivity(e, mean);
            for entry in e * pairs..(e + 1) * pairs {
                values[self.places[entry]] += k * self.stiffness[entry]; // (2)
            }
        }
    }
    // ANCHOR_END: refresh

    /// Computes the right-hand side of (4).
    pub(crate) fn load(&self, rate: f64, u: &[f64], source: impl Fn(usize) -> f64, b: &mut [f64]) {
        for (i, (b, m)) in b.iter_mut().zip(&self.mass).enumerate() {
            *b = m * (rate * u[i] + source(i));
        }
    }

    /// ½ uᵀ M u, which decreases in every step without sources.
    pub(crate) fn energy(&self, u: &[f64]) -> f64 {
        0.5 * u.iter().zip(&self.mass).map(|(u, m)| m * u * u).sum::<f64>()
    }
}

/// The area of a triangle; adds |e| ∇φ_i·∇φ_j = e_i·e_j / (4 |e|), where e_i is the edge opposite to corner i
/// (Dziuk 1988).
fn triangle([a, b, c]: [[f64; 3]; 3], stiffness: &mut Vec<f64>) -> f64 {
    let edges = [sub(c, b), sub(a, c), sub(b, a)];
    let n = cross(edges[0], edges[1]);
    let area = 0.5 * dot(n, n).sqrt();
    stiffness.extend(edges.iter().flat_map(|e| edges.map(|f| dot(*e, f) / (4.0 * area))));
    area
}

/// The volume of a tetrahedron; adds |e| ∇φ_i·∇φ_j = n_i·n_j / (36 |e|), where n_i is twice the area vector
/// of the face opposite to corner i.
fn tetrahedron([a, b, c, d]: [[f64; 3]; 4], stiffness: &mut Vec<f64>) -> f64 {
    let [ab, ac, ad] = [sub(b, a), sub(c, a), sub(d, a)];
    let normals = [cross(sub(d, b), sub(c, b)), cross(ac, ad), cross(ad, ab), cross(ab, ac)];
    let volume = dot(cross(ab, ac), ad).abs() / 6.0;
    stiffness.extend(normals.iter().flat_map(|m| normals.map(|n| dot(*m, n) / (36.0 * volume))));
    volume
}
