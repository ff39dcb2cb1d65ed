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
//! with the eigenvalues λ_k and eigenmatrices Q_k of ∂²ψ/∂F². Sifakis & Barbič 2012, "FEM simulation of 3D deformable solids",
//! chapter 4.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_mesh::Mesh;
use coarsen_sparse::Pattern;

use crate::BodyError;
use crate::density::{Density, Lame};
use crate::mat3::{cofactor, determinant, dot};
use crate::nodes::{HELD, Nodes};
use crate::potential::{Curvature, Energy, Potential};

/// Elements per leaf of a parallel loop.
const LEAF: usize = 64;

/// Elements whose Hessians are held at a time.
const BATCH: usize = 4096;

/// Scalar operations of an element, for the decision to use threads.
const WORK: usize = 500;

/// F of an element at rest.
const REST: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// A body of linear tetrahedra of one density, its moduli free to differ by element.
///
/// All loops run over elements in parallel and are summed in a fixed order: the same bits at any thread count. Nothing is
/// allocated by values, gradients and Hessians.
/// *Cost* of a Hessian: an SVD, 9 outer products of 12 an element, and a scatter on one thread.
pub struct Tetrahedra<D> {
    density: D,
    elements: Vec<Element>,
    nodes: Nodes,
    /// Elements around each free node: (element, corner), in order, from `starts[i]` to `starts[i + 1]`.
    around: Vec<(u32, u32)>,
    starts: Vec<usize>,
    pattern: Arc<Pattern>,
    blocks: Vec<[usize; 16]>,
    forces: Vec<[[f64; 3]; 4]>,
    hessians: Vec<[f64; 144]>,
}

struct Element {
    corners: [u32; 4],
    gradients: [[f64; 3]; 4],
    volume: f64,
    material: Lame,
}

impl<D: Density> Tetrahedra<D> {
    /// The body of a mesh, which is its rest shape, with some nodes `held`; `material` gives the moduli of an element by its
    /// number.
    ///
    /// # Errors
    /// [`BodyError`] for corners that are no nodes, elements without positive volume, moduli of no stable material, and free
    /// nodes without an element.
    pub fn new(
        density: D,
        mesh: &Mesh,
        held: &[bool],
        material: impl Fn(usize) -> Lame,
    ) -> Result<Self, BodyError> {
        let count = mesh.positions.len();
        let elements = mesh.tetrahedra.iter().enumerate().map(|(index, &corners)| {
            if let Some(&node) = corners.iter().find(|&&c| c as usize >= count) {
                return Err(BodyError::Node {
                    what: "tetrahedron",
                    index,
                    node: node as usize,
                    nodes: count,
                });
            }
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
            Ok(Element { corners, gradients: [na, nb, nc, nd], volume: six / 6.0, material })
        });
        let elements = elements.collect::<Result<Vec<_>, _>>()?;
        let nodes = Nodes::new(held, &mesh.positions)?;
        let (pattern, blocks) = nodes.pattern(&mesh.tetrahedra)?;
        let mut starts = vec![0; nodes.free + 1];
        let mut incident: Vec<(u32, u32, u32)> = Vec::with_capacity(4 * elements.len());
        for (e, element) in elements.iter().enumerate() {
            for (corner, &node) in element.corners.iter().enumerate() {
                let slot = nodes.slots[node as usize];
                if slot != HELD {
                    incident.push((slot, e as u32, corner as u32));
                    starts[slot as usize + 1] += 1;
                }
            }
        }
        let loose = |slot: &u32| *slot != HELD && starts[*slot as usize + 1] == 0;
        if let Some(node) = nodes.slots.iter().position(loose) {
            return Err(BodyError::Loose { node });
        }
        incident.sort_unstable();
        (0..nodes.free).for_each(|i| starts[i + 1] += starts[i]);
        let around = incident.into_iter().map(|(_, e, corner)| (e, corner)).collect();
        let forces = vec![[[0.0; 3]; 4]; elements.len()];
        let hessians = vec![[0.0; 144]; elements.len().min(BATCH)];
        Ok(Self { density, elements, nodes, around, starts, pattern, blocks, forces, hessians })
    }

    /// Moves the held nodes; `positions` holds one for every node of the mesh. *Panics* on another length.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.nodes.hold(positions);
    }

    /// The entries of the free nodes out of a list for all nodes of the mesh: an x.
    pub fn free(&self, all: &[[f64; 3]]) -> Vec<f64> {
        self.nodes.gather(all)
    }

    /// The mass of each free node in kg, for a body of `density` kg/m³: a quarter of each element around it.
    pub fn masses(&self, density: f64) -> Vec<f64> {
        let quarter = |&(e, _): &(u32, u32)| 0.25 * density * self.elements[e as usize].volume;
        self.starts.windows(2).map(|ends| self.around[ends[0]..ends[1]].iter().map(quarter).sum()).collect()
    }

    /// The characteristic force of each free node in N: ℓᵢ ξᵢ of Wang et al. 2020 (HOT), Eq. 9, without its time step, since x
    /// are positions.
    ///
    /// ξᵢ is ‖∂P/∂F‖ of a stretch at rest, averaged by volume over the elements around the node; ℓᵢ the area of their faces
    /// opposite to it. Inside a body these close the polyhedron of the paper; at a node of the surface they leave it open, so that
    /// it has about half the ℓᵢ of one inside. A gradient divided by it measures strain, in stiff and in soft parts alike.
    pub fn characteristic(&self) -> Vec<f64> {
        let stiffness = |e: &Element| {
            let modes = self.density.modes(e.material, &REST);
            modes.values[6..].iter().map(|v| v * v).sum::<f64>().sqrt()
        };
        let around = |ends: &[usize]| {
            let sum = |[volume, weighted, area]: [f64; 3], &(e, corner): &(u32, u32)| {
                let e = &self.elements[e as usize];
                let normal = e.gradients[corner as usize];
                let face = 3.0 * e.volume * dot(&normal, &normal).sqrt(); // opposite to the corner
                [volume + e.volume, weighted + e.volume * stiffness(e), area + face]
            };
            let [volume, weighted, area] = self.around[ends[0]..ends[1]].iter().fold([0.0; 3], sum);
            area * weighted / volume
        };
        self.starts.windows(2).map(around).collect()
    }
}

impl Element {
    /// F = Σ (x_a − x_0) ∇N_aᵀ: the ∇N_a add up to zero, and edges lose no digits far from the origin.
    fn deformation(&self, nodes: &Nodes, x: &[f64]) -> [[f64; 3]; 3] {
        let at = self.corners.map(|c| nodes.at(c, x));
        let term = |i: usize, j: usize| (1..4).map(|a| (at[a][i] - at[0][i]) * self.gradients[a][j]).sum();
        std::array::from_fn(|i| std::array::from_fn(|j| term(i, j)))
    }

    /// h += V w ∇N_a·∇N_b I, w the largest eigenvalue of ∂²ψ/∂F² at rest.
    fn add_laplacian(&self, density: &impl Density, h: &mut [f64; 144]) {
        let weight = density.modes(self.material, &REST).values.iter().copied().fold(0.0, f64::max);
        for (a, left) in self.gradients.iter().enumerate() {
            for (b, right) in self.gradients.iter().enumerate() {
                let entry = self.volume * weight * dot(left, right);
                (0..3).for_each(|k| h[12 * (3 * a + k) + 3 * b + k] += entry);
            }
        }
    }
}

impl<D: Density> Potential for Tetrahedra<D> {
    fn nodes(&self) -> usize {
        self.nodes.free
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        let Self { density, elements, nodes, .. } = self;
        let energy = |e: &Element| e.volume * density.energy(e.material, &e.deformation(nodes, x)); // (1)
        let parallel = parallel::worth(elements.len() * WORK);
        let leaf = |es: &[Element]| es.iter().map(energy).sum::<Energy>();
        parallel::tree(&elements[..], LEAF, parallel, &leaf, &|a, b| a + b)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        assert_eq!(g.len(), 3 * self.nodes.free, "add_gradient: wrong length");
        let Self { density, elements, nodes, around, starts, forces, .. } = self;
        let parallel = parallel::worth(elements.len() * WORK);
        let force = |(elements, forces): (&[Element], &mut [[[f64; 3]; 4]])| {
            for (e, force) in elements.iter().zip(forces) {
                let p = density.stress(e.material, &e.deformation(nodes, x));
                *force = e.gradients.map(|n| p.map(|row| e.volume * dot(&row, &n))); // (1)
            }
        };
        parallel::each((&elements[..], &mut forces[..]), LEAF, parallel, &force);
        let sum = |(range, g): (Range<usize>, parallel::Groups<&mut [f64]>)| {
            for (i, g) in range.zip(g.0.chunks_exact_mut(3)) {
                for &(e, corner) in &around[starts[i]..starts[i + 1]] {
                    let force = &forces[e as usize][corner as usize];
                    (0..3).for_each(|k| g[k] += force[k]);
                }
            }
        };
        let pieces = (0..nodes.free, parallel::Groups(g, 3));
        parallel::each(pieces, LEAF, parallel, &sum);
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        assert_eq!(values.len(), 9 * self.pattern.len(), "add_hessian: wrong length");
        let Self { density, elements, nodes, blocks, hessians, .. } = self;
        let element = |(elements, hessians): (&[Element], &mut [[f64; 144]])| {
            for (e, hessian) in elements.iter().zip(hessians) {
                hessian.fill(0.0);
                if curvature == Curvature::Constant {
                    e.add_laplacian(density, hessian);
                    continue;
                }
                let modes = density.modes(e.material, &e.deformation(nodes, x));
                for (value, q) in modes.values.iter().zip(&modes.matrices) {
                    let weight =
                        e.volume * if curvature == Curvature::Projected { value.max(0.0) } else { *value };
                    if weight != 0.0 {
                        let w = e.gradients.map(|n| q.map(|row| dot(&row, &n)));
                        add_outer(weight, w.as_flattened(), hessian); // (1)
                    }
                }
            }
        };
        for (batch, blocks) in elements.chunks(BATCH).zip(blocks.chunks(BATCH)) {
            let hessians = &mut hessians[..batch.len()];
            let parallel = parallel::worth(batch.len() * WORK);
            parallel::each((batch, &mut hessians[..]), LEAF, parallel, &element);
            for (hessian, blocks) in hessians.iter().zip(blocks) {
                for (ab, &block) in blocks.iter().enumerate().filter(|(_, b)| **b != usize::MAX) {
                    let (a, b) = (ab / 4, ab % 4);
                    for p in 0..3 {
                        for q in 0..3 {
                            values[9 * block + 3 * p + q] += hessian[12 * (3 * a + p) + 3 * b + q];
                        }
                    }
                }
            }
        }
    }
}

/// h += weight w wᵀ.
fn add_outer(weight: f64, w: &[f64], h: &mut [f64; 144]) {
    for (row, &left) in h.chunks_exact_mut(12).zip(w) {
        let left = weight * left;
        row.iter_mut().zip(w).for_each(|(h, &right)| *h += left * right);
    }
}
