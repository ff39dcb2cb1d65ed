//! Friction on colliders, with the normal forces of the last step.
//!
//! | symbol | here | |
//! |---|---|---|
//! | s | `slip` | P (v − w) with P = I − n nᵀ: how fast a node slides on the collider, whose velocity is w |
//! | J | `Grip::most` | μ times the normal impulse |
//! | ε | [`STICKING_SPEED`](coarsen::contact::friction::STICKING_SPEED) | the speed below which friction is softer than Coulomb's |
//!
//! > D = Σ J φ(‖s‖),  φ' = 1 for ‖s‖ ≥ ε, else 2 ‖s‖/ε − ‖s‖²/ε²,  ∂D/∂v = J φ' s/‖s‖,
//! > ∂²D/∂v² = J (φ'' ŝ ŝᵀ + φ'/‖s‖ (P − ŝ ŝᵀ)),  ŝ = s/‖s‖
//!
//! Hessians that are projected take J φ'/‖s‖ P in place of ∂²D/∂v². Since φ'/‖s‖ does not rise with ‖s‖, the parabola
//!
//! > D(v) ≤ D(v₀) + J φ'(‖s₀‖)/‖s₀‖ ½ (‖s‖² − ‖s₀‖²)    (2)
//!
//! lies above D and touches it at v₀. ∂²D/∂v² itself has no stiffness along s at ‖s‖ ≥ ε, so that a step of Newton's
//! method carries nodes past ‖s‖ = 0, and the line search then cuts the steps of all nodes. *Reference* for (2): Hunter
//! & Lange 2004, "A tutorial on MM algorithms", The American Statistician 58(1), §3.3.
//!
//! D is convex. The law is that of [`coarsen::contact::friction`], for velocities in place of slips. *Reference* Li et al. 2020,
//! "Incremental potential contact", ACM TOG 39(4), §5.

use coarsen::contact::friction::{STICKING_SPEED, across, friction_terms, majoriser, stiffness};
use coarsen::mesh::vector::sub;

use crate::constraints::{Constraints, Grip};
use crate::particles::Matrix;

use super::{Given, Increment};

/// φ, φ'/‖s‖ and φ'' at a speed.
fn law(speed: f64) -> [f64; 3] {
    friction_terms(speed, STICKING_SPEED)
}

impl Grip {
    /// s and ‖s‖ at a velocity of the node.
    fn slip(&self, v: [f64; 3]) -> ([f64; 3], f64) {
        across(sub(v, self.velocity), self.normal)
    }

    /// ∂²D/∂v² at a velocity of the node, or the Hessian of (2) if `project`.
    fn stiffness(&self, v: [f64; 3], project: bool) -> Matrix {
        let (slip, speed) = self.slip(v);
        if !project {
            return stiffness(slip, speed, self.normal, self.most, STICKING_SPEED);
        }
        majoriser(speed, self.normal, self.most, STICKING_SPEED) // (2)
    }
}

impl Constraints {
    /// ∂²D/∂v² of each free node, or the Hessian of (2) if `project`; empty without friction.
    pub fn stiffness_of_friction(&self, velocities: &[[f64; 3]], project: bool) -> Vec<Matrix> {
        let mut blocks = vec![Matrix::default(); if self.grips.is_empty() { 0 } else { self.free.len() }];
        for grip in &self.grips {
            let node = grip.node as usize;
            blocks[self.slot[node] as usize] = grip.stiffness(velocities[node], project);
        }
        blocks
    }
}

impl Increment<'_> {
    /// D at the last velocities.
    pub(super) fn friction(&self) -> f64 {
        let grips = self.given.constraints.grips.iter();
        grips.map(|grip| grip.most * law(grip.slip(self.velocities[grip.node as usize]).1)[0]).sum()
    }

    /// Adds ∂D/∂v at the last velocities.
    pub(super) fn rub(&self, residual: &mut [[f64; 3]]) {
        for grip in &self.given.constraints.grips {
            let (slip, speed) = grip.slip(self.velocities[grip.node as usize]);
            let factor = grip.most * law(speed)[1];
            (0..3).for_each(|k| residual[grip.node as usize][k] += factor * slip[k]);
        }
    }

    /// What colliders do by friction in a step, J: the impulses times the velocities of the colliders.
    pub(super) fn work_of_friction(&self) -> f64 {
        let of = |grip: &Grip| {
            let (slip, speed) = grip.slip(self.velocities[grip.node as usize]);
            let factor = grip.most * law(speed)[1];
            (0..3).map(|k| -factor * slip[k] * grip.velocity[k]).sum::<f64>()
        };
        self.given.constraints.grips.iter().map(of).sum()
    }

    /// For each node with friction at the increments z its coordinates, and μ times the normal force on it, N. The next step
    /// takes them.
    pub fn pressures(&mut self, z: &[f64]) -> Vec<([i32; 3], f64)> {
        let Given { grid, nodes, constraints, dt, .. } = self.given;
        if constraints.grips.is_empty() {
            return Vec::new();
        }
        self.evaluate(z);
        let residual = self.residual();
        let of = |grip: &Grip| {
            let node = grip.node as usize;
            let pressed: f64 = (0..3).map(|k| residual[node][k] * grip.share[k]).sum();
            let place = nodes.positions[node].map(|x| (x / grid.dx).round() as i32);
            (place, grip.friction * pressed.max(0.0) / dt)
        };
        constraints.grips.iter().map(of).collect()
    }
}
