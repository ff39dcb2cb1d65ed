//! Contact stencils: one to four nodes and their weights.

/// A contact between points of a mesh: nodes a with weights w_a, the gap g = Σ_a w_a x_a, and the energy ½ gᵀ
/// K g.
///
/// The Hessian of the energy has the block w_a w_c K for every pair of nodes (a, c). A point on a triangle or
/// edge is a convex combination of the corners. So the weights of a contact between two moving parts sum to
/// zero, and a common translation does not change the gap.
///
/// *Reference* Bridson, Fedkiw, Anderson 2002, "Robust treatment of collisions, contact and friction for
/// cloth animation", §6.
///
/// ```
/// use coarsen_sparse::{Contacts, Stencil};
/// let touch = Stencil::vertex_face(3, [0, 1, 2], [0.2, 0.3, 0.5]);
/// assert_eq!(touch.nodes(), [3, 0, 1, 2]);
/// let mut contacts = Contacts::<f64>::new(4, 1)?;
/// contacts.assemble(&[touch], &[10.0])?;
/// assert_eq!(contacts.len(), 16);
/// assert_eq!(contacts.values()[..2], [10.0 * (0.2 * 0.2), 10.0 * (0.2 * 0.3)]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stencil {
    nodes: [u32; Self::MOST],
    weights: [f64; Self::MOST],
    count: u8,
}

impl Stencil {
    /// The maximum number of nodes.
    pub const MOST: usize = 4;

    /// g = x_i: contact of a node with a fixed obstacle.
    pub const fn point(i: u32) -> Self {
        Self { nodes: [i, 0, 0, 0], weights: [1.0, 0.0, 0.0, 0.0], count: 1 }
    }

    /// g = x_i − x_j.
    pub const fn point_point(i: u32, j: u32) -> Self {
        Self { nodes: [i, j, 0, 0], weights: [1.0, -1.0, 0.0, 0.0], count: 2 }
    }

    /// g = x_v − Σ_k β_k x_face(k), with the barycentric coordinates β of the contact point.
    pub const fn vertex_face(vertex: u32, face: [u32; 3], beta: [f64; 3]) -> Self {
        Self {
            nodes: [vertex, face[0], face[1], face[2]],
            weights: [1.0, -beta[0], -beta[1], -beta[2]],
            count: 4,
        }
    }

    /// g = (1 − s) x_a + s x_b − (1 − t) x_c − t x_d: the difference between the point at s on edge (a, b)
    /// and the point at t on edge (c, d).
    pub const fn edge_edge([a, b]: [u32; 2], s: f64, [c, d]: [u32; 2], t: f64) -> Self {
        Self { nodes: [a, b, c, d], weights: [1.0 - s, s, t - 1.0, -t], count: 4 }
    }

    /// The same contact with one node fixed: every occurrence of the node is removed, and the other weights
    /// stay.
    ///
    /// ```
    /// use coarsen_sparse::Stencil;
    /// let touch = Stencil::vertex_face(3, [0, 1, 2], [0.2, 0.3, 0.5]).without(1);
    /// assert_eq!((touch.nodes(), touch.weights()), (&[3, 0, 2][..], &[1.0, -0.2, -0.5][..]));
    /// ```
    pub fn without(self, node: u32) -> Self {
        let mut kept = Self { nodes: [0; Self::MOST], weights: [0.0; Self::MOST], count: 0 };
        for (&i, &w) in self.nodes().iter().zip(self.weights()).filter(|(i, _)| **i != node) {
            (kept.nodes[usize::from(kept.count)], kept.weights[usize::from(kept.count)]) = (i, w);
            kept.count += 1;
        }
        kept
    }

    /// The nodes, in the order of the constructors.
    #[inline]
    pub fn nodes(&self) -> &[u32] {
        &self.nodes[..usize::from(self.count)]
    }

    /// The weights w_a, one per node.
    #[inline]
    pub fn weights(&self) -> &[f64] {
        &self.weights[..usize::from(self.count)]
    }

    /// The first node that occurs twice.
    pub(super) fn repeated(&self) -> Option<u32> {
        let nodes = self.nodes();
        (1..nodes.len()).find(|&k| nodes[..k].contains(&nodes[k])).map(|k| nodes[k])
    }
}
