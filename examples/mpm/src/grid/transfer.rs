//! APIC: mass and momentum from particles to nodes, velocities back.
//!
//! > m_i = Σ_p w_ip m_p,    m_i v_i = Σ_p w_ip m_p (v_p + C_p (x_i − x_p))    (P2G)
//! > v_p = Σ_i w_ip v_i,    C_p = 4/Δx² Σ_i w_ip v_i (x_i − x_p)ᵀ    (G2P)
//!
//! Both keep momentum and angular momentum. *Reference* Jiang, Schroeder, Selle, Teran & Stomakhin 2015, "The
//! affine particle-in-cell method", ACM TOG 34(4); Wang et al. 2020 (HOT), §3.1.
//!
//! The sums over the 27 nodes of a particle run over one axis after the other:
//!
//! > Σ_i v_i ∂w_ip/∂x = Σ_z w_z Σ_y w_y Σ_x w'_x v_xyz    and so on
//!
//! The inner sums serve several outer ones, so that 27 nodes need 90 multiplications with four lanes each. They are
//! compiled for the instructions of the machine (`coarsen_core::simd`).

use coarsen::parallel;
use coarsen_core::simd::{self, Kernel, Pack, Set};

use super::tiles::{Add, Tile, load, place};
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

/// Cuts data into pieces of these lengths.
pub(crate) fn pieces<T>(mut data: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lengths.map(|length| data.split_off_mut(..length).expect("data of all pieces")).collect()
}

/// Calls `f` with each block and its part of data of the particles, on several threads, and combines the
/// results along a fixed tree.
pub(crate) fn fold_blocks<T: Send, R: Send>(
    grid: &Grid,
    data: &mut [T],
    f: &(impl Fn(usize, &mut [T]) -> R + Sync),
    combine: &(impl Fn(R, R) -> R + Sync),
) -> R {
    let mut parts = pieces(data, (0..grid.blocks.len()).map(|block| grid.particles(block).len()));
    let many = parallel::worth(27 * grid.weights.len());
    let leaf = |(blocks, parts): (std::ops::Range<usize>, &mut [&mut [T]])| {
        let results = blocks.zip(parts).map(|(block, part)| f(block, part));
        results.reduce(combine).expect("a leaf has a block")
    };
    parallel::tree((0..grid.blocks.len(), &mut parts[..]), LEAF, many, &leaf, combine)
}

/// Calls `f` with each block that has particles and its part of data of the particles, on several threads.
pub fn each_block<T: Send>(grid: &Grid, data: &mut [T], f: &(impl Fn(usize, &mut [T]) + Sync)) {
    let some = |block, part: &mut [T]| {
        if !part.is_empty() {
            f(block, part);
        }
    };
    fold_blocks(grid, data, &some, &|(), ()| ());
}

/// The place in its tile of the first node of a particle.
#[inline(always)]
fn first(weights: &Weights) -> usize {
    let [x, y, z] = weights.base;
    place([(x & 3) as usize, (y & 3) as usize, (z & 3) as usize])
}

/// The same number in four lanes.
#[inline(always)]
fn splat<I: Set<f64>>(set: I, number: f64) -> I::Four {
    I::Four::splat(set, number)
}

/// Stores the lanes of a pack.
#[inline(always)]
fn lanes<I: Set<f64>>(pack: I::Four) -> [f64; 4] {
    let mut numbers = [0.0; 4];
    store(pack, &mut numbers, 0);
    numbers
}

/// Σ_i w_i v_i, and for each axis the same sum with d in place of the weights on this axis.
#[inline(always)]
fn moments<I: Set<f64>>(
    set: I,
    weights: &Weights,
    d: &[[f64; 3]; 3],
    tile: &Tile<4>,
) -> (I::Four, [I::Four; 3]) {
    let (first, w) = (first(weights), &weights.w);
    let zero = I::Four::zero(set);
    let (mut sum, mut sums) = (zero, [zero; 3]);
    for z in 0..3 {
        let (mut plane, mut planes) = (zero, [zero; 2]);
        for y in 0..3 {
            let (mut line, mut slope) = (zero, zero);
            for x in 0..3 {
                let v = four(set, &tile[first + place([x, y, z])], 0);
                line = v.mul_add(splat(set, w[0][x]), line);
                slope = v.mul_add(splat(set, d[0][x]), slope);
            }
            plane = line.mul_add(splat(set, w[1][y]), plane);
            planes[0] = slope.mul_add(splat(set, w[1][y]), planes[0]);
            planes[1] = line.mul_add(splat(set, d[1][y]), planes[1]);
        }
        sum = plane.mul_add(splat(set, w[2][z]), sum);
        sums[0] = planes[0].mul_add(splat(set, w[2][z]), sums[0]);
        sums[1] = planes[1].mul_add(splat(set, w[2][z]), sums[1]);
        sums[2] = plane.mul_add(splat(set, d[2][z]), sums[2]);
    }
    (sum, sums)
}

/// The matrix with these columns.
#[inline(always)]
fn of_columns<I: Set<f64>>(columns: [I::Four; 3]) -> Matrix {
    let [x, y, z] = columns;
    let ([x, y, z], mut matrix) = ([lanes::<I>(x), lanes::<I>(y), lanes::<I>(z)], Matrix::default());
    for i in 0..3 {
        matrix[i] = [x[i], y[i], z[i]];
    }
    matrix
}

/// Σ_i v_i ∇w_ipᵀ of values v on the nodes of a tile.
#[inline(always)]
pub fn gradient<I: Set<f64>>(set: I, weights: &Weights, tile: &Tile<4>) -> Matrix {
    of_columns::<I>(moments(set, weights, &weights.dw, tile).1)
}

/// Σ_i w_ip v_i, and Σ_i w_ip v_i (x_i − x_p)ᵀ for a particle at x_p.
#[inline(always)]
fn means<I: Set<f64>>(set: I, weights: &Weights, arms: &[[f64; 3]; 3], tile: &Tile<4>) -> ([f64; 3], Matrix) {
    let mut d = *arms;
    for axis in 0..3 {
        for k in 0..3 {
            d[axis][k] *= weights.w[axis][k];
        }
    }
    let (mean, moments) = moments(set, weights, &d, tile);
    let [x, y, z, _] = lanes::<I>(mean);
    ([x, y, z], of_columns::<I>(moments))
}

/// Adds T ∇w_ip to each node i.
#[inline(always)]
pub fn spread<I: Set<f64>>(set: I, weights: &Weights, t: &Matrix, tile: &mut Tile<4>) {
    let (first, Weights { w, dw, .. }) = (first(weights), weights);
    let zero = I::Four::zero(set);
    let x_column = four(set, &[t[0][0], t[1][0], t[2][0], 0.0], 0);
    let y_column = four(set, &[t[0][1], t[1][1], t[2][1], 0.0], 0);
    let z_column = four(set, &[t[0][2], t[1][2], t[2][2], 0.0], 0);
    for z in 0..3 {
        let x_plane = x_column.mul_add(splat(set, w[2][z]), zero);
        let y_plane = y_column.mul_add(splat(set, w[2][z]), zero);
        let z_plane = z_column.mul_add(splat(set, dw[2][z]), zero);
        for y in 0..3 {
            let slope = x_plane.mul_add(splat(set, w[1][y]), zero);
            let line = y_plane.mul_add(splat(set, dw[1][y]), z_plane.mul_add(splat(set, w[1][y]), zero));
            for x in 0..3 {
                let at = first + place([x, y, z]);
                let sum = line.mul_add(splat(set, w[0][x]), four(set, &tile[at], 0));
                let sum = slope.mul_add(splat(set, dw[0][x]), sum);
                store(sum, &mut tile[at], 0);
            }
        }
    }
}

/// Adds w_ip m (v_p + C_p (x_i − x_p)), w_ip m and w_ip m ξ to each node i.
#[inline(always)]
fn give<I: Set<f64>>(
    set: I,
    weights: &Weights,
    particle: &Particle,
    [mass, xi]: [f64; 2],
    dx: f64,
    tile: &mut Tile<8>,
) {
    let (first, w, Particle { x, v, c, .. }) = (first(weights), &weights.w, particle);
    let zero = I::Eight::zero(set);
    let arm = weights.arm([0; 3], *x, dx);
    let mut base = [0.0, 0.0, 0.0, mass, mass * xi, 0.0, 0.0, 0.0];
    for k in 0..3 {
        base[k] = mass * (v[k] + c[k][0] * arm[0] + c[k][1] * arm[1] + c[k][2] * arm[2]);
    }
    let base = eight(set, &base, 0);
    // From one node to the next on each axis.
    let step = mass * dx;
    let x_step = eight(set, &[step * c[0][0], step * c[1][0], step * c[2][0], 0.0, 0.0, 0.0, 0.0, 0.0], 0);
    let y_step = eight(set, &[step * c[0][1], step * c[1][1], step * c[2][1], 0.0, 0.0, 0.0, 0.0, 0.0], 0);
    let z_step = eight(set, &[step * c[0][2], step * c[1][2], step * c[2][2], 0.0, 0.0, 0.0, 0.0, 0.0], 0);
    for z in 0..3 {
        let plane = z_step.mul_add(I::Eight::splat(set, z as f64), base);
        for y in 0..3 {
            let share = I::Eight::splat(set, w[1][y] * w[2][z]);
            let line = y_step.mul_add(I::Eight::splat(set, y as f64), plane).mul_add(share, zero);
            let step = x_step.mul_add(share, zero);
            for x in 0..3 {
                let at = first + place([x, y, z]);
                let value = step.mul_add(I::Eight::splat(set, x as f64), line);
                let node = eight(set, &tile[at], 0);
                store(value.mul_add(I::Eight::splat(set, w[0][x]), node), &mut tile[at], 0);
            }
        }
    }
}

/// Four numbers of a slice as lanes.
#[inline(always)]
pub(crate) fn four<I: Set<f64>>(set: I, from: &[f64], at: usize) -> I::Four {
    let from = &from[at..at + 4];
    // SAFETY: the slice has four numbers.
    unsafe { I::Four::load(set, from.as_ptr()) }
}

/// Eight numbers of a slice as lanes.
#[inline(always)]
pub(crate) fn eight<I: Set<f64>>(set: I, from: &[f64], at: usize) -> I::Eight {
    let from = &from[at..at + 8];
    // SAFETY: the slice has eight numbers.
    unsafe { I::Eight::load(set, from.as_ptr()) }
}

/// Stores a pack of eight or four lanes.
#[inline(always)]
pub(crate) fn store<P: Pack<f64>>(pack: P, to: &mut [f64], at: usize) {
    let to = &mut to[at..at + P::LANES];
    // SAFETY: the slice has as many numbers as the pack.
    unsafe { pack.store(to.as_mut_ptr()) };
}
