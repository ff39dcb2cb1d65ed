//! Impact zones: nodes of pairs that would meet in a step go the same way for the rest of it.
//!
//! | symbol | here | |
//! |---|---|---|
//! | u_i | `by` | the way of node i in the step |
//! | t | | the time of the first impact of a zone |
//! | c | `mean` | Σ m_i u_i / Σ m_i over the zone; with held nodes, the mean of their ways |
//!
//! > u_i ← c + t (u_i − c)    (1)
//!
//! for the free nodes of a zone: relative motions end at the time t, and the momentum stays. Pairs of the zone are then
//! apart; pairs with nodes outside are looked for again, and zones that meet become one.
//!
//! Zones: Bridson, Fedkiw & Anderson 2002, "Robust treatment of collisions, contact and friction for cloth animation", ACM
//! TOG 21(3), §7.5, and Harmon et al. 2008, "Robust treatment of simultaneous collisions", ACM TOG 27(3). Deviations: the
//! relative motion is not removed but ends at t, and zones do not turn.

use crate::Pair;

/// The zones of a step.
///
/// ```
/// use coarsen_contact::{Pair, Zones};
/// // A vertex meets a triangle that rests, halfway through the step; all have the same mass.
/// let pair = Pair::VertexFace { vertex: 3, face: [0, 1, 2] };
/// let mut by = [[0.0; 3], [0.0; 3], [0.0; 3], [0.0, 0.0, -4.0]];
/// let mut zones = Zones::new(4);
/// assert_eq!(zones.slow(&[(0.5, pair)], |_| 1.0, &mut by), [0, 1, 2, 3]);
/// assert_eq!(by.map(|u| u[2]), [-0.5, -0.5, -0.5, -2.5]); // c = −1, and half of the way relative to it
/// ```
#[derive(Clone, Debug)]
pub struct Zones {
    /// The node with the smallest number of the zone, or one on the way to it; a node alone points to itself.
    parent: Vec<u32>,
    /// The nodes in zones, sorted.
    members: Vec<u32>,
}

impl Zones {
    /// No zones, for a surface of `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { parent: (0..nodes as u32).collect(), members: Vec::new() }
    }

    /// The nodes in zones, sorted.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Joins the nodes of each pair that meets, and slows the zones of these pairs by (1). `mass` of a held node is
    /// infinite, and its way stays. Returns the nodes of these zones, sorted; the result does not depend on the order of
    /// impacts. *Cost* a pass over the nodes in zones. *Panics* for nodes that do not exist.
    pub fn slow(
        &mut self,
        impacts: &[(f64, Pair)],
        mass: impl Fn(u32) -> f64,
        by: &mut [[f64; 3]],
    ) -> Vec<u32> {
        for (_, pair) in impacts {
            let [first, rest @ ..] = pair.nodes();
            rest.into_iter().for_each(|node| self.join(first, node));
            self.members.extend(pair.nodes());
        }
        self.members.sort_unstable();
        self.members.dedup();
        let mut first = vec![f64::INFINITY; self.parent.len()];
        for (t, pair) in impacts {
            let root = self.root(pair.nodes()[0]) as usize;
            first[root] = first[root].min(*t);
        }
        // Nodes with the number of their zone.
        let mut slowed = Vec::with_capacity(self.members.len());
        for k in 0..self.members.len() {
            let (node, root) = (self.members[k], self.root(self.members[k]));
            if first[root as usize] < f64::INFINITY {
                slowed.push((node, root));
            }
        }
        // Σ m u, Σ m, and the same with masses of 1 over held nodes.
        let mut sums = vec![[[0.0; 4]; 2]; self.parent.len()];
        for &(node, root) in &slowed {
            let (m, u) = (mass(node), by[node as usize]);
            let (sum, m) = if m.is_finite() { (0, m) } else { (1, 1.0) };
            let sum = &mut sums[root as usize][sum];
            (0..3).for_each(|k| sum[k] += m * u[k]);
            sum[3] += m;
        }
        for &(node, root) in slowed.iter().filter(|(node, _)| mass(*node).is_finite()) {
            let [free, held] = sums[root as usize];
            let [x, y, z, m] = if held[3] > 0.0 { held } else { free };
            let (mean, t) = ([x / m, y / m, z / m], first[root as usize]);
            let u = &mut by[node as usize];
            (0..3).for_each(|k| u[k] = mean[k] + t * (u[k] - mean[k])); // (1)
        }
        slowed.into_iter().map(|(node, _)| node).collect()
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}
