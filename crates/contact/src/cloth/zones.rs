//! Impact zones: the displacements of nodes in a step are changed so that pairs that would meet stay apart.
//!
//! | symbol | here | |
//! |---|---|---|
//! | m_i, u_i | `mass`, `dx` | mass of a node, infinite for a held node, and its displacement in the step |
//! | w, n | `weights`, `normal` | weights and direction of the nearest points of a pair at the time of its impact |
//! | s | `least` | how far the nearest points may approach each other at most, −s |
//! | λ | `push` | the impulse of a pair times the time step |
//!
//! > minimise ½ Σ m_i ‖u_i − u_i⁰‖²  so that  Σ w_a n · u_a ≥ s for each pair    (1)
//! > λ ← max(0, λ + (s − Σ w_a n · u_a) / Σ w_a² / m_a),  u_a ← u_a + Δλ w_a n / m_a    (2)
//!
//! (2) is a sweep of projected Gauss-Seidel over the pairs. Impulses of a pair add up to zero, and the displacement across n
//! stays. Afterwards the pairs are searched again, along the new displacements.
//!
//! What is left after some rounds is slowed:
//!
//! > u_i ← c + t (u_i − c)    (3)
//!
//! for the nodes of pairs that share nodes, with the mean c of their displacements, weighted by mass, and the first time t of an
//! impact among them.
//!
//! Harmon et al. 2008, "Robust treatment of simultaneous collisions", ACM TOG 27(3); Tang et al. 2018, "I-Cloth", ACM
//! TOG 37(6). Deviations: pairs are kept apart before they meet, and limits are inequalities, so that pairs may part. (1) is linear:
//! w and n are those of the time of impact during all sweeps, and only the next round searches for pairs again. P-Cloth, §4.3, keeps
//! the gap of each pair nonlinear and minimises an augmented Lagrangian by gradient descent, as I-Cloth.

use coarsen_mesh::vector::dot;

use super::contact::{ClothContact, EXACT, KEPT};
use super::distance::gap;
use crate::{Pair, Search};

/// The most sweeps of a round.
const SWEEPS: usize = 60;

/// A limit of displacements: Σ w n · u ≥ s.
#[derive(Clone, Copy, Debug)]
struct Limit {
    nodes: [u32; 4],
    weights: [f64; 4],
    normal: [f64; 3],
    least: f64,
    push: f64,
}

/// The limits of a step.
///
/// ```
/// use coarsen_contact::{ClothContact, ImpactZones};
/// // A vertex 0.2 above a triangle, with a thickness of 0.2; it would move down by 1.
/// let x = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.2], [2.0, 1.0, 2.2], [1.0, 2.0, 2.2]];
/// let mut contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x, 0.2, 50.0)?;
/// let mut dx = [[0.0; 3]; 6];
/// dx[3] = [0.0, 0.0, -1.0];
/// let impacts = contact.impacts(x.as_flattened(), &dx)?;
/// let mut zones = ImpactZones::default();
/// impacts.iter().for_each(|impact| zones.add_impact(&contact, *impact, &dx));
/// zones.separate(|_| 1.0, contact.thickness(), &mut dx);
/// let below = (dx[0][2] + dx[1][2] + dx[2][2]) / 3.0;
/// assert!((dx[3][2] - below + 0.1).abs() < 0.01); // half of the thickness is left
/// assert!((dx.iter().map(|u| u[2]).sum::<f64>() + 1.0).abs() < 1e-12); // the momentum stays
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ImpactZones {
    limits: Vec<Limit>,
}

impl ImpactZones {
    /// Adds the limit of a pair that would meet at a time, as [`ClothContact::impacts`] returns it for these displacements.
    /// *Panics* if the last detection of the contact failed, or displacements are missing.
    pub fn add_impact<S: Search>(
        &mut self,
        contact: &ClothContact<S>,
        (t, pair): (f64, Pair),
        dx: &[[f64; 3]],
    ) {
        let nodes = pair.nodes();
        let x = nodes.map(|node| contact.positions()[node as usize]);
        let at = |a: usize| [0, 1, 2].map(|k| x[a][k] + t * dx[nodes[a] as usize][k]);
        let (start, then) = (gap(&pair, &x).distance, gap(&pair, &[at(0), at(1), at(2), at(3)]));
        if then.distance > 0.0 {
            let normal = then.vector.map(|v| v / then.distance);
            let apart: f64 = then.weights.iter().zip(&x).map(|(w, x)| w * dot(normal, *x)).sum();
            let [low, high] = KEPT.map(|share| share * contact.thickness());
            let least = start.clamp(low, high) - apart;
            self.limits.push(Limit { nodes, weights: then.weights, normal, least, push: 0.0 });
        }
    }

    /// Adds the limit n · u ≥ s of the displacement of a node, for an obstacle with the normal n.
    pub fn add_limit(&mut self, node: u32, normal: [f64; 3], least: f64) {
        let weights = [1.0, 0.0, 0.0, 0.0];
        self.limits.push(Limit { nodes: [node; 4], weights, normal, least, push: 0.0 });
    }

    /// Changes the displacements by sweeps (2) over all limits, in their order, until each is met up to a fiftieth of the
    /// thickness, but at most 60 times. Masses are positive; a mass of 0 gives displacements that are NaN. *Panics* for nodes
    /// that do not exist.
    pub fn separate(&mut self, mass: impl Fn(u32) -> f64, thickness: f64, dx: &mut [[f64; 3]]) {
        for _ in 0..SWEEPS {
            if self.round(&mass, dx) <= EXACT * thickness {
                return;
            }
        }
    }

    /// One sweep (2), a round of inelastic impulses as Bridson, Fedkiw & Anderson 2002 take (§7.4): each pair in turn
    /// ends the approach of its nearest points that its limit forbids. Returns the largest change of such an
    /// approach. Where pairs do not share nodes, one round meets all limits; elsewhere rounds undo one another in
    /// part, and [`separate`](Self::separate) repeats them. Masses and *panics* as there.
    pub fn round(&mut self, mass: impl Fn(u32) -> f64, dx: &mut [[f64; 3]]) -> f64 {
        let mut worst = 0.0_f64;
        for Limit { nodes, weights, normal, least, push } in &mut self.limits {
            let ends = || nodes.iter().zip(weights.iter()).filter(|(_, w)| **w != 0.0);
            let (mut displacement, mut ease) = (0.0, 0.0);
            for (node, w) in ends() {
                displacement += w * dot(*normal, dx[*node as usize]);
                ease += w * w / mass(*node);
            }
            if ease == 0.0 {
                continue; // all nodes are held
            }
            let before = *push;
            *push = (before + (*least - displacement) / ease).max(0.0); // (2)
            let change = *push - before;
            worst = worst.max((change * ease).abs());
            for (node, w) in ends() {
                let along = change * w / mass(*node);
                let to = &mut dx[*node as usize];
                (0..3).for_each(|k| to[k] += along * normal[k]); // (2)
            }
        }
        worst
    }

    /// Ends the relative motion of pairs that meet (3), whatever the limits are. Momentum stays; the mean of a zone
    /// with held nodes is theirs. Returns the nodes, sorted. *Cost* sorts of the pairs. *Panics* for nodes that do
    /// not exist.
    pub fn rigid_fail_safe(
        impacts: &[(f64, Pair)],
        mass: impl Fn(u32) -> f64,
        dx: &mut [[f64; 3]],
    ) -> Vec<u32> {
        let mut nodes: Vec<u32> = impacts.iter().flat_map(|impact| impact.1.nodes()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node: u32| nodes.partition_point(|other| *other < node);
        // For each node an earlier node of its zone, or itself if it is the first.
        let mut zone: Vec<usize> = (0..nodes.len()).collect();
        let first_of = |zone: &mut [usize], mut k: usize| {
            while zone[k] != k {
                zone[k] = zone[zone[k]];
                k = zone[k];
            }
            k
        };
        for (_, pair) in impacts {
            let [own, others @ ..] = pair.nodes().map(place);
            for other in others {
                let [a, b] = [own, other].map(|k| first_of(&mut zone, k));
                zone[a.max(b)] = a.min(b);
            }
        }
        (0..zone.len()).for_each(|k| zone[k] = zone[zone[k]]); // earlier ones are done
        let mut first = vec![1.0_f64; nodes.len()];
        for (t, pair) in impacts {
            let zone = zone[place(pair.nodes()[0])];
            first[zone] = first[zone].min(*t);
        }
        // Σ m u, Σ m of free and of held nodes; a held node counts 1.
        let mut sums = vec![[[0.0; 4]; 2]; nodes.len()];
        for (node, zone) in nodes.iter().zip(&zone) {
            let (m, u) = (mass(*node), dx[*node as usize]);
            let (kind, m) = if m.is_finite() { (0, m) } else { (1, 1.0) };
            let sum = &mut sums[*zone][kind];
            (0..3).for_each(|k| sum[k] += m * u[k]);
            sum[3] += m;
        }
        for (node, zone) in nodes.iter().zip(&zone).filter(|(node, _)| mass(**node).is_finite()) {
            let [free, held] = sums[*zone];
            let [x, y, z, m] = if held[3] > 0.0 { held } else { free };
            let (mean, t, u) = ([x / m, y / m, z / m], first[*zone], &mut dx[*node as usize]);
            (0..3).for_each(|k| u[k] = mean[k] + t * (u[k] - mean[k])); // (3)
        }
        nodes
    }

    /// The nodes with limits, sorted.
    pub fn nodes(&self) -> Vec<u32> {
        let ends = |limit: &Limit| {
            let used = limit.nodes.into_iter().zip(limit.weights).filter(|(_, w)| *w != 0.0);
            used.map(|(node, _)| node).collect::<Vec<_>>()
        };
        let mut all: Vec<u32> = self.limits.iter().flat_map(ends).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
