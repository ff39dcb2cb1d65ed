//! The Hessian, gathered row by row from the particles around each node.
//!
//! > H_ij = Σ_p Δt² V_p Σ_kl ∂²ψ/∂F'_k ∂F'_l ∇w_ip,k ∇w_jp,l + δ_ij m_i I
//!
//! where F' = F_p F_pⁿ⁻¹ is the deformation of the step. Rows are independent, so no atomics are needed, and
//! the order of the sums is that of the cells and particles. Only blocks at offsets from 62 on are summed; the
//! others are their transposes. *Reference* Wang et al. 2020 (HOT), §8 names gathering as future work.

use std::ops::Range;

use coarsen::elastic::{Density, FixedCoRotated, Lame, Modes};
use coarsen::parallel;
use coarsen::sparse::{OwnedSystem, SparseError};
use coarsen_core::simd;

use crate::constraints::Constraints;
use crate::grid::{Grid, Nodes, each_block};
use crate::particles::{Matrix, mul_transposed};
use crate::weights::NODES;

use super::gather::Gather;
use super::stencil::{Block, Stencil, Stiffness};
use super::{Given, Increment};

/// The Hessian of one set of nodes.
#[derive(Clone, Debug)]
pub(super) struct Hessian {
    pub(super) stencil: Stencil,
    pub(super) system: OwnedSystem<f64>,
    /// The stiffness of each particle.
    pub(super) stiffness: Vec<Stiffness>,
    /// The blocks at offsets from 62 on of all rows, in the order of the nodes.
    pub(super) upper: Vec<Block>,
}

/// The memory of a Hessian.
#[derive(Default)]
pub(super) struct Memory {
    stiffness: Vec<Stiffness>,
    upper: Vec<Block>,
}

impl Hessian {
    /// Returns a matrix with the pattern of the free nodes, without its values.
    ///
    /// # Errors
    /// Those of the sparse pattern.
    pub(super) fn new(grid: &Grid, nodes: &Nodes, constraints: &Constraints) -> Result<Self, SparseError> {
        Self::in_memory(grid, nodes, constraints, Memory::default())
    }

    /// As [`new`](Self::new), in the memory of another Hessian.
    pub(super) fn in_memory(
        grid: &Grid,
        nodes: &Nodes,
        constraints: &Constraints,
        memory: Memory,
    ) -> Result<Self, SparseError> {
        let Memory { stiffness, upper } = memory;
        let stencil = Stencil::new(grid, nodes, constraints)?;
        let system = stencil.system(nodes, constraints)?;
        Ok(Self { stencil, system, stiffness, upper })
    }

    /// The memory, for another Hessian.
    pub(super) fn into_memory(self) -> Memory {
        Memory { stiffness: self.stiffness, upper: self.upper }
    }

    /// Computes the system from the stiffness of the particles, of `given` with the nodes of this Hessian. `rubs` has
    /// the stiffness of friction of each free node; it is empty without friction.
    pub(super) fn assemble(&mut self, given: &Given<'_>, rubs: &[Matrix]) {
        self.gather(given);
        self.complete(given, rubs);
    }

    /// Computes the blocks at offsets from 62 on, without inertia.
    ///
    /// *Cost* 27 visits of each particle, with five lines of three blocks in the mean, of which 14 are used.
    fn gather(&mut self, given: &Given<'_>) {
        let Given { grid, nodes, particles, constraints, .. } = *given;
        let Self { stencil: Stencil { ends, places, .. }, stiffness, upper, .. } = self;
        upper.resize(ends.last().copied().unwrap_or(0), [0.0; 9]);
        let (mut parts, mut rest, mut start) = (Vec::with_capacity(ends.len()), &mut upper[..], 0);
        for end in ends.iter() {
            let (part, after) = rest.split_at_mut(end - start);
            parts.push(part);
            (rest, start) = (after, *end);
        }
        let (stiffness, places) = (&stiffness[..], &places[..]);
        let leaf = |(blocks, parts): (Range<usize>, &mut [&mut [Block]])| {
            for (block, part) in blocks.zip(parts) {
                let slots = constraints.slots(&nodes.number[block]);
                simd::run(Gather { grid, block, slots, places, stiffness, to: part });
            }
        };
        let many = parallel::worth(NODES * NODES * particles.len());
        parallel::each((0..parts.len(), &mut parts[..]), 1, many, &leaf);
    }
}

/// The stiffness of a particle from the modes of ψ at F; negative eigenvalues become 0 if `project`.
fn stiffness(modes: &Modes, before: &Matrix, scale: f64, project: bool) -> Stiffness {
    let mut sum = Stiffness::default();
    for (value, mode) in modes.values.iter().zip(&modes.matrices) {
        let value = scale * if project { value.max(0.0) } else { *value };
        if value == 0.0 {
            continue;
        }
        let q = mul_transposed(mode, before);
        for (k, l) in (0..9).map(|kl| (kl / 3, kl % 3)) {
            for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
                sum[k][l][3 * i + j] += value * q[i][k] * q[j][l];
            }
        }
    }
    sum
}

impl Increment<'_> {
    /// The stiffness of all particles at the z of the last system.
    pub fn stiffness(&self) -> &[Stiffness] {
        &self.hessian.stiffness
    }

    /// Computes the blocks on and above the diagonal again from [`stiffness`](Self::stiffness), as every system does.
    pub fn gather(&mut self) {
        self.hessian.gather(&self.given);
    }

    /// The blocks of the last [`gather`](Self::gather), row by row in the order of
    /// nodes and offsets; without inertia.
    pub fn gathered(&self) -> &[Block] {
        &self.hessian.upper
    }

    /// Computes the stiffness of all particles at the last velocities.
    pub(super) fn stiffnesses(&self, project: bool, to: &mut Vec<Stiffness>) {
        let Given { grid, particles, bodies, dt, .. } = self.given;
        to.resize(particles.len(), Stiffness::default());
        let each = |block: usize, out: &mut [Stiffness]| {
            let first = grid.particles(block).start;
            self.in_block(block, |p, f| {
                let (body, before) = (&bodies[particles[p].body as usize], &particles[p].f);
                let lame: Lame = body.lame;
                let modes = FixedCoRotated.modes(lame, f);
                out[p - first] = stiffness(&modes, before, dt * dt * body.volume, project);
            });
        };
        each_block(grid, to, &each);
    }
}
