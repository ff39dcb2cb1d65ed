//! What is no body.

use coarsen_sparse::SparseError;

use crate::ProblemError;

/// A body, or a mesh, that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// A file without a mesh.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A corner or an end that is no node.
    #[error("{what} {index} names node {node}, but there are {nodes} nodes")]
    Node {
        /// Tetrahedron or spring.
        what: &'static str,
        /// Which one.
        index: usize,
        /// The node it names.
        node: usize,
        /// How many there are.
        nodes: usize,
    },
    /// An element without volume or length, or turned inside out.
    #[error(
        "{what} {index} measures {measure:.3e}, which must be positive; renumber its nodes, or remove it"
    )]
    Degenerate {
        /// Tetrahedron or spring.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its volume in m³, or its length in m.
        measure: f64,
    },
    /// A list of the wrong length.
    #[error("{what}: expected {expected} entries, found {found}")]
    Length {
        /// The list.
        what: &'static str,
        /// Entries needed.
        expected: usize,
        /// Entries found.
        found: usize,
    },
    /// A number outside its range.
    #[error("{what} is {found}, but must be {range}")]
    Value {
        /// The number.
        what: &'static str,
        /// The value found.
        found: f64,
        /// The range allowed.
        range: &'static str,
    },
    /// Every node is held.
    #[error("no node is free to move")]
    Held,
    /// The Hessian could not be made.
    #[error(transparent)]
    Sparse(#[from] SparseError),
}
