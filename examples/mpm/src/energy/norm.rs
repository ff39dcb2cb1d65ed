//! The node-wise characteristic norm of the gradient: Wang et al. 2020 (HOT), §5.2.
//!
//! > ‖ĝ‖ ≤ ε √n,    ĝ_i = g_i / (24 Δx² ξ_i Δt)    (9)

use coarsen::mesh::vector::{dot, sub};
use coarsen::optimize::grid_weights;

use super::{Given, Increment};
use crate::fault::StepError;

impl Increment<'_> {
    /// The weights of the characteristic norm, 1 / (24 Δx² ξ_i Δt √n) for each unknown, and the largest
    /// characteristic impulse, kg m/s: Wang et al. 2020, Eq. 9.
    ///
    /// # Errors
    /// [`StepError::Stiffness`] for a node whose characteristic impulse is not positive and finite.
    pub fn weights(&self) -> Result<(Vec<f64>, f64), StepError> {
        let Given { nodes, constraints, .. } = self.given;
        let stiffness: Vec<f64> =
            constraints.free.iter().map(|&node| nodes.stiffness[node as usize]).collect();
        if stiffness.is_empty() {
            return Ok((Vec::new(), 0.0));
        }
        let stiffest = stiffness.iter().fold(0.0, |m: f64, xi| m.max(*xi));
        match grid_weights(&stiffness, self.given.grid.dx, self.given.dt, 3) {
            Ok(weights) => Ok((weights, self.impulse(stiffest))),
            Err(_) => {
                let slot = stiffness.iter().position(|xi| !self.is_measure(*xi)).unwrap_or_default();
                Err(self.without_norm(constraints.free[slot] as usize))
            }
        }
    }

    /// The characteristic impulse of a stiffness, kg m/s.
    fn impulse(&self, stiffness: f64) -> f64 {
        let Given { grid, dt, .. } = self.given;
        24.0 * grid.dx * grid.dx * dt * stiffness
    }

    /// Whether the characteristic impulse of a stiffness is positive and finite.
    fn is_measure(&self, stiffness: f64) -> bool {
        let impulse = self.impulse(stiffness);
        impulse > 0.0 && impulse.is_finite()
    }

    /// The error for a node without a characteristic impulse. It names the nearest particle whose own stiffness has none
    /// either, or the nearest of all.
    fn without_norm(&self, node: usize) -> StepError {
        let Given { nodes, particles, bodies, .. } = self.given;
        let (x, stiffness) = (nodes.positions[node], nodes.stiffness[node]);
        let rank = |p: &usize| {
            let away = sub(particles[*p].x, x);
            (self.is_measure(bodies[particles[*p].body as usize].lame.at_rest()), dot(away, away))
        };
        let order = |a: &usize, b: &usize| {
            let ((good, near), (other, far)) = (rank(a), rank(b));
            good.cmp(&other).then(near.total_cmp(&far))
        };
        let particle = (0..particles.len()).min_by(order).unwrap_or_default();
        let (impulse, body) = (self.impulse(stiffness), particles[particle].body);
        StepError::Stiffness { x, stiffness, impulse, particle, body }
    }
}
