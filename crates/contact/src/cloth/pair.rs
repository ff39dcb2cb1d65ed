//! A vertex and a triangle, or two edges.

use std::fmt;

/// Two parts of a surface that may touch. Pairs are ordered by kind and by their nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pair {
    /// A vertex and a triangle that does not contain it.
    VertexFace {
        /// The vertex.
        vertex: u32,
        /// The corners of the triangle.
        face: [u32; 3],
    },
    /// Two edges without a common end.
    EdgeEdge {
        /// The ends of both edges.
        edges: [[u32; 2]; 2],
    },
}

impl Pair {
    /// The four nodes: the vertex and the corners, or the ends of both edges.
    #[inline]
    pub fn nodes(&self) -> [u32; 4] {
        match *self {
            Self::VertexFace { vertex, face: [a, b, c] } => [vertex, a, b, c],
            Self::EdgeEdge { edges: [[a, b], [c, d]] } => [a, b, c, d],
        }
    }

    /// The number of nodes that belong to the first part: 1 or 2.
    #[inline]
    pub(super) fn first(&self) -> usize {
        match self {
            Self::VertexFace { .. } => 1,
            Self::EdgeEdge { .. } => 2,
        }
    }
}

/// For messages: `vertex 3 and triangle 0, 1, 2`.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.nodes();
        match self {
            Self::VertexFace { .. } => write!(f, "vertex {a} and triangle {b}, {c}, {d}"),
            Self::EdgeEdge { .. } => write!(f, "edges {a}, {b} and {c}, {d}"),
        }
    }
}
