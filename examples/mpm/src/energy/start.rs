//! The start of a solve.
//!
//! The paper starts from Δv = 0 (eq. 1). Here what touches no collider starts from Δv = Δt g, its free fall. The step ends
//! by a norm that is relative to the stiffness, and the weight of steel is far below it: from 0 a body of steel would
//! hang in the air. A common velocity changes no F, so that E is lower at this start by ½ Σ m ‖Δt g‖².

use super::{Given, Increment, stencil};
use crate::constraints::Hold;
use crate::grid::NONE;

/// Sets of nodes that share particles, each a tree.
struct Sets(Vec<u32>);

impl Sets {
    /// The root of the tree of a node.
    fn root(&mut self, mut node: u32) -> u32 {
        loop {
            let above = self.0[node as usize];
            if above == node {
                return node;
            }
            self.0[node as usize] = self.0[above as usize];
            node = above;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// For each node, whether it falls: no node that is coupled to it by particles, directly or through others, touches a
/// collider.
fn falls(given: &Given<'_>) -> Vec<bool> {
    let Given { grid, nodes, particles, constraints, .. } = *given;
    let mut sets = Sets((0..nodes.len() as u32).collect());
    let mut first = vec![NONE; particles.len()]; // a node of the cell that begins with a particle
    for node in 0..nodes.len() {
        stencil::cells(grid, nodes, node, |_, range| match first[range.start] {
            NONE => first[range.start] = node as u32,
            other => sets.join(node as u32, other),
        });
    }
    let mut held = vec![false; nodes.len()];
    for (node, hold) in (0..).zip(&constraints.holds) {
        held[sets.root(node) as usize] |= !matches!(hold, Hold::Free);
    }
    (0..nodes.len() as u32).map(|node| !held[sets.root(node) as usize]).collect()
}

impl Increment<'_> {
    /// The unknowns with which a solve starts: Δt g for nodes that fall freely, and 0 for those that are coupled to a
    /// collider.
    ///
    /// *Cost* a look at 27 cells for each node; nothing without gravity or without nodes on colliders.
    pub fn start(&self) -> Vec<f64> {
        let Given { constraints, dt, gravity, .. } = self.given;
        let mut z = vec![0.0; self.size()];
        if gravity == [0.0; 3] {
            return z;
        }
        let all = constraints.holds.iter().all(|hold| matches!(hold, Hold::Free));
        let falls = if all { Vec::new() } else { falls(&self.given) };
        for (&node, z) in constraints.free.iter().zip(z.as_chunks_mut::<3>().0) {
            if all || falls[node as usize] {
                *z = gravity.map(|g| dt * g);
            }
        }
        z
    }
}
