//! Errors of constraints.

use std::fmt;

use coarsen_core::Error;

use coarsen_sparse::SparseError;

/// A constraint that is invalid, contradicts other constraints, or cannot be filtered.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintError {
    /// A node outside the system.
    #[error("constraint {constraint} has node {node}, but there are {nodes} nodes; nodes are block rows")]
    Node {
        /// The constraint, numbered from 0.
        constraint: usize,
        /// The node found.
        node: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// A coefficient or a value that is NaN or infinite.
    #[error(
        "constraint {constraint} on {} has a coefficient or a value that is not finite; check the code \
         that computed it",
        Names(nodes)
    )]
    NotFinite {
        /// The constraint.
        constraint: usize,
        /// The nodes of the constraint.
        nodes: Vec<u32>,
    },
    /// Coefficients that are all zero, or that cancel because a node occurs twice.
    #[error(
        "constraint {constraint} on {} has only zero coefficients after those of each node are added; \
         check for a zero normal",
        Names(nodes)
    )]
    Vanishing {
        /// The constraint.
        constraint: usize,
        /// The nodes of the constraint.
        nodes: Vec<u32>,
    },
    /// A coefficient of friction that is negative or not finite.
    #[error(
        "the coefficient of friction of node {node} is {found}, but must be 0 or more and finite; correct it"
    )]
    Friction {
        /// The node.
        node: usize,
        /// The coefficient.
        found: f64,
    },
    /// A second obstacle of a node.
    #[error(
        "node {node} already has an obstacle, and the force on a node cannot be divided between two; keep the nearer \
         one, or use penalties"
    )]
    Occupied {
        /// The node.
        node: usize,
    },
    /// A contact of a node with itself.
    #[error(
        "constraint {constraint} pairs node {node} with itself; leave out faces and edges that contain \
         the vertex"
    )]
    Itself {
        /// The constraint.
        constraint: usize,
        /// The node.
        node: usize,
    },
    /// A constraint that depends on other constraints and contradicts them.
    #[error(
        "constraint {constraint} requires {asked:.6e}, but constraints {others:?} imply {left:.6e}, on \
         {}; remove one of them, or make their values consistent",
        Names(nodes)
    )]
    Contradiction {
        /// The constraint; its row is scaled to unit length.
        constraint: usize,
        /// The constraints whose combination gives the row of this constraint.
        others: Vec<usize>,
        /// The nodes of all of these constraints.
        nodes: Vec<u32>,
        /// The value that the constraint requires.
        asked: f64,
        /// The value implied by the other constraints.
        left: f64,
    },
    /// A group of constraints that connects too many nodes.
    #[error(
        "constraints connect {found} nodes, among them {}, but the limit is {limit}, because S A S is \
         dense between connected nodes; replace some constraints by penalties, or raise \
         Prefilter::largest_group",
        Names(nodes)
    )]
    Chain {
        /// The number of nodes of the group.
        found: usize,
        /// The limit.
        limit: usize,
        /// The first nodes of the group.
        nodes: Vec<u32>,
    },
    /// Constraints between nodes where each may act on one node only.
    #[error(
        "constraints tie {} together, but filters of single nodes cannot; filter the system on the host, or replace these \
         constraints by penalties",
        Names(nodes)
    )]
    Tied {
        /// The first nodes of the group.
        nodes: Vec<u32>,
    },
    /// A constrained node without a stored diagonal block.
    #[error("node {node} is constrained, but its diagonal block is not stored; store a zero block there")]
    NoDiagonal {
        /// The node.
        node: usize,
    },
    /// A matrix, vector or list of the wrong size.
    #[error(transparent)]
    Fit(#[from] Error),
    /// A matrix that cannot be constructed.
    #[error(transparent)]
    Matrix(#[from] SparseError),
}

coarsen_core::debug_as_display!(ConstraintError);

/// Formats nodes as `node 3`, `nodes 3, 5 and 7` or `nodes 0, 1, 2 ... (9 in all)`.
pub(super) struct Names<'a>(pub(super) &'a [u32]);

/// The maximum number of nodes in a message.
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
