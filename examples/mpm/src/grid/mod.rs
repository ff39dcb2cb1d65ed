//! The sparse grid: blocks of 4 x 4 x 4 nodes around the particles.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Grid`]: occupied blocks, the particles of each cell, the numbers of the nodes |
//! | `sort` | particles in the order of their blocks and cells |
//! | `tiles` | [`Tiles`]: values on the nodes that a block reaches; sums without atomics |
//! | `axes` | sums over the nodes of a particle, one axis after the other |
//! | `packs` | packs of numbers from slices, and back |
//! | `transfer` | [`Nodes`]: APIC from particles to nodes and back |
//!
//! A cell is named by the node with its lowest coordinates. A particle lies in the cell of its base node and
//! reaches nodes 0, 1, 2 cells further on each axis. Blocks are sorted by the Morton code of their
//! coordinates, so the map does not depend on the order of particles or on the number of threads.

mod axes;
pub(crate) mod packs;
mod sort;
mod tiles;
mod transfer;

use crate::fault::StepError;
use crate::particles::Particle;
use crate::weights::Weights;

pub(crate) use axes::{gradient, spread};
pub(crate) use tiles::{Add, load, places};
pub use tiles::{REACH, TILE, Tile, Tiles};
pub use transfer::Nodes;
pub(crate) use transfer::{each_block, fold_blocks};

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
    /// [`StepError::Outside`] for a particle that is not finite or too far away.
    pub fn around(particles: &mut Vec<Particle>, dx: f64) -> Result<Self, StepError> {
        let (keys, weights) = sort::by_cell(particles, dx)?;
        let codes = occupied(&keys);
        let find = |code: u64| codes.binary_search(&code).ok();
        let blocks: Vec<[i32; 3]> = codes.iter().map(|&code| sort::decode(code)).collect();
        let neighbours = |block: &[i32; 3]| {
            std::array::from_fn(|k| {
                let [i, j, l] = [k % 3, k / 3 % 3, k / 9].map(|k| k as i32 - 1);
                let beside = sort::encode([block[0] + i, block[1] + j, block[2] + l]);
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
        let (block, cell) = (sort::decode(key >> 6), (key & 63) as usize);
        let within = [cell % SIDE, cell / SIDE % SIDE, cell / (SIDE * SIDE)];
        let ends = within.map(|c| i32::from(c + 2 >= SIDE));
        for k in 0..8 {
            let step = [k & 1, k >> 1 & 1, k >> 2];
            if (0..3).all(|a| step[a] <= ends[a]) {
                codes.push(sort::encode(std::array::from_fn(|a| block[a] + step[a])));
            }
        }
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}
