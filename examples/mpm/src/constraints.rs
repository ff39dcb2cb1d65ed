//! What colliders prescribe at the nodes of a step.
//!
//! The set of held nodes is found once, at the start of a solve, and does not change during the solve.

use coarsen::parallel;

use crate::collider::{Collider, Kind};
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
}

/// A collider in a step.
struct Moved<'a> {
    collider: &'a Collider,
    before: Pose,
    after: Pose,
}

impl Constraints {
    /// The constraints of a step from `time` to `time + dt`.
    pub fn new(
        nodes: &Nodes,
        colliders: &[Collider],
        dx: f64,
        [time, dt]: [f64; 2],
        gravity: [f64; 3],
    ) -> Self {
        let moved: Vec<Moved<'_>> = colliders
            .iter()
            .filter(|collider| collider.exists(time))
            .map(|collider| Moved { collider, before: collider.pose(time), after: collider.pose(time + dt) })
            .collect();
        let mut holds = vec![Hold::Free; nodes.len()];
        let leaf = |(positions, (velocities, holds)): (&[[f64; 3]], (&[[f64; 3]], &mut [Hold]))| {
            for ((x, v), hold) in positions.iter().zip(velocities).zip(holds) {
                *hold = meet(&moved, *x, *v, [dx, dt], gravity);
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
        Self { holds, free, slot, slips }
    }
}

/// The motion that colliders prescribe at a node.
fn meet(moved: &[Moved<'_>], x: [f64; 3], v: [f64; 3], [dx, dt]: [f64; 2], gravity: [f64; 3]) -> Hold {
    let mut hold = Hold::Free;
    for Moved { collider, before, after } in moved {
        let own = before.invert(x);
        if collider.distance(own, dx) >= 0.0 {
            continue;
        }
        let ahead = after.apply(own);
        let velocity: [f64; 3] = std::array::from_fn(|k| (ahead[k] - x[k]) / dt);
        if collider.kind == Kind::Sticky {
            return Hold::Fixed(velocity);
        }
        let normal = before.direct(collider.shape.normal(own, 1e-3 * dx));
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
