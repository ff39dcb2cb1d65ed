//! Values on the nodes that a block reaches, and sums over particles without atomics.
//!
//! The particles of a block reach 6 x 6 x 6 nodes: its tile. Each block sums its particles into its own tile,
//! in the order of the particles. Then each node gathers from the at most eight tiles that contain it, in a
//! fixed order. So threads never write the same number, and every number of threads gives the same bits.

use coarsen::parallel;
use coarsen_core::simd::{self, Kernel, Set};

use super::{CELLS, Grid, NONE, SIDE, local};
use crate::weights::{NODES, Weights};

/// The number of nodes along the side of a tile.
pub const REACH: usize = SIDE + 2;
/// The number of nodes of a tile.
pub const TILE: usize = REACH * REACH * REACH;

/// K numbers at each node of a tile.
pub type Tile<const K: usize> = [[f64; K]; TILE];

/// The tiles of all blocks.
#[derive(Clone, Debug, Default)]
pub struct Tiles<const K: usize>(Vec<Tile<K>>);

/// The place of a node in a tile.
#[inline(always)]
pub(super) const fn place([x, y, z]: [usize; 3]) -> usize {
    x + REACH * (y + REACH * z)
}

/// What a particle adds to the tile of its block. Mark `add` `#[inline(always)]`: it is compiled for each instruction
/// set.
pub trait Add<const K: usize>: Sync {
    /// Adds particle p.
    fn add<I: Set<f64>>(&self, set: I, p: usize, weights: &Weights, tile: &mut Tile<K>);
}

/// The sum of a block.
struct Sum<'a, const K: usize, A> {
    grid: &'a Grid,
    block: usize,
    add: &'a A,
    tile: &'a mut Tile<K>,
}

impl<const K: usize, A: Add<K>> Kernel<f64> for Sum<'_, K, A> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<f64>>(self, set: I) {
        let Self { grid, block, add, tile } = self;
        for p in grid.particles(block) {
            add.add(set, p, &grid.weights[p], tile);
        }
    }
}

impl<const K: usize> Tiles<K> {
    /// Sums particles into tiles.
    pub fn scatter(&mut self, grid: &Grid, add: &impl Add<K>) {
        self.0.resize(grid.blocks.len(), [[0.0; K]; TILE]);
        let leaf = |(blocks, tiles): (std::ops::Range<usize>, &mut [Tile<K>])| {
            for (block, tile) in blocks.zip(tiles) {
                tile.as_flattened_mut().fill(0.0);
                simd::run(Sum { grid, block, add, tile });
            }
        };
        let many = parallel::worth(NODES * K * grid.weights.len());
        parallel::each((0..grid.blocks.len(), &mut self.0[..]), 4, many, &leaf);
    }

    /// The sum at a node of a block, over the tiles that contain it.
    pub fn gather(&self, grid: &Grid, block: usize, within: [usize; 3]) -> [f64; K] {
        let mut sum = [0.0; K];
        for k in 0..8 {
            let step = [k & 1, k >> 1 & 1, k >> 2];
            let at: [usize; 3] = std::array::from_fn(|a| within[a] + SIDE * step[a]);
            if at.iter().any(|&c| c >= REACH) {
                continue;
            }
            let side = step.map(|s| 1 - s);
            match grid.around[block][side[0] + 3 * (side[1] + 3 * side[2])] {
                NONE => {}
                source => {
                    let from = &self.0[source as usize][place(at)];
                    (0..K).for_each(|c| sum[c] += from[c]);
                }
            }
        }
        sum
    }
}

/// Fills the tile of a block from values at nodes; `number` gives the position of each node of each block. The fourth
/// number is 0.
pub fn load(grid: &Grid, block: usize, number: &[[u32; CELLS]], values: &[[f64; 3]], tile: &mut Tile<4>) {
    for z in 0..REACH {
        for y in 0..REACH {
            let beside = |x: usize| {
                let side = 13 + x / SIDE + 3 * (y / SIDE) + 9 * (z / SIDE);
                grid.around[block][side]
            };
            for x in 0..REACH {
                let node = match beside(x) {
                    NONE => NONE,
                    b => number[b as usize][local([x % SIDE, y % SIDE, z % SIDE])],
                };
                tile[place([x, y, z])] = if node == NONE {
                    [0.0; 4]
                } else {
                    let [x, y, z] = values[node as usize];
                    [x, y, z, 0.0]
                };
            }
        }
    }
}
