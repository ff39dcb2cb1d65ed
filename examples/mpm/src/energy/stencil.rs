//! The pattern of the Hessian: nodes that share a particle.
//!
//! The neighbours of a node lie up to 2 nodes away on each axis: at most 125 blocks in a row. They are counted
//! by their offset o = (x + 2) + 5 (y + 2) + 25 (z + 2), 0 to 124; 62 is the node itself.

use std::ops::Range;
use std::sync::Arc;

use coarsen::parallel;
use coarsen::sparse::{Bsr, OwnedSystem, Pattern, SparseError};

use crate::constraints::Constraints;
use crate::grid::{Grid, NONE, Nodes};
use crate::weights::{NODES, corner};

/// A block, row by row.
pub type Block = [f64; 9];

/// Δt² V ∂²ψ/∂F'∂F' of a particle: entry (k, l) is the block of derivatives along axes k and l.
pub type Stiffness = [[Block; 3]; 3];

/// The number of offsets.
pub(super) const OFFSETS: usize = 125;
/// The offset of a node to itself.
pub(super) const CENTRE: usize = 62;
/// No neighbour at an offset.
pub(super) const ABSENT: u8 = u8::MAX;

/// The number of rows of a leaf.
pub(super) const ROWS: usize = 64;

/// The offset of node b of a particle from its node a.
pub(super) const fn offset(a: usize, b: usize) -> usize {
    let ([x, y, z], [i, j, k]) = (corner(a), corner(b));
    (i + 2 - x) + 5 * (j + 2 - y) + 25 * (k + 2 - z)
}

/// The offsets that a particle connects to its node a, as bits.
const REACHED: [u128; NODES] = {
    let mut masks = [0_u128; NODES];
    let mut a = 0;
    while a < NODES {
        let mut b = 0;
        while b < NODES {
            masks[a] |= 1 << offset(a, b);
            b += 1;
        }
        a += 1;
    }
    masks
};

/// The neighbours of each free node.
#[derive(Clone, Debug)]
pub struct Stencil {
    /// The block pattern of the Hessian.
    pub pattern: Arc<Pattern>,
    /// The position in its row of the block at each offset; [`ABSENT`] without such a neighbour.
    pub(super) places: Vec<[u8; OFFSETS]>,
    /// The first block of each row among the blocks at offsets from 62, which are in the order of nodes and offsets.
    pub(super) upper: Vec<usize>,
    /// The end of the nodes of each block of the grid among them.
    pub(super) ends: Vec<usize>,
}

/// A row while it is found.
#[derive(Clone)]
struct Row {
    count: u8,
    columns: [u32; OFFSETS],
    places: [u8; OFFSETS],
}

impl Stencil {
    /// Finds the neighbours of all free nodes.
    ///
    /// *Cost* 27 cells and a sort of at most 125 numbers for each row.
    ///
    /// # Errors
    /// [`SparseError`] for a pattern that is too large.
    pub fn new(grid: &Grid, nodes: &Nodes, constraints: &Constraints) -> Result<Self, SparseError> {
        let n = constraints.free.len();
        let mut rows = vec![Row { count: 0, columns: [0; OFFSETS], places: [ABSENT; OFFSETS] }; n];
        let leaf = |(free, rows): (&[u32], &mut [Row])| {
            for (&node, row) in free.iter().zip(rows) {
                find(grid, nodes, constraints, node as usize, row);
            }
        };
        let many = parallel::worth(512 * n);
        parallel::each((&constraints.free[..], &mut rows[..]), ROWS, many, &leaf);
        let mut offsets = Vec::with_capacity(n + 1);
        let mut blocks = 0;
        for row in &rows {
            offsets.push(blocks);
            blocks += usize::from(row.count);
        }
        offsets.push(blocks);
        let (mut upper, mut ends) = (vec![0; n], Vec::with_capacity(nodes.number.len()));
        let mut ahead = 0;
        for numbers in &nodes.number {
            for slot in constraints.slots(numbers).into_iter().filter(|slot| *slot != NONE) {
                upper[slot as usize] = ahead;
                ahead +=
                    rows[slot as usize].places[CENTRE..].iter().filter(|place| **place != ABSENT).count();
            }
            ends.push(ahead);
        }
        let mut indices = Vec::with_capacity(blocks);
        rows.iter().for_each(|row| indices.extend_from_slice(&row.columns[..usize::from(row.count)]));
        let pattern = Arc::new(Pattern::new(n, offsets, indices)?);
        Ok(Self { pattern, places: rows.into_iter().map(|row| row.places).collect(), upper, ends })
    }

    /// A system with this pattern whose values are still to be computed, in the memory of others; its positions are
    /// those of the nodes.
    ///
    /// # Errors
    /// [`SparseError`] for a pattern that is too large.
    pub(super) fn system(
        &self,
        nodes: &Nodes,
        constraints: &Constraints,
    ) -> Result<OwnedSystem<f64>, SparseError> {
        let positions = constraints.free.iter().map(|&node| nodes.positions[node as usize]).collect();
        Ok(OwnedSystem { positions, ..OwnedSystem::from(Bsr::zeros(self.pattern.clone(), (3, 3))?) })
    }
}

/// Calls `f(a, particles)` for each cell whose particles reach a node, as node a of a particle.
#[inline(always)]
pub(super) fn cells(grid: &Grid, nodes: &Nodes, node: usize, mut f: impl FnMut(usize, Range<usize>)) {
    let (block, within) = nodes.home[node];
    let within = within.map(usize::from);
    for a in 0..NODES {
        let away = corner(a).map(|c| -(c as i32));
        if let Some((block, cell)) = grid.beside(block as usize, within, away) {
            let cells = &grid.cells[block];
            let range = cells[cell] as usize..cells[cell + 1] as usize;
            if !range.is_empty() {
                f(a, range);
            }
        }
    }
}

fn find(grid: &Grid, nodes: &Nodes, constraints: &Constraints, node: usize, row: &mut Row) {
    let mut reached = 0_u128;
    cells(grid, nodes, node, |a, _| reached |= REACHED[a]);
    let (block, within) = nodes.home[node];
    let within = within.map(usize::from);
    let mut found = [0_u64; OFFSETS];
    let mut count = 0;
    while reached != 0 {
        let o = reached.trailing_zeros() as usize;
        reached &= reached - 1;
        let away = [o % 5, o / 5 % 5, o / 25].map(|c| c as i32 - 2);
        let beside = grid.beside(block as usize, within, away);
        let other = beside.map_or(u32::MAX, |(block, cell)| nodes.number[block][cell]);
        // A node without mass, or one whose motion is given, is no unknown.
        let slot = if other == u32::MAX { u32::MAX } else { constraints.slot[other as usize] };
        if slot != u32::MAX {
            found[count] = u64::from(slot) << 8 | o as u64;
            count += 1;
        }
    }
    found[..count].sort_unstable();
    row.count = count as u8;
    for (place, &entry) in found[..count].iter().enumerate() {
        row.columns[place] = (entry >> 8) as u32;
        row.places[(entry & 255) as usize] = place as u8;
    }
}
