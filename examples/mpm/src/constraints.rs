//! What colliders prescribe at the nodes of a step.
//!
//! The set of held nodes is found once, at the start of a solve, and does not change during the solve.

use std::collections::HashMap;

use coarsen::parallel;

use crate::collider::{Kind, Obstacle};
use crate::grid::{NONE, Nodes};
use crate::particles::{IDENTITY, Matrix, apply};
use crate::shape::Pose;

/// The motion of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hold {
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
    /// The outward normal of the collider.
    pub normal: [f64; 3],
    /// The velocity of the collider.
    pub velocity: [f64; 3],
}

/// The motion of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// The motion of each node.
    pub holds: Vec<Hold>,
    /// The nodes with unknowns.
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
        let mut holds = vec![Hold::Free; nodes.len()];
        let leaf = |(positions, (velocities, holds)): (&[[f64; 3]], (&[[f64; 3]], &mut [Hold]))| {
            for ((x, v), hold) in positions.iter().zip(velocities).zip(holds) {
                *hold = meet(&moved, *x, *v, dt, gravity);
            }
        };
        let many = parallel::worth(64 * nodes.len() * moved.len());
        let data = (&nodes.positions[..], (&nodes.velocities[..], &mut holds[..]));
        parallel::each(data, 1024, many, &leaf);
        let mut free = Vec::with_capacity(holds.len());
        let number = |(node, hold): (usize, &Hold)| {
            if matches!(hold, Hold::Fixed(_)) {
                return NONE;
            }
            free.push(node as u32);
            free.len() as u32 - 1
        };
        let slot = holds.iter().enumerate().map(number).collect();
        let slips = holds.iter().any(|hold| matches!(hold, Hold::Slip { .. }));
        let rough = moved.iter().any(|moved| moved.obstacle.collider.friction > 0.0);
        let grip = |(node, hold): (usize, &Hold)| match hold {
            Hold::Slip { .. } => rub(&moved, node as u32, nodes.positions[node], dt),
            _ => None,
        };
        let grips = if rough { holds.iter().enumerate().filter_map(grip).collect() } else { Vec::new() };
        Self { holds, free, slot, slips, grips }
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

/// The grip on the first collider with friction that holds a slipping node.
fn rub(moved: &[Moved<'_>], node: u32, x: [f64; 3], dt: f64) -> Option<Grip> {
    let rough = moved.iter().filter(|moved| {
        let collider = &moved.obstacle.collider;
        collider.friction > 0.0 && collider.kind != Kind::Sticky
    });
    let grip = |moved: &Moved<'_>| {
        let (velocity, normal) = moved.touch(x, dt)?;
        Some(Grip { node, friction: moved.obstacle.collider.friction, most: 0.0, normal: normal(), velocity })
    };
    rough.map(grip).find_map(|grip| grip)
}

/// The motion that colliders prescribe at a node.
fn meet(moved: &[Moved<'_>], x: [f64; 3], v: [f64; 3], dt: f64, gravity: [f64; 3]) -> Hold {
    let mut hold = Hold::Free;
    for moved in moved {
        let collider = &moved.obstacle.collider;
        let Some((velocity, normal)) = moved.touch(x, dt) else { continue };
        if collider.kind == Kind::Sticky {
            return Hold::Fixed(velocity);
        }
        let normal = normal();
        let leaves: f64 = (0..3).map(|k| (v[k] + dt * gravity[k] - velocity[k]) * normal[k]).sum();
        if collider.kind == Kind::Separating && leaves > 0.0 {
            continue;
        }
        let (mut free, mut given) = match hold {
            Hold::Slip { free, given } => (free, given),
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
        hold = Hold::Slip { free, given };
        let left = free[0][0] + free[1][1] + free[2][2];
        if left < 0.5 {
            return Hold::Fixed(std::array::from_fn(|k| v[k] + given[k]));
        }
    }
    hold
}
