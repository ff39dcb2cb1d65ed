//! Products with the Hessian that are not assembled, for `pn-mf` and `gast`.
//!
//! > y_i = Σ_p T_p ∇w_ip + m_i d_i,    T_p,ak = Δt² V_p Σ_bl ∂²ψ/∂F'_ak ∂F'_bl G_bl,    G_p = Σ_j d_j ∇w_jpᵀ
//!
//! A product loads the directions of a block into a tile, and sums back as the gradient does. The preconditioner is
//! the inverse of the diagonal blocks, which are summed in the same way. *Reference* Wang et al. 2020 (HOT), §7.1.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use coarsen::optimize::{DescentError, Linear, Linearize};
use coarsen::prelude::*;
use coarsen::sparse::{Pattern, SparseError};
use coarsen::{Dot, LinearOperator, parallel};
use coarsen_core::simd::{self, Kernel, Set};
use mpm::constraints::NodeConstraint;
use mpm::energy::{Given, Increment, Stiffness};
use mpm::grid::{Add, REACH, TILE, Tile, Tiles, each_block, gradient, load, spread};
use mpm::particles::{IDENTITY, Matrix, apply, mul};
use mpm::weights::{NODES, Weights, corner};

/// The objective of a step, its Hessian as an operator, and the inverses of the diagonal blocks.
pub(crate) struct Products<'b, 'a> {
    increment: &'b mut Increment<'a>,
    hessian: Operator<'a>,
    /// The diagonal blocks as a matrix.
    diagonal: Bsr<f64>,
    inverse: Option<Inverse>,
}

type Inverse = <BlockJacobi as Setup<f64, Cpu>>::Built;

/// The Hessian at the x of the last linearisation.
struct Operator<'a> {
    given: Given<'a>,
    stiffness: Vec<Stiffness>,
    /// The factor of the held direction of each node that slips, s of the assembled system.
    held: Vec<f64>,
    /// The stiffness of friction at each node; empty without friction.
    rubs: Vec<Matrix>,
    workspace: Mutex<Workspace>,
}

/// What a product needs.
#[derive(Default)]
struct Workspace {
    directions: Vec<[f64; 3]>,
    forces: Vec<Matrix>,
    tiles: Tiles<4>,
}

impl<'b, 'a> Products<'b, 'a> {
    /// Returns the products of an objective and of what its step does not change.
    pub(crate) fn new(increment: &'b mut Increment<'a>, given: Given<'a>) -> Result<Self, SparseError> {
        let n = given.constraints.free.len();
        let diagonal = Bsr::zeros(Arc::new(Pattern::diagonal(n)?), (3, 3))?;
        let (held, workspace) = (vec![0.0; n], Mutex::default());
        let hessian = Operator { given, stiffness: Vec::new(), held, rubs: Vec::new(), workspace };
        Ok(Self { increment, hessian, diagonal, inverse: None })
    }

    fn build(&self) -> Result<Inverse, DescentError> {
        BlockJacobi::default().build(&self.diagonal, &Cpu::new()).map_err(DescentError::linearize)
    }

    /// Computes the derivatives of all particles and the diagonal blocks at z.
    fn assemble(&mut self, z: &[f64]) {
        let Self { increment, hessian, diagonal, .. } = self;
        increment.stiffness(z, true, &mut hessian.stiffness);
        let Given { grid, nodes, constraints, .. } = hessian.given;
        let mut tiles = Tiles::<9>::default();
        tiles.scatter(grid, &Diagonal(&hessian.stiffness));
        let velocities = Increment::velocities_of(&hessian.given, z);
        hessian.rubs = constraints.stiffness_of_friction(&velocities, true);
        let blocks = diagonal.values_mut().as_chunks_mut::<9>().0;
        for (slot, (&node, block)) in constraints.free.iter().zip(blocks).enumerate() {
            let (home, within) = nodes.home[node as usize];
            let sum: [f64; 9] = tiles.gather(grid, home as usize, within.map(usize::from));
            let mut h: Matrix =
                std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (sum[3 * i + j] + sum[3 * j + i])));
            if let Some(rub) = hessian.rubs.get(slot) {
                (0..9).for_each(|e| h[e / 3][e % 3] += rub[e / 3][e % 3]);
            }
            if let NodeConstraint::Slip { free, .. } = &constraints.by_node[node as usize] {
                let mean = (h[0][0] + h[1][1] + h[2][2]) / 3.0;
                hessian.held[slot] = mean;
                h = mul(free, &mul(&h, free));
                for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
                    h[i][j] += mean * (IDENTITY[i][j] - free[i][j]);
                }
            }
            (0..3).for_each(|k| h[k][k] += nodes.masses[node as usize]);
            *block = std::array::from_fn(|e| 0.5 * (h[e / 3][e % 3] + h[e % 3][e / 3]));
        }
    }
}

/// Σ_kl ∂w_ip/∂x_k ∂w_ip/∂x_l K_kl of each particle.
struct Diagonal<'a>(&'a [Stiffness]);

impl Add<9> for Diagonal<'_> {
    #[inline(always)]
    fn add<I: Set<f64>>(&self, _: I, p: usize, weights: &Weights, tile: &mut Tile<9>) {
        let base = weights.base.map(|c| (c & 3) as usize);
        for node in (0..NODES).map(corner) {
            let [x, y, z] = [0, 1, 2].map(|axis| base[axis] + node[axis]);
            let (at, g) = (x + REACH * (y + REACH * z), weights.gradient(node));
            for (k, l) in (0..9).map(|kl| (kl / 3, kl % 3)) {
                let w = g[k] * g[l];
                tile[at].iter_mut().zip(&self.0[p][k][l]).for_each(|(sum, block)| *sum += w * block);
            }
        }
    }
}

impl LinearOperator<Vec<f64>> for Operator<'_> {
    fn shape(&self) -> (usize, usize) {
        let n = 3 * self.given.constraints.free.len();
        (n, n)
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        let Given { grid, nodes, constraints, .. } = self.given;
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let Workspace { directions, forces, tiles } = &mut *workspace;
        directions.resize(nodes.len(), [0.0; 3]);
        for (node, d) in directions.iter_mut().enumerate() {
            let at = 3 * constraints.slot[node] as usize;
            *d = match &constraints.by_node[node] {
                NodeConstraint::Free => [x[at], x[at + 1], x[at + 2]],
                NodeConstraint::Slip { free, .. } => apply(free, [x[at], x[at + 1], x[at + 2]]),
                NodeConstraint::Fixed(_) => [0.0; 3],
            };
        }
        forces.resize(self.stiffness.len(), IDENTITY);
        each_block(grid, forces, &|block, out: &mut [Matrix]| {
            let mut tile = [[0.0; 4]; TILE];
            load(grid, block, &nodes.number, directions, &mut tile);
            let first = grid.particles(block).start;
            let (weights, stiffness) = (&grid.weights[first..], &self.stiffness[first..]);
            simd::run(Contract { weights, stiffness, tile: &tile, out });
        });
        tiles.scatter(grid, &Forces(forces));
        let (tiles, directions) = (&*tiles, &directions[..]);
        let leaf = |(slots, out): (Range<usize>, parallel::Groups<&mut [f64]>)| {
            for (slot, y) in slots.zip(out.0.as_chunks_mut::<3>().0) {
                let node = constraints.free[slot] as usize;
                let (home, within) = nodes.home[node];
                let [f, g, h, _] = tiles.gather(grid, home as usize, within.map(usize::from));
                let mut force = [f, g, h];
                if let Some(rub) = self.rubs.get(slot) {
                    let rubbed = apply(rub, directions[node]);
                    (0..3).for_each(|k| force[k] += rubbed[k]);
                }
                let x = [x[3 * slot], x[3 * slot + 1], x[3 * slot + 2]];
                let mut sum = match &constraints.by_node[node] {
                    NodeConstraint::Slip { free, .. } => {
                        let (force, along) = (apply(free, force), directions[node]);
                        std::array::from_fn(|k| force[k] + self.held[slot] * (x[k] - along[k]))
                    }
                    _ => force,
                };
                (0..3).for_each(|k| sum[k] += nodes.masses[node] * x[k]);
                *y = sum;
            }
        };
        let many = parallel::worth(64 * constraints.free.len());
        parallel::each((0..constraints.free.len(), parallel::Groups(&mut y[..], 3)), 1024, many, &leaf);
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

/// T of the particles of a block.
struct Contract<'a> {
    weights: &'a [Weights],
    stiffness: &'a [Stiffness],
    tile: &'a Tile<4>,
    out: &'a mut [Matrix],
}

impl Kernel<f64> for Contract<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<f64>>(self, set: I) {
        for ((out, stiffness), weights) in self.out.iter_mut().zip(self.stiffness).zip(self.weights) {
            *out = contract(stiffness, &gradient(set, weights, self.tile));
        }
    }
}

/// T of a particle.
#[inline(always)]
fn contract(stiffness: &Stiffness, g: &Matrix) -> Matrix {
    let mut t = Matrix::default();
    for (k, l) in (0..9).map(|kl| (kl / 3, kl % 3)) {
        let block = &stiffness[k][l];
        for a in 0..3 {
            t[a][k] += block[3 * a] * g[0][l] + block[3 * a + 1] * g[1][l] + block[3 * a + 2] * g[2][l];
        }
    }
    t
}

impl Objective<Vec<f64>> for Products<'_, '_> {
    fn value(&mut self, z: &Vec<f64>) -> Dot<f64> {
        self.increment.value(z)
    }
    fn gradient(&mut self, z: &Vec<f64>, g: &mut Vec<f64>) {
        self.increment.gradient(z, g);
    }
}

impl Linearize<Vec<f64>> for Products<'_, '_> {
    fn linearize(&mut self, z: &Vec<f64>) -> Result<Linear<'_, Vec<f64>>, DescentError> {
        self.assemble(z);
        let inverse = match self.inverse.take() {
            Some(inverse) => inverse,
            None => self.build()?,
        };
        Ok((&self.hessian, self.inverse.insert(inverse)))
    }

    fn relinearize(&mut self, z: &Vec<f64>) -> Result<Linear<'_, Vec<f64>>, DescentError> {
        self.assemble(z);
        let inverse = match self.inverse.take() {
            Some(mut inverse) => {
                inverse.update(&self.diagonal).map_err(DescentError::linearize)?;
                inverse
            }
            None => self.build()?,
        };
        Ok((&self.hessian, self.inverse.insert(inverse)))
    }
}
