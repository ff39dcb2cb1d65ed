//! A Hessian to which particles add their blocks, as most codes do. Blocks of the grid in eight colours write to
//! different nodes, so that threads need no atomics.

use std::ops::Range;

use coarsen::sparse::Pattern;
use coarsen_core::parallel::{self, Shared};
use coarsen_core::simd::{self, Kernel, Set};
use mpm::constraints::Constraints;
use mpm::energy::Stiffness;
use mpm::grid::{Grid, NONE, Nodes};
use mpm::weights::{NODES, corner};

/// A block, row by row.
pub(crate) type Block = [f64; 9];

/// The number of offsets of neighbours from 62 on, the node itself: those above the diagonal in the order of offsets.
const AHEAD: usize = 63;

/// Where particles add.
pub(crate) struct Scatter<'a> {
    grid: &'a Grid,
    nodes: &'a Nodes,
    constraints: &'a Constraints,
    /// The place of the block of a free node at each offset from 62 on.
    places: Vec<[u32; AHEAD]>,
    count: usize,
    /// The blocks of the grid in each colour.
    colours: [Vec<usize>; 8],
}

impl<'a> Scatter<'a> {
    /// Numbers the blocks in the order of nodes and offsets.
    pub(crate) fn new(
        grid: &'a Grid,
        nodes: &'a Nodes,
        constraints: &'a Constraints,
        pattern: &Pattern,
    ) -> Self {
        let mut colours: [Vec<usize>; 8] = Default::default();
        for (block, at) in grid.blocks.iter().enumerate() {
            let odd = at.map(|c| (c & 1) as usize);
            colours[odd[0] + 2 * odd[1] + 4 * odd[2]].push(block);
        }
        let (mut places, mut count) = (vec![[NONE; AHEAD]; constraints.free.len()], 0);
        for (&slot, &(home, within)) in
            constraints.slot.iter().zip(&nodes.home).filter(|(slot, _)| **slot != NONE)
        {
            let slot = slot as usize;
            for (o, place) in (AHEAD - 1..).zip(places[slot].iter_mut()) {
                let away = [o % 5, o / 5 % 5, o / 25].map(|c| c as i32 - 2);
                let Some((block, cell)) = grid.beside(home as usize, within.map(usize::from), away) else {
                    continue;
                };
                let other = nodes.number[block][cell];
                let column = if other == NONE { NONE } else { constraints.slot[other as usize] };
                if column != NONE && pattern.find(slot, column as usize).is_some() {
                    *place = count;
                    count += 1;
                }
            }
        }
        Self { grid, nodes, constraints, places, count: count as usize, colours }
    }

    /// Zeros for all blocks.
    pub(crate) fn zeros(&self) -> Vec<Block> {
        vec![[0.0; 9]; self.count]
    }

    /// Computes all blocks.
    pub(crate) fn sum(&self, stiffness: &[Stiffness], blocks: &mut [Block]) {
        let many = parallel::worth(NODES * NODES * stiffness.len());
        parallel::each(&mut blocks[..], 1 << 14, many, &|part: &mut [Block]| part.fill([0.0; 9]));
        let shared = Shared::new(blocks);
        for colour in &self.colours {
            let leaf = |range: Range<usize>| {
                for &block in &colour[range] {
                    simd::run(Add { scatter: self, block, stiffness, blocks: shared });
                }
            };
            parallel::each(0..colour.len(), 1, many, &leaf);
        }
    }

    /// The largest difference from other blocks in the same order, over the largest entry.
    pub(crate) fn difference(&self, blocks: &[Block], others: &[Block]) -> f64 {
        assert_eq!(blocks.len(), others.len(), "the same blocks");
        let (mut gap, mut most) = (0.0_f64, 0.0_f64);
        for (x, y) in blocks.as_flattened().iter().zip(others.as_flattened()) {
            (gap, most) = (gap.max((x - y).abs()), most.max(y.abs()));
        }
        gap / most
    }
}

/// The particles of a block of the grid add to their nodes.
struct Add<'a> {
    scatter: &'a Scatter<'a>,
    block: usize,
    stiffness: &'a [Stiffness],
    blocks: Shared<'a, Block>,
}

impl Kernel<f64> for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<f64>>(self, set: I) {
        let Self { scatter: Scatter { grid, nodes, constraints, places, .. }, block, stiffness, blocks } =
            self;
        for cell in 0..grid.cells[block].len() - 1 {
            let particles = grid.cells[block][cell] as usize..grid.cells[block][cell + 1] as usize;
            if particles.is_empty() {
                continue;
            }
            let within = [cell % 4, cell / 4 % 4, cell / 16];
            let slots: [u32; NODES] = std::array::from_fn(|a| {
                let beside = grid.beside(block, within, corner(a).map(|c| c as i32));
                let node = beside.map_or(NONE, |(block, cell)| nodes.number[block][cell]);
                if node == NONE { NONE } else { constraints.slot[node as usize] }
            });
            for p in particles {
                let (weights, stiffness) = (&grid.weights[p], &stiffness[p]);
                for a in (0..NODES).filter(|&a| slots[a] != NONE) {
                    let g = weights.gradient(corner(a));
                    let mut half = [[0.0; 9]; 3];
                    for l in 0..3 {
                        for e in 0..9 {
                            let first = g[0] * stiffness[0][l][e];
                            half[l][e] = set.mul_add(
                                g[2],
                                stiffness[2][l][e],
                                set.mul_add(g[1], stiffness[1][l][e], first),
                            );
                        }
                    }
                    let row = &places[slots[a] as usize];
                    for b in a..NODES {
                        let ([x, y, z], [i, j, k]) = (corner(a), corner(b));
                        let place = row[(i + 2 - x) + 5 * (j + 2 - y) + 25 * (k + 2 - z) - (AHEAD - 1)];
                        if place == NONE {
                            continue;
                        }
                        let g = weights.gradient(corner(b));
                        // SAFETY: blocks of one colour reach different nodes, and a place belongs to its row.
                        let to = unsafe { &mut *blocks.get().add(place as usize) };
                        for e in 0..9 {
                            let sum = set.mul_add(g[0], half[0][e], to[e]);
                            to[e] = set.mul_add(g[2], half[2][e], set.mul_add(g[1], half[1][e], sum));
                        }
                    }
                }
            }
        }
    }
}
