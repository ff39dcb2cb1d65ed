//! APIC: mass and momentum from particles to nodes, velocities back.
//!
//! > m_i = Σ_p w_ip m_p,    m_i v_i = Σ_p w_ip m_p (v_p + C_p (x_i − x_p))    (P2G)
//! > v_p = Σ_i w_ip v_i,    C_p = 4/Δx² Σ_i w_ip v_i (x_i − x_p)ᵀ    (G2P)
//!
//! Both keep momentum and angular momentum. *Reference* Jiang, Schroeder, Selle, Teran & Stomakhin 2015, "The
//! affine particle-in-cell method", ACM TOG 34(4); Wang et al. 2020 (HOT), §3.1.

use coarsen::parallel;

use super::tiles::{load, places};
use super::{CELLS, Grid, NONE, SIDE, TILE, Tiles};
use crate::particles::{Body, Matrix, Particle, apply};

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

impl Nodes {
    /// P2G: mass, velocity and stiffness of all nodes.
    pub fn from_particles(grid: &Grid, particles: &[Particle], bodies: &[Body]) -> Self {
        let mut tiles = Tiles::<5>::default();
        let stiffness: Vec<f64> = bodies.iter().map(|body| body.lame.at_rest()).collect();
        tiles.scatter(grid, |p, weights, tile| {
            let Particle { x, v, c, body, .. } = &particles[p];
            let (mass, xi) = (bodies[*body as usize].mass, stiffness[*body as usize]);
            for (at, corner) in places(weights) {
                let share = mass * weights.weight(corner);
                let affine = apply(c, weights.arm(corner, *x, grid.dx));
                let node = &mut tile[at];
                node[0] += share;
                (0..3).for_each(|k| node[1 + k] += share * (v[k] + affine[k]));
                node[4] += share * xi;
            }
        });
        let mut nodes = Self { number: vec![[NONE; CELLS]; grid.blocks.len()], ..Self::default() };
        for block in 0..grid.blocks.len() {
            for cell in 0..CELLS {
                let within = [cell % SIDE, cell / SIDE % SIDE, cell / (SIDE * SIDE)];
                let [mass, px, py, pz, xi] = tiles.gather(grid, block, within);
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
        let scale = 4.0 / (grid.dx * grid.dx);
        let update = |p: &mut Particle, tile: &[[f64; 3]; TILE], at: usize| {
            let weights = &grid.weights[at];
            let (mut v, mut c, mut gradient) = ([0.0; 3], [[0.0; 3]; 3], [[0.0; 3]; 3]);
            for (node, corner) in places(weights) {
                let (w, g, node) = (weights.weight(corner), weights.gradient(corner), &tile[node]);
                let arm = weights.arm(corner, p.x, grid.dx);
                for i in 0..3 {
                    v[i] += w * node[i];
                    for j in 0..3 {
                        c[i][j] += scale * w * node[i] * arm[j];
                        gradient[i][j] += node[i] * g[j];
                    }
                }
            }
            (p.v, p.c) = (v, c);
            then(p, &gradient);
        };
        each_block(grid, particles, &|block, particles: &mut [Particle]| {
            let mut tile = [[0.0; 3]; TILE];
            load(grid, block, &self.number, velocities, &mut tile);
            let first = grid.particles(block).start;
            particles.iter_mut().enumerate().for_each(|(k, p)| update(p, &tile, first + k));
        });
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
