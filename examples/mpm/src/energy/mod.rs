//! The incremental potential of a time step, and its derivatives.
//!
//! > E(Δv) = Σ_i ½ m_i ‖Δv_i − Δt g‖² + Σ_p V_p ψ(F_p),    F_p = (I + Δt Σ_i v_i ∇w_ipᵀ) F_pⁿ,    v = vⁿ + Δv    (1)
//!
//! Where colliders rub, `friction` adds its D.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Increment`]: E and ∇E, the start of a solve, the characteristic norm of the gradient |
//! | `hessian`, `gather` | [`Hessian`]: gathered row by row, and the system with constraints |
//! | `friction` | friction on colliders, with the normal forces of the last step |
//!
//! | symbol | here | |
//! |---|---|---|
//! | z | `z` | unknowns: Δv of the free nodes, three numbers for each |
//! | S | [`NodeConstraint::Slip`](crate::constraints::NodeConstraint) | projection onto the free directions of a node: Δv = S z + a given part |
//! | P | `stress` | first Piola-Kirchhoff stress |
//!
//! Positions of nodes are moved only in thought: after the step the grid is as before. The unknowns are
//! increments of velocity. *Reference* Wang et al. 2020 (HOT), §3.1, Eq. 1, in which gravity
//! is a part of Φ; both differ by a constant.

mod friction;
mod gather;
mod hessian;

use std::ops::Range;

use coarsen::elastic::{Density, Energy, FixedCoRotated};
use coarsen::mesh::vector::{dot, sub};
use coarsen::node_embedding::Constraint;
use coarsen::optimize::grid_weights;
use coarsen::sparse::SparseError;
use coarsen::sparse::union_find::{join, root};
use coarsen::{Dot, Objective, parallel};
use coarsen_core::simd::{self, Kernel, Set};

use crate::constraints::{Constraints, NodeConstraint};
use crate::fault::StepError;
use crate::grid::{Add, Grid, NONE, Nodes, TILE, Tile, Tiles, fold_blocks, gradient, load, spread};
use crate::particles::{Body, IDENTITY, Matrix, Particle, apply, mul, mul_transposed};
use crate::weights::Weights;

pub use hessian::{Block, Hessian, Stiffness};

/// What a step does not change.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The grid.
    pub grid: &'a Grid,
    /// Its nodes, with vⁿ.
    pub nodes: &'a Nodes,
    /// The particles, with F_pⁿ.
    pub particles: &'a [Particle],
    /// Their bodies.
    pub bodies: &'a [Body],
    /// The motion that colliders prescribe.
    pub constraints: &'a Constraints,
    /// Δt, s.
    pub dt: f64,
    /// g, m/s².
    pub gravity: [f64; 3],
}

impl Given<'_> {
    fn velocities(&self, z: &[f64], velocities: &mut [[f64; 3]]) {
        let Self { nodes, constraints, .. } = self;
        assert_eq!(z.len(), 3 * constraints.free.len(), "velocities: wrong length");
        for (node, v) in velocities.iter_mut().enumerate() {
            let before = nodes.velocities[node];
            let slot = constraints.slot[node] as usize;
            *v = match &constraints.by_node[node] {
                NodeConstraint::Free => std::array::from_fn(|k| before[k] + z[3 * slot + k]),
                NodeConstraint::Slip { free, given } => {
                    let along = apply(free, [z[3 * slot], z[3 * slot + 1], z[3 * slot + 2]]);
                    std::array::from_fn(|k| before[k] + along[k] + given[k])
                }
                NodeConstraint::Fixed(v) => *v,
            };
        }
    }
}

/// The objective (1).
pub struct Increment<'a> {
    given: Given<'a>,
    /// v at the last z.
    velocities: Vec<[f64; 3]>,
    /// Σ V ψ and Δt V P Fⁿᵀ of each particle at the z of the last evaluation; empty before the first one.
    elastic: Energy,
    stresses: Vec<Matrix>,
    evaluated: Vec<f64>,
    forces: Tiles<4>,
    hessian: Hessian,
    /// The z of the last system; empty before the first one.
    assembled: Vec<f64>,
    /// Whether negative eigenvalues of particles become 0.
    project: bool,
}

/// The memory of a step for the next one, so that no step has to touch new pages.
#[derive(Default)]
pub struct Memory {
    stresses: Vec<Matrix>,
    forces: Tiles<4>,
    hessian: Option<Hessian>,
}

impl<'a> Increment<'a> {
    /// Returns the objective; its Hessian is allocated here.
    ///
    /// # Errors
    /// Those of the sparse pattern.
    pub fn new(given: Given<'a>) -> Result<Self, SparseError> {
        Self::in_memory(given, Memory::default())
    }

    /// As [`new`](Self::new), in the memory of an earlier step as far as it goes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn in_memory(given: Given<'a>, memory: Memory) -> Result<Self, SparseError> {
        let Memory { stresses, forces, hessian } = memory;
        let hessian = Hessian::in_memory(given.grid, given.nodes, given.constraints, hessian)?;
        Ok(Self {
            given,
            velocities: given.nodes.velocities.clone(),
            elastic: Energy::default(),
            stresses,
            evaluated: Vec::new(),
            forces,
            hessian,
            assembled: Vec::new(),
            project: true,
        })
    }

    /// The memory, for the next step.
    pub fn into_memory(self) -> Memory {
        let Self { stresses, forces, hessian, .. } = self;
        Memory { stresses, forces, hessian: Some(hessian) }
    }

    /// The number of unknowns.
    pub fn size(&self) -> usize {
        3 * self.given.constraints.free.len()
    }

    /// Δx.
    pub fn spacing(&self) -> f64 {
        self.given.grid.dx
    }

    /// Whether nodes rub on colliders.
    pub fn rubs(&self) -> bool {
        !self.given.constraints.grips.is_empty()
    }

    /// The positions of the free nodes, m, in the order of the unknowns. Costs nothing: the Hessian is not assembled.
    pub fn positions(&self) -> &[[f64; 3]] {
        &self.hessian.system.positions
    }

    /// The free nodes that slip, for hierarchies. A node with one free direction counts as held: its motion is
    /// left to the smoother.
    pub fn node_constraints(&self) -> Vec<(u32, Constraint)> {
        let constraints = self.given.constraints;
        let constraint = |(slot, &node): (usize, &u32)| {
            let NodeConstraint::Slip { free, .. } = &constraints.by_node[node as usize] else { return None };
            let held: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| IDENTITY[i][j] - free[i][j]));
            let trace = held[0][0] + held[1][1] + held[2][2];
            let most = (1..3).fold(0, |m, k| if held[k][k] > held[m][m] { k } else { m });
            Some((slot as u32, if trace < 1.5 { Constraint::Slides(held[most]) } else { Constraint::Held }))
        };
        constraints.free.iter().enumerate().filter_map(constraint).collect()
    }

    /// The velocities of all nodes, v = vⁿ + Δv. *Panics* on a wrong length.
    pub fn velocities_of(given: &Given<'_>, z: &[f64]) -> Vec<[f64; 3]> {
        let mut velocities = vec![[0.0; 3]; given.nodes.len()];
        given.velocities(z, &mut velocities);
        velocities
    }

    /// Stores the velocities at z.
    fn at(&mut self, z: &[f64]) {
        self.given.velocities(z, &mut self.velocities);
    }

    /// Calls `f` with the particles of a block and their F at the last velocities.
    fn in_block(&self, block: usize, f: impl FnMut(usize, &Matrix)) {
        let Given { grid, nodes, .. } = self.given;
        if !grid.particles(block).is_empty() {
            let mut tile = [[0.0; 4]; TILE];
            load(grid, block, &nodes.number, &self.velocities, &mut tile);
            simd::run(Deform { given: &self.given, block, tile: &tile, f });
        }
    }

    /// Computes velocities, stresses and Σ_p V_p ψ(F_p) at z, unless they are those of the last call.
    fn evaluate(&mut self, z: &[f64]) -> Energy {
        if self.evaluated == z && !z.is_empty() {
            return self.elastic;
        }
        self.at(z);
        let Given { grid, particles, bodies, dt, .. } = self.given;
        let mut stresses = std::mem::take(&mut self.stresses);
        stresses.resize(particles.len(), IDENTITY);
        let block = |block: usize, out: &mut [Matrix]| {
            let (mut sum, first) = (Energy::default(), grid.particles(block).start);
            self.in_block(block, |p, f| {
                let (body, before) = (&bodies[particles[p].body as usize], &particles[p].f);
                let (energy, stress) = FixedCoRotated.energy_and_stress(body.lame, f);
                sum = sum + body.volume * energy;
                let (force, scale) = (&mut out[p - first], dt * body.volume);
                *force = mul_transposed(&stress, before);
                force.as_flattened_mut().iter_mut().for_each(|t| *t *= scale);
            });
            sum
        };
        self.elastic = fold_blocks(grid, &mut stresses, &block, &|a, b| a + b);
        self.stresses = stresses;
        self.evaluated.clear();
        self.evaluated.extend_from_slice(z);
        self.elastic
    }

    /// ∂E/∂v_i at all nodes at the last evaluation: the residual of free nodes, and −Δt times the force of
    /// the colliders on held nodes.
    fn residual(&mut self) -> Vec<[f64; 3]> {
        let Given { grid, nodes, dt, gravity, .. } = self.given;
        let Self { forces, stresses, velocities, .. } = self;
        forces.scatter(grid, &Forces(stresses));
        let mut residual = vec![[0.0; 3]; nodes.len()];
        let leaf = |(range, out): (Range<usize>, &mut [[f64; 3]])| {
            for (node, r) in range.zip(out) {
                let (block, within) = nodes.home[node];
                let force: [f64; 4] = forces.gather(grid, block as usize, within.map(usize::from));
                let (m, v, before) = (nodes.masses[node], velocities[node], nodes.velocities[node]);
                *r = std::array::from_fn(|k| m * (v[k] - before[k] - dt * gravity[k]) + force[k]);
            }
        };
        let many = parallel::worth(64 * nodes.len());
        parallel::each((0..nodes.len(), &mut residual[..]), 1024, many, &leaf);
        residual
    }

    /// The work of the colliders in the step with increments z, J: the change of the kinetic energy of held
    /// directions, and the power of the forces on them.
    pub fn work(&mut self, z: &[f64]) -> f64 {
        self.evaluate(z);
        let residual = self.residual();
        let Given { nodes, constraints, .. } = self.given;
        let mut work = 0.0;
        for (node, constraint) in constraints.by_node.iter().enumerate() {
            let held: Matrix = match constraint {
                NodeConstraint::Free => continue,
                NodeConstraint::Slip { free, .. } => {
                    std::array::from_fn(|i| std::array::from_fn(|j| IDENTITY[i][j] - free[i][j]))
                }
                NodeConstraint::Fixed(_) => IDENTITY,
            };
            let (v, before) = (self.velocities[node], nodes.velocities[node]);
            let force = apply(&held, residual[node]);
            let jump = apply(&held, std::array::from_fn(|k| v[k] - before[k]));
            for k in 0..3 {
                // m (v − vⁿ)·v − ½ m (v − vⁿ)² is the change of ½ m v².
                work += force[k] * v[k] - 0.5 * nodes.masses[node] * jump[k] * jump[k];
            }
        }
        work + self.work_of_friction()
    }
}

/// The deformation of the particles of a block.
struct Deform<'a, F> {
    given: &'a Given<'a>,
    block: usize,
    tile: &'a Tile<4>,
    f: F,
}

impl<F: FnMut(usize, &Matrix)> Kernel<f64> for Deform<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<f64>>(mut self, set: I) {
        let Given { grid, particles, dt, .. } = *self.given;
        for p in grid.particles(self.block) {
            let slope = gradient(set, &grid.weights[p], self.tile);
            let mut growth = IDENTITY;
            for i in 0..3 {
                for j in 0..3 {
                    growth[i][j] += dt * slope[i][j];
                }
            }
            (self.f)(p, &mul(&growth, &particles[p].f)); // F = (I + Δt ∇v) Fⁿ
        }
    }
}

/// T_p ∇w_ip of each particle.
struct Forces<'a>(&'a [Matrix]);

impl Add<4> for Forces<'_> {
    #[inline(always)]
    fn add<I: Set<f64>>(&self, set: I, p: usize, weights: &Weights, tile: &mut Tile<4>) {
        spread(set, weights, &self.0[p], tile);
    }
}

impl Objective<Vec<f64>> for Increment<'_> {
    fn value(&mut self, z: &Vec<f64>) -> Dot<f64> {
        let Energy { value, magnitude } = self.evaluate(z);
        let Given { nodes, constraints, dt, gravity, .. } = self.given;
        let leaf = |free: &[u32]| {
            let mut sum = 0.0;
            for &node in free {
                let node = node as usize;
                let (v, before) = (self.velocities[node], nodes.velocities[node]);
                let square: f64 = (0..3).map(|k| (v[k] - before[k] - dt * gravity[k]).powi(2)).sum();
                sum += 0.5 * nodes.masses[node] * square;
            }
            sum
        };
        let many = parallel::worth(16 * constraints.free.len());
        let inertia: f64 = parallel::tree(&constraints.free[..], 4096, many, &leaf, &|a, b| a + b);
        let friction = self.friction();
        Dot { value: inertia + value + friction, magnitude: inertia + magnitude + friction } // (1)
    }

    fn gradient(&mut self, z: &Vec<f64>, g: &mut Vec<f64>) {
        assert_eq!(g.len(), z.len(), "gradient: wrong length");
        self.evaluate(z);
        let mut residual = self.residual();
        self.rub(&mut residual);
        let constraints = self.given.constraints;
        for (&node, g) in constraints.free.iter().zip(g.as_chunks_mut::<3>().0) {
            let r = residual[node as usize];
            *g = match &constraints.by_node[node as usize] {
                NodeConstraint::Slip { free, .. } => apply(free, r),
                _ => r,
            };
        }
    }
}

/// For each node, whether it falls: no node that is coupled to it by particles, directly or through others, touches a
/// collider.
fn falls(given: &Given<'_>) -> Vec<bool> {
    let Given { grid, nodes, particles, constraints, .. } = *given;
    let mut sets: Vec<u32> = (0..nodes.len() as u32).collect(); // of nodes that share particles
    let mut first = vec![NONE; particles.len()]; // a node of the cell that begins with a particle
    for node in 0..nodes.len() {
        hessian::cells(grid, nodes, node, |_, range| match first[range.start] {
            NONE => first[range.start] = node as u32,
            other => {
                join(&mut sets, node as u32, other);
            }
        });
    }
    let mut held = vec![false; nodes.len()];
    for (node, constraint) in (0..).zip(&constraints.by_node) {
        held[root(&mut sets, node) as usize] |= !matches!(constraint, NodeConstraint::Free);
    }
    (0..nodes.len() as u32).map(|node| !held[root(&mut sets, node) as usize]).collect()
}

impl Increment<'_> {
    /// The unknowns with which a solve starts: Δt g for nodes that fall freely, and 0 for those that are coupled to a
    /// collider. *Deviation*: the paper starts from Δv = 0 (eq. 1). The step ends by a norm that is relative to the
    /// stiffness, and the weight of steel is far below it: from 0 a body of steel would hang in the air. A common velocity
    /// changes no F, so that E is lower at this start by ½ Σ m ‖Δt g‖².
    ///
    /// *Cost* 27 cells for each node; nothing without gravity or without nodes on colliders.
    pub fn start(&self) -> Vec<f64> {
        let Given { constraints, dt, gravity, .. } = self.given;
        let mut z = vec![0.0; self.size()];
        if gravity == [0.0; 3] {
            return z;
        }
        let all = constraints.by_node.iter().all(|constraint| matches!(constraint, NodeConstraint::Free));
        let falls = if all { Vec::new() } else { falls(&self.given) };
        for (&node, z) in constraints.free.iter().zip(z.as_chunks_mut::<3>().0) {
            if all || falls[node as usize] {
                *z = gravity.map(|g| dt * g);
            }
        }
        z
    }

    /// The weights of the characteristic norm ‖ĝ‖ ≤ ε √n, which are 1 / (24 Δx² ξ_i Δt √n) for each unknown, and the largest
    /// characteristic impulse 24 Δx² ξ Δt, kg m/s: Wang et al. 2020, §5.2, Eq. 9.
    ///
    /// # Errors
    /// [`StepError::Stiffness`] for a node whose characteristic impulse is not positive and finite. It names the nearest
    /// particle whose own stiffness has none either, or the nearest of all.
    pub fn weights(&self) -> Result<(Vec<f64>, f64), StepError> {
        let Given { grid, nodes, particles, bodies, constraints, dt, .. } = self.given;
        let impulse = |stiffness: f64| 24.0 * grid.dx * grid.dx * dt * stiffness;
        let is_measure = |stiffness: f64| impulse(stiffness) > 0.0 && impulse(stiffness).is_finite();
        let stiffness: Vec<f64> =
            constraints.free.iter().map(|&node| nodes.stiffness[node as usize]).collect();
        if stiffness.is_empty() {
            return Ok((Vec::new(), 0.0));
        }
        if let Ok(weights) = grid_weights(&stiffness, grid.dx, dt, 3) {
            let stiffest = stiffness.iter().fold(0.0, |m: f64, xi| m.max(*xi));
            return Ok((weights, impulse(stiffest)));
        }
        let slot = stiffness.iter().position(|xi| !is_measure(*xi)).unwrap_or_default();
        let (x, stiffness) = (nodes.positions[constraints.free[slot] as usize], stiffness[slot]);
        let rank = |p: &usize| {
            let away = sub(particles[*p].x, x);
            (is_measure(bodies[particles[*p].body as usize].lame.at_rest()), dot(away, away))
        };
        let order = |a: &usize, b: &usize| {
            let ((good, near), (other, far)) = (rank(a), rank(b));
            good.cmp(&other).then(near.total_cmp(&far))
        };
        let particle = (0..particles.len()).min_by(order).unwrap_or_default();
        let (impulse, body) = (impulse(stiffness), particles[particle].body);
        Err(StepError::Stiffness { x, stiffness, impulse, particle, body })
    }
}
