//! What colliders prescribe at the nodes of a step.
//!
//! The set of held nodes is found once, at the start of a solve, and does not change during the solve.

use std::collections::HashMap;

use coarsen::contact::Aabb;
use coarsen::parallel;

use crate::collider::{Kind, Obstacle};
use crate::grid::{NONE, Nodes};
use crate::particles::{IDENTITY, Matrix, apply};
use crate::shape::Pose;

/// The motion of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeConstraint {
    /// All directions are free.
    Free,
    /// Some directions are free: Δv = S z + `given`.
    Slip {
        /// S, the projection onto the free directions.
        free: Matrix,
        /// The part of Δv in the held directions.
        given: [f64; 3],
    },
    /// The velocity vⁿ⁺¹ is given.
    Fixed([f64; 3]),
}

/// A node that rubs on a collider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grip {
    /// The node.
    pub node: u32,
    /// μ.
    pub friction: f64,
    /// μ times the normal impulse of the step, as far as it is known at its start, kg m/s.
    pub most: f64,
    /// The outward normal n of the collider.
    pub normal: [f64; 3],
    /// m, with which m · r is the impulse of this collider along n, of an impulse r of all colliders: n, or
    /// (n − (n · k) k) / (1 − (n · k)²) beside another one with the normal k.
    pub share: [f64; 3],
    /// The velocity of the collider.
    pub velocity: [f64; 3],
}

/// The motion of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// The motion of each node.
    pub by_node: Vec<NodeConstraint>,
    /// The nodes with unknowns, layer by layer along the longest axis, and in their order in a layer.
    pub free: Vec<u32>,
    /// The number of each node among those; [`NONE`] for a fixed node.
    pub slot: Vec<u32>,
    /// Whether a node slips.
    pub slips: bool,
    /// The nodes with friction.
    pub grips: Vec<Grip>,
}

/// A collider in a step.
struct Moved<'a> {
    obstacle: &'a Obstacle,
    before: Pose,
    after: Pose,
}

impl Constraints {
    /// The constraints of a step from `time` to `time + dt`.
    pub fn new(nodes: &Nodes, obstacles: &[Obstacle], [time, dt]: [f64; 2], gravity: [f64; 3]) -> Self {
        let mut moved = Vec::with_capacity(obstacles.len());
        for obstacle in obstacles.iter().filter(|obstacle| obstacle.collider.exists(time)) {
            let pose = |time| obstacle.collider.pose(time);
            moved.push(Moved { obstacle, before: pose(time), after: pose(time + dt) });
        }
        let mut met = vec![(NodeConstraint::Free, None); nodes.len()];
        let leaf = |(positions, (velocities, met)): (&[[f64; 3]], (&[[f64; 3]], &mut [Met]))| {
            for ((x, v), met) in positions.iter().zip(velocities).zip(met) {
                *met = meet(&moved, *x, *v, dt, gravity);
            }
        };
        let many = parallel::worth(64 * nodes.len() * moved.len());
        let data = (&nodes.positions[..], (&nodes.velocities[..], &mut met[..]));
        parallel::each(data, 1024, many, &leaf);
        let grip = |(node, (_, rough)): (u32, &Met)| rough.map(|grip| Grip { node, ..grip });
        let grips = (0..).zip(&met).filter_map(grip).collect();
        let by_node: Vec<NodeConstraint> = met.into_iter().map(|(constraint, _)| constraint).collect();
        let moves = |(node, constraint): (u32, &NodeConstraint)| {
            (!matches!(constraint, NodeConstraint::Fixed(_))).then_some(node)
        };
        let mut free: Vec<u32> = (0..).zip(&by_node).filter_map(moves).collect();
        in_layers(&mut free, &nodes.positions);
        let mut slot = vec![NONE; by_node.len()];
        (0..).zip(&free).for_each(|(number, &node)| slot[node as usize] = number);
        let slips = by_node.iter().any(|constraint| matches!(constraint, NodeConstraint::Slip { .. }));
        Self { by_node, free, slot, slips, grips }
    }

    /// The places among the unknowns of some nodes; [`NONE`] where there is no node, or a fixed one.
    pub fn slots<const N: usize>(&self, nodes: &[u32; N]) -> [u32; N] {
        nodes.map(|node| if node == NONE { NONE } else { self.slot[node as usize] })
    }

    /// Sets the impulses of friction from the forces of the last step at nodes of a grid with spacing Δx: μ times the
    /// normal force, by the coordinates of the node. A node that did not touch then has no friction in this step.
    pub fn press(&mut self, nodes: &Nodes, dx: f64, dt: f64, forces: &[([i32; 3], f64)]) {
        let known: HashMap<[i32; 3], f64> = forces.iter().copied().collect();
        for grip in &mut self.grips {
            let place = nodes.positions[grip.node as usize].map(|x| (x / dx).round() as i32);
            grip.most = dt * known.get(&place).copied().unwrap_or(0.0);
        }
    }
}

/// Sorts nodes into layers along the longest axis. A part of this order is then coupled to the parts beside it only, and
/// Gauss-Seidel sweeps run on several threads; parts of a Morton order touch nearly all others.
fn in_layers(free: &mut [u32], positions: &[[f64; 3]]) {
    let Aabb { low, high } = Aabb::of(free.iter().map(|&node| positions[node as usize]));
    let longest = (1..3).fold(0, |m, k| if high[k] - low[k] > high[m] - low[m] { k } else { m });
    let layer = |node: u32| positions[node as usize][longest];
    free.sort_unstable_by(|&a, &b| layer(a).total_cmp(&layer(b)).then(a.cmp(&b)));
}

impl Moved<'_> {
    /// The velocity of the collider at x, and its outward normal; `None` outside.
    fn touch(&self, x: [f64; 3], dt: f64) -> Option<([f64; 3], impl FnOnce() -> [f64; 3])> {
        let own = self.before.invert(x);
        if self.obstacle.distance(own) >= 0.0 {
            return None;
        }
        let ahead = self.after.apply(own);
        let velocity = std::array::from_fn(|k| (ahead[k] - x[k]) / dt);
        Some((velocity, move || self.before.direct(self.obstacle.normal(own))))
    }
}

/// n − (n · k) k over 1 − (n · k)², which is orthogonal to k.
fn share(n: [f64; 3], k: [f64; 3]) -> [f64; 3] {
    let along: f64 = (0..3).map(|i| n[i] * k[i]).sum();
    std::array::from_fn(|i| (n[i] - along * k[i]) / (1.0 - along * along))
}

/// The motion of a node, and its grip if it slips on a collider with friction.
type Met = (NodeConstraint, Option<Grip>);

/// The motion that colliders prescribe at a node, and the grip on the first collider with friction among those that hold
/// it. The grip has no number of a node yet.
fn meet(moved: &[Moved<'_>], x: [f64; 3], v: [f64; 3], dt: f64, gravity: [f64; 3]) -> Met {
    let (mut constraint, mut grip, mut first) = (NodeConstraint::Free, None::<Grip>, None::<[f64; 3]>);
    for moved in moved {
        let collider = &moved.obstacle.collider;
        let Some((velocity, normal)) = moved.touch(x, dt) else { continue };
        if collider.kind == Kind::Sticky {
            return (NodeConstraint::Fixed(velocity), None);
        }
        let normal = normal();
        let leaves: f64 = (0..3).map(|k| (v[k] + dt * gravity[k] - velocity[k]) * normal[k]).sum();
        if collider.kind == Kind::Separating && leaves > 0.0 {
            continue;
        }
        let (mut free, mut given) = match constraint {
            NodeConstraint::Slip { free, given } => (free, given),
            _ => (IDENTITY, [0.0; 3]),
        };
        // Only the part of the normal that no earlier collider holds.
        let part = apply(&free, normal);
        let size = part.iter().map(|p| p * p).sum::<f64>().sqrt();
        if size < 0.1 {
            // Nearly the same wall, or an opposite one: the first wall decides.
            continue;
        }
        let n = part.map(|p| p / size);
        let jump: f64 = (0..3).map(|k| (velocity[k] - v[k] - given[k]) * normal[k]).sum::<f64>() / size;
        for i in 0..3 {
            given[i] += jump * n[i];
            (0..3).for_each(|j| free[i][j] -= n[i] * n[j]);
        }
        constraint = NodeConstraint::Slip { free, given };
        let friction = collider.friction;
        if friction > 0.0 && grip.is_none() {
            let share = first.map_or(normal, |other| share(normal, other));
            grip = Some(Grip { node: NONE, friction, most: 0.0, normal, share, velocity });
        } else if let Some(grip) = &mut grip {
            grip.share = share(grip.normal, normal);
        }
        first = first.or(Some(normal));
        let left = free[0][0] + free[1][1] + free[2][2];
        if left < 0.5 {
            return (NodeConstraint::Fixed(std::array::from_fn(|k| v[k] + given[k])), None);
        }
    }
    (constraint, grip)
}
