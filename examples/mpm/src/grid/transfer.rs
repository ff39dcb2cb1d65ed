//! APIC: mass and momentum from particles to nodes, velocities back.
//!
//! > m_i = Σ_p w_ip m_p,    m_i v_i = Σ_p w_ip m_p (v_p + C_p (x_i − x_p))    (P2G)
//! > v_p = Σ_i w_ip v_i,    C_p = 4/Δx² Σ_i w_ip v_i (x_i − x_p)ᵀ    (G2P)
//!
//! Both keep momentum and angular momentum. *Reference* Jiang, Schroeder, Selle, Teran & Stomakhin 2015, "The
//! affine particle-in-cell method", ACM TOG 34(4); Wang et al. 2020 (HOT), §3.1.

use coarsen::parallel;
use coarsen_core::simd::{self, Kernel, Set};

use super::axes::{give, gradient, means};
use super::tiles::{Add, Tile, load};
use super::{CELLS, Grid, NONE, SIDE, TILE, Tiles};
use crate::particles::{Body, Matrix, Particle};
use crate::weights::Weights;

/// The number of blocks of a leaf.
const LEAF: usize = 4;

/// The nodes with mass, in the order of their blocks.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// The number of each node of each block; [`NONE`] without mass.
    pub number: Vec<[u32; CELLS]>,
    /// The block of each node, and its coordinates in the block.
    pub home: Vec<(u32, [u8; 3])>,
    /// x_i, m.
    pub positions: Vec<[f64; 3]>,
    /// m_i, kg.
    pub masses: Vec<f64>,
    /// v_i, m/s.
    pub velocities: Vec<[f64; 3]>,
    /// ξ_i, the mean of the stiffness ξ_p with the weights w_ip m_p, Pa: Wang et al. 2020, §5.2.
    pub stiffness: Vec<f64>,
}

/// The particles that give mass and momentum.
struct Given<'a> {
    particles: &'a [Particle],
    bodies: &'a [Body],
    /// ξ of each body.
    stiffness: &'a [f64],
    dx: f64,
}

impl Add<8> for Given<'_> {
    #[inline(always)]
    fn add<I: Set<f64>>(&self, set: I, p: usize, weights: &Weights, tile: &mut Tile<8>) {
        let particle = &self.particles[p];
        let body = particle.body as usize;
        give(set, weights, particle, [self.bodies[body].mass, self.stiffness[body]], self.dx, tile);
    }
}

impl Nodes {
    /// P2G: mass, velocity and stiffness of all nodes.
    pub fn from_particles(grid: &Grid, particles: &[Particle], bodies: &[Body]) -> Self {
        let mut tiles = Tiles::<8>::default();
        let stiffness: Vec<f64> = bodies.iter().map(|body| body.lame.at_rest()).collect();
        tiles.scatter(grid, &Given { particles, bodies, stiffness: &stiffness, dx: grid.dx });
        let mut nodes = Self { number: vec![[NONE; CELLS]; grid.blocks.len()], ..Self::default() };
        for block in 0..grid.blocks.len() {
            for cell in 0..CELLS {
                let within = [cell % SIDE, cell / SIDE % SIDE, cell / (SIDE * SIDE)];
                let [px, py, pz, mass, xi, ..] = tiles.gather(grid, block, within);
                if mass <= 0.0 {
                    continue;
                }
                nodes.number[block][cell] = nodes.masses.len() as u32;
                nodes.home.push((block as u32, within.map(|c| c as u8)));
                nodes.positions.push(grid.coordinates(block, cell).map(|c| grid.dx * f64::from(c)));
                nodes.masses.push(mass);
                nodes.velocities.push([px, py, pz].map(|p| p / mass));
                nodes.stiffness.push(xi / mass);
            }
        }
        nodes
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.masses.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.masses.is_empty()
    }

    /// G2P: v_p and C_p from velocities of the nodes; `then(particle, ∇v)` may use the gradient Σ v_i ∇w_ipᵀ.
    pub fn to_particles(
        &self,
        grid: &Grid,
        velocities: &[[f64; 3]],
        particles: &mut [Particle],
        then: impl Fn(&mut Particle, &Matrix) + Sync,
    ) {
        each_block(grid, particles, &|block, particles: &mut [Particle]| {
            let mut tile = [[0.0; 4]; TILE];
            load(grid, block, &self.number, velocities, &mut tile);
            let first = grid.particles(block).start;
            simd::run(Take {
                weights: &grid.weights[first..],
                dx: grid.dx,
                tile: &tile,
                particles,
                then: &then,
            });
        });
    }
}

/// The particles of a block that take velocities from their nodes.
struct Take<'a, F> {
    weights: &'a [Weights],
    dx: f64,
    tile: &'a Tile<4>,
    particles: &'a mut [Particle],
    then: &'a F,
}

impl<F: Fn(&mut Particle, &Matrix)> Kernel<f64> for Take<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<f64>>(self, set: I) {
        let scale = 4.0 / (self.dx * self.dx);
        for (p, weights) in self.particles.iter_mut().zip(self.weights) {
            let (v, moments) = means(set, weights, &weights.arms(p.x, self.dx), self.tile);
            (p.v, p.c) = (v, moments);
            p.c.as_flattened_mut().iter_mut().for_each(|c| *c *= scale);
            (self.then)(p, &gradient(set, weights, self.tile));
        }
    }
}

/// Calls `f` with each block and its part of data of the particles, on several threads, and combines the
/// results along a fixed tree.
pub(crate) fn fold_blocks<T: Send, R: Send>(
    grid: &Grid,
    data: &mut [T],
    f: &(impl Fn(usize, &mut [T]) -> R + Sync),
    combine: &(impl Fn(R, R) -> R + Sync),
) -> R {
    let mut rest = data;
    let mut parts = Vec::with_capacity(grid.blocks.len());
    for block in 0..grid.blocks.len() {
        let (part, after) = rest.split_at_mut(grid.particles(block).len());
        parts.push(part);
        rest = after;
    }
    let many = parallel::worth(27 * grid.weights.len());
    let leaf = |(blocks, parts): (std::ops::Range<usize>, &mut [&mut [T]])| {
        let results = blocks.zip(parts).map(|(block, part)| f(block, part));
        results.reduce(combine).expect("a leaf has a block")
    };
    parallel::tree((0..grid.blocks.len(), &mut parts[..]), LEAF, many, &leaf, combine)
}

/// As [`fold_blocks`], for blocks with particles and without a result.
pub(crate) fn each_block<T: Send>(grid: &Grid, data: &mut [T], f: &(impl Fn(usize, &mut [T]) + Sync)) {
    let some = |block, part: &mut [T]| {
        if part.is_empty() {
        } else {
            f(block, part)
        }
    };
    fold_blocks(grid, data, &some, &|(), ()| ());
}
