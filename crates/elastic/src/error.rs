//! Errors of bodies and meshes.

use coarsen_sparse::SparseError;

/// The reason why a body or a mesh cannot be created.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// A corner or an end that does not exist.
    #[error("{what} {index} refers to node {node}, but there are only {nodes} nodes")]
    Node {
        /// The kind of element, such as tetrahedron or spring.
        what: &'static str,
        /// Its index.
        index: usize,
        /// The node that does not exist.
        node: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// An element without volume or length, or inverted.
    #[error(
        "{what} {index} has the size {measure:.3e}, which must be positive and finite; reorder its nodes, or remove it"
    )]
    Degenerate {
        /// The kind of element, such as tetrahedron or spring.
        what: &'static str,
        /// Its index.
        index: usize,
        /// Its volume in m³, length in m or stiffness in N/m.
        measure: f64,
    },
    /// Moduli of an unstable material.
    #[error(
        "tetrahedron {index} has the moduli λ = {lambda:e}, μ = {mu:e}, but μ and λ + 2/3 μ must be positive and finite; take E > 0 and -1 < ν < 1/2"
    )]
    Material {
        /// The index of the tetrahedron.
        index: usize,
        /// λ in Pa.
        lambda: f64,
        /// μ in Pa.
        mu: f64,
    },
    /// Moduli with which the energy density is unbounded below.
    #[error(
        "tetrahedron {index} has the moduli λ = {lambda:e}, μ = {mu:e}, but this energy density is unbounded below for λ < 0; take ν >= 0, or another density such as StableNeoHookean"
    )]
    Unbounded {
        /// The index of the tetrahedron.
        index: usize,
        /// λ in Pa.
        lambda: f64,
        /// μ in Pa.
        mu: f64,
    },
    /// Moduli of an anisotropic tetrahedron outside their range.
    #[error(
        "tetrahedron {index} has the moduli k = {stretch:e} for stretching, k' = {shear:e} for shearing, but both must be positive and finite"
    )]
    Fibers {
        /// Which tetrahedron.
        index: usize,
        /// k in Pa.
        stretch: f64,
        /// k' in Pa.
        shear: f64,
    },
    /// Axes that are not orthonormal.
    #[error(
        "tetrahedron {index} has axes whose products differ from those of orthonormal ones by {gap:.3e}, but at most 1e-6 is allowed; make them orthonormal"
    )]
    Axes {
        /// Which tetrahedron.
        index: usize,
        /// The largest |e_i · e_j − δ_ij|.
        gap: f64,
    },
    /// A spring with both ends at one node.
    #[error("spring {index} has both ends at node {node}; remove it, or correct its ends")]
    Loop {
        /// The index of the spring.
        index: usize,
        /// The node at both ends.
        node: usize,
    },
    /// A hinge that is not flat at rest.
    #[error(
        "at rest, the normals of the two triangles at the edge between nodes {} and {} differ by {angle:.3e} rad, but this bending energy is for cloth that is flat at rest, and at most 1e-2 is allowed; pass the flat pattern as the rest shape",
        edge[0],
        edge[1]
    )]
    Folded {
        /// The ends of the edge between both triangles.
        edge: [usize; 2],
        /// The angle between the normals of both triangles in radians.
        angle: f64,
    },
    /// A free node without mass.
    #[error(
        "free node {node} has a mass of {mass:e} kg, which must be positive and finite; hold the node, or correct the density"
    )]
    Mass {
        /// Its number among the free nodes.
        node: usize,
        /// Its mass in kg.
        mass: f64,
    },
    /// A free node that belongs to no element.
    #[error("node {node} is free, but belongs to no element; remove it, or hold it")]
    Loose {
        /// Its number in the mesh.
        node: usize,
    },
    /// A list of the wrong length.
    #[error("{what}: found {found} entries, expected {expected}")]
    Length {
        /// The list.
        what: &'static str,
        /// The number of entries needed.
        expected: usize,
        /// The number of entries found.
        found: usize,
    },
    /// A number outside its range.
    #[error("{what} is {found}, but must be {range}")]
    Value {
        /// The number.
        what: &'static str,
        /// The value found.
        found: f64,
        /// The allowed range.
        range: &'static str,
    },
    /// A position that is not finite.
    #[error("node {node} of the mesh has a position that is not finite; the time step may have diverged")]
    Position {
        /// Its number in the mesh.
        node: usize,
    },
    /// An energy that devices cannot compute.
    #[error("{energy} has no kernels for a device; compute it on the CPU")]
    NoKernel {
        /// Its type, without the paths of modules.
        energy: String,
    },
    /// Every node is held.
    #[error("no node is free to move")]
    Held,
    /// The Hessian could not be allocated.
    #[error(transparent)]
    Sparse(#[from] SparseError),
}

coarsen_core::debug_as_display!(BodyError);

impl BodyError {
    /// Returns the error of an energy without kernels for a device.
    pub(crate) fn no_kernel<E: ?Sized>() -> Self {
        let parts = std::any::type_name::<E>().split_inclusive(['<', ' ', ',', '>']);
        Self::NoKernel { energy: parts.filter_map(|part| part.rsplit("::").next()).collect() }
    }
}

/// Returns a number, or an error if it is not positive and finite.
pub(crate) fn positive(what: &'static str, found: f64) -> Result<f64, BodyError> {
    match found.is_finite() && found > 0.0 {
        true => Ok(found),
        false => Err(BodyError::Value { what, found, range: "positive and finite" }),
    }
}
