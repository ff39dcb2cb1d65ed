//! The sparse grid: blocks of 4 x 4 x 4 nodes around the particles.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Grid`]: occupied blocks, the particles of each cell, the numbers of the nodes |
//! | `tiles` | [`Tiles`]: values on the nodes that a block reaches; sums without atomics |
//! | `transfer` | [`Nodes`]: APIC from particles to nodes and back |
//!
//! A cell is named by the node with its lowest coordinates. A particle lies in the cell of its base node and
//! reaches nodes 0, 1, 2 cells further on each axis. Blocks are sorted by the Morton code of their
//! coordinates, so the map does not depend on the order of particles or on the number of threads.

mod tiles;
mod transfer;

use coarsen::parallel;

use crate::fault::StepError;
use crate::particles::Particle;
use crate::weights::Weights;

pub use tiles::{Add, REACH, TILE, Tile, Tiles, load};
pub use transfer::{Nodes, each_block, gradient, spread};
pub(crate) use transfer::{eight, fold_blocks, four, pieces, store};

/// The number of cells along the side of a block.
pub const SIDE: usize = 4;
/// The number of cells in a block.
pub const CELLS: usize = SIDE * SIDE * SIDE;

/// No node, or no block.
pub const NONE: u32 = u32::MAX;

/// The blocks around the particles.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Δx, m.
    pub dx: f64,
    /// The coordinates of the first node of each block, in units of 4 Δx.
    pub blocks: Vec<[i32; 3]>,
    /// The 27 blocks around each block, x first; [`NONE`] where there is none.
    pub around: Vec<[u32; 27]>,
    /// The particles of cell k of a block are `cells[k]..cells[k + 1]`.
    pub cells: Vec<[u32; CELLS + 1]>,
    /// The weights of each particle.
    pub weights: Vec<Weights>,
}

/// The position of a cell or node in its block, from coordinates of 0 to 3.
#[inline(always)]
pub const fn local([x, y, z]: [usize; 3]) -> usize {
    x + SIDE * (y + SIDE * z)
}

/// The coordinates of the block of a node, and those of the node in its block.
#[inline(always)]
pub fn split(node: [i32; 3]) -> ([i32; 3], [usize; 3]) {
    (node.map(|c| c >> 2), node.map(|c| (c & 3) as usize))
}

impl Grid {
    /// Builds the grid around particles, and sorts them by block and cell.
    ///
    /// *Cost* a sort of the particles, and 27 searches for each block.
    ///
    /// # Errors
    /// [`StepError::Particle`] for a particle that is not finite or too far away.
    pub fn around(particles: &mut Vec<Particle>, dx: f64) -> Result<Self, StepError> {
        let (keys, weights) = by_cell(particles, dx)?;
        let codes = occupied(&keys);
        let find = |code: u64| codes.binary_search(&code).ok();
        let blocks: Vec<[i32; 3]> = codes.iter().map(|&code| decode(code)).collect();
        let neighbours = |block: &[i32; 3]| {
            std::array::from_fn(|k| {
                let [i, j, l] = [k % 3, k / 3 % 3, k / 9].map(|k| k as i32 - 1);
                let beside = encode([block[0] + i, block[1] + j, block[2] + l]);
                find(beside).map_or(NONE, |b| b as u32)
            })
        };
        let around = blocks.iter().map(neighbours).collect();
        let mut cells = vec![[0; CELLS + 1]; blocks.len()];
        let mut at = 0;
        for (cells, &code) in cells.iter_mut().zip(&codes) {
            cells[0] = at as u32;
            for cell in 0..CELLS {
                let key = code << 6 | cell as u64;
                while at < keys.len() && keys[at] == key {
                    at += 1;
                }
                cells[cell + 1] = at as u32;
            }
        }
        Ok(Self { dx, blocks, around, cells, weights })
    }

    /// The particles of a block.
    #[inline]
    pub fn particles(&self, block: usize) -> std::ops::Range<usize> {
        self.cells[block][0] as usize..self.cells[block][CELLS] as usize
    }

    /// The coordinates of a node of a block, in units of Δx.
    pub fn coordinates(&self, block: usize, node: usize) -> [i32; 3] {
        let within = [node % SIDE, node / SIDE % SIDE, node / (SIDE * SIDE)];
        std::array::from_fn(|k| SIDE as i32 * self.blocks[block][k] + within[k] as i32)
    }

    /// The block and the local number of the node at an offset of less than 4 from a node of a block.
    #[inline(always)]
    pub fn beside(&self, block: usize, within: [usize; 3], offset: [i32; 3]) -> Option<(usize, usize)> {
        let at: [i32; 3] = std::array::from_fn(|k| within[k] as i32 + offset[k]);
        let side = |k: usize| ((at[k] >> 2) + 1) as usize;
        match self.around[block][side(0) + 3 * (side(1) + 3 * side(2))] {
            NONE => None,
            beside => Some((beside as usize, local(at.map(|c| (c & 3) as usize)))),
        }
    }
}

/// The sorted codes of all blocks with nodes that a particle reaches.
fn occupied(keys: &[u64]) -> Vec<u64> {
    let mut codes = Vec::new();
    let mut last = None;
    for &key in keys {
        if last == Some(key) {
            continue;
        }
        last = Some(key);
        let (block, cell) = (decode(key >> 6), (key & 63) as usize);
        let within = [cell % SIDE, cell / SIDE % SIDE, cell / (SIDE * SIDE)];
        let ends = within.map(|c| i32::from(c + 2 >= SIDE));
        for k in 0..8 {
            let step = [k & 1, k >> 1 & 1, k >> 2];
            if (0..3).all(|a| step[a] <= ends[a]) {
                codes.push(encode(std::array::from_fn(|a| block[a] + step[a])));
            }
        }
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Coordinates of blocks are between −2¹⁸ and 2¹⁸.
const HALF: i32 = 1 << 18;

/// The particles of a leaf.
const LEAF: usize = 1024;

/// Sorts particles by block and cell, equal ones by their earlier order. Returns the key of each particle, its
/// block and its cell, and the weights.
fn by_cell(particles: &mut Vec<Particle>, dx: f64) -> Result<(Vec<u64>, Vec<Weights>), StepError> {
    let limit = dx * f64::from((HALF - 2) * SIDE as i32);
    let outside = |p: &Particle| !p.x.iter().all(|x| x.abs() < limit);
    if let Some(particle) = parallel::position(particles, outside) {
        let [x, y, z] = particles[particle].x;
        let why = format!(
            "is at [{x:.3e}, {y:.3e}, {z:.3e}] m, but coordinates must be finite and below {limit:.3e} m; check the \
             velocities and gravity of the scene, or take a larger --dx"
        );
        return Err(StepError::Particle { particle, why });
    }
    let mut keys = vec![(0_u64, 0_u32); particles.len()];
    let leaf = |(range, keys): (std::ops::Range<usize>, &mut [(u64, u32)])| {
        for (p, key) in range.zip(keys) {
            let (block, [i, j, k]) = split(Weights::at(particles[p].x, dx).base);
            *key = (encode(block) << 6 | (i + SIDE * (j + SIDE * k)) as u64, p as u32);
        }
    };
    let many = parallel::worth(64 * particles.len());
    parallel::each((0..particles.len(), &mut keys[..]), LEAF, many, &leaf);
    keys.sort_unstable();
    let sorted: Vec<Particle> = keys.iter().map(|&(_, p)| particles[p as usize]).collect();
    *particles = sorted;
    let mut weights = vec![Weights::default(); particles.len()];
    parallel::each((&particles[..], &mut weights[..]), LEAF, many, &|(from, to): (&[Particle], &mut [_])| {
        to.iter_mut().zip(from).for_each(|(w, p)| *w = Weights::at(p.x, dx));
    });
    Ok((keys.into_iter().map(|(key, _)| key).collect(), weights))
}

/// The Morton code of a block; x has the lowest bit.
fn encode(block: [i32; 3]) -> u64 {
    let spread = |c: i32| {
        let mut v = (c + HALF) as u64;
        v = (v | v << 32) & 0x001f_0000_0000_ffff;
        v = (v | v << 16) & 0x001f_0000_ff00_00ff;
        v = (v | v << 8) & 0x100f_00f0_0f00_f00f;
        v = (v | v << 4) & 0x10c3_0c30_c30c_30c3;
        (v | v << 2) & 0x1249_2492_4924_9249
    };
    spread(block[0]) | spread(block[1]) << 1 | spread(block[2]) << 2
}

/// The block of a code.
fn decode(code: u64) -> [i32; 3] {
    let gather = |code: u64| {
        let mut v = code & 0x1249_2492_4924_9249;
        v = (v | v >> 2) & 0x10c3_0c30_c30c_30c3;
        v = (v | v >> 4) & 0x100f_00f0_0f00_f00f;
        v = (v | v >> 8) & 0x001f_0000_ff00_00ff;
        v = (v | v >> 16) & 0x001f_0000_0000_ffff;
        ((v | v >> 32) & 0x001f_ffff) as i32 - HALF
    };
    [gather(code), gather(code >> 1), gather(code >> 2)]
}
