//! Constraints that cannot be imposed, and why.

use std::fmt;

use coarsen_core::Error;

use coarsen_sparse::SparseError;

/// A constraint, or a set of them, that no vector can satisfy or that cannot be filtered.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintError {
    /// A node outside the system.
    #[error("constraint {constraint} names node {node}, but there are {nodes}; nodes are block rows")]
    Node {
        /// The constraint, counted from 0.
        constraint: usize,
        /// The node named.
        node: usize,
        /// How many there are.
        nodes: usize,
    },
    /// A coefficient or a value that is NaN or infinite.
    #[error(
        "constraint {constraint} on {} has a coefficient or a value that is not finite; look at what computed it",
        Names(nodes)
    )]
    NotFinite {
        /// The constraint.
        constraint: usize,
        /// Its nodes.
        nodes: Vec<u32>,
    },
    /// Coefficients that are all zero, or that cancel because a node is named twice.
    #[error(
        "constraint {constraint} on {} has no coefficient left once those of a node are added up; is a normal zero?",
        Names(nodes)
    )]
    Vanishing {
        /// The constraint.
        constraint: usize,
        /// Its nodes.
        nodes: Vec<u32>,
    },
    /// A contact of a node with itself.
    #[error(
        "constraint {constraint} pairs node {node} with itself; leave out a face or an edge that the vertex belongs to"
    )]
    Itself {
        /// The constraint.
        constraint: usize,
        /// The node.
        node: usize,
    },
    /// A constraint that those it depends on exclude.
    #[error(
        "constraint {constraint} asks for {asked:.6e} where constraints {others:?} leave {left:.6e}, on {}; drop one of them, or give them values that agree",
        Names(nodes)
    )]
    Contradiction {
        /// The constraint, scaled to unit length.
        constraint: usize,
        /// Those that it is a combination of.
        others: Vec<usize>,
        /// The nodes of all of them.
        nodes: Vec<u32>,
        /// Its value.
        asked: f64,
        /// The value that the others give it.
        left: f64,
    },
    /// Constraints that chain more nodes together than a dense block is for.
    #[error(
        "constraints chain {found} nodes together, among them {}, and {limit} are allowed: S A S would be dense between them; weaken some to penalties, or raise Prefilter::largest_group",
        Names(nodes)
    )]
    Chain {
        /// Nodes of the group.
        found: usize,
        /// How many there may be.
        limit: usize,
        /// Its first nodes.
        nodes: Vec<u32>,
    },
    /// A constrained node whose row stores no diagonal block.
    #[error("node {node} is constrained, but its diagonal block is not stored; add a zero there")]
    NoDiagonal {
        /// The node.
        node: usize,
    },
    /// A matrix, vector or list that does not fit.
    #[error(transparent)]
    Fit(#[from] Error),
    /// A matrix that cannot be made.
    #[error(transparent)]
    Matrix(#[from] SparseError),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for ConstraintError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// `node 3`, `nodes 3, 5 and 7`, `nodes 0, 1, 2 ... (9 in all)`.
pub(super) struct Names<'a>(pub(super) &'a [u32]);

/// Nodes that a message names.
const NAMED: usize = 8;

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("no node"),
            [only] => write!(f, "node {only}"),
            [others @ .., last] if self.0.len() <= NAMED => {
                let list: Vec<String> = others.iter().map(u32::to_string).collect();
                write!(f, "nodes {} and {last}", list.join(", "))
            }
            all => {
                let list: Vec<String> = all[..NAMED].iter().map(u32::to_string).collect();
                write!(f, "nodes {} ... ({} in all)", list.join(", "), all.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_in_words() {
        let named = |nodes: &[u32]| Names(nodes).to_string();
        assert_eq!(named(&[]), "no node");
        assert_eq!(named(&[4]), "node 4");
        assert_eq!(named(&[4, 6, 7]), "nodes 4, 6 and 7");
        assert_eq!(named(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), "nodes 0, 1, 2, 3, 4, 5, 6, 7 ... (9 in all)");
    }
}
