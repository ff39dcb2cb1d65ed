//! The sums of the Hessian's blocks over the particles around a node.
//!
//! | symbol | here | |
//! |---|---|---|
//! | ∇w_bp | [`Parts::gradients`] | of the nodes b of particle p: lines of three nodes along x, each with a zero after it |
//! | K_kl | `stiffness[k][l]` | the stiffness of a particle |
//! | h_l | [`Parts::halves`] | Σ_k ∂w_ap/∂x_k K_kl, of the node a whose row is summed |
//!
//! > H_ab = Σ_p Σ_l ∂w_bp/∂x_l h_l    for the particles of a cell, whose nodes a and b are the same
//!
//! The rows of a layer of 4 x 4 nodes are summed at once, so that the gradients of a particle serve several of them.
//! A block has nine entries, which fill no register. So lanes are the nodes b of a line: a particle takes three
//! multiply-adds for each entry and line, and the sums of a cell stay in nine registers.

use coarsen_core::simd::{Kernel, Pack, Set};

use crate::grid::{CELLS, Grid, NONE, SIDE, eight, four, store};
use crate::weights::Weights;

use super::hessian::{ABSENT, Block, CENTRE, OFFSETS, Stiffness, offset};

/// The most particles whose blocks are summed at once.
const MANY: usize = 8;
/// The lines of nodes along x, and the lanes of a line.
const LINES: usize = 9;
const LINE: usize = 4;
/// The lanes of a particle.
const LANES: usize = LINES * LINE;
/// The nodes of a layer of a block, and the cells whose particles reach it.
const LAYER: usize = SIDE * SIDE;
const REACHED: usize = (SIDE + 2) * (SIDE + 2) * 3;
/// The first offset of a row that is summed: nodes beside a on its line are summed too, and not used.
const FIRST: usize = CENTRE - 2;
/// The offsets of a row that are summed, and one more for the zero after the last.
const WIDTH: usize = OFFSETS - FIRST + 1;

/// A row, entry by entry: `row[e][o − FIRST]` is entry e of the block at offset o.
type Row = [[f64; WIDTH]; 9];

/// The rows of the free nodes of a block of the grid, at offsets from 62 on.
pub(super) struct Gather<'a> {
    pub(super) grid: &'a Grid,
    /// The block, and the slots of its nodes.
    pub(super) block: usize,
    pub(super) slots: [u32; CELLS],
    /// The place in its row of the block at each offset, for all slots.
    pub(super) places: &'a [[u8; OFFSETS]],
    pub(super) stiffness: &'a [Stiffness],
    pub(super) to: &'a mut [Block],
}

impl Kernel<f64> for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<f64>>(self, set: I) {
        let Self { grid, block, slots, places, stiffness, to } = self;
        let mut parts = Parts { gradients: [[[0.0; LANES]; 3]; MANY], halves: [[0.0; 27]; MANY] };
        let mut rest = to;
        for (z, slots) in slots.as_chunks::<LAYER>().0.iter().enumerate() {
            if slots.iter().all(|slot| *slot == NONE) {
                continue;
            }
            let mut rows = [[[0.0; WIDTH]; 9]; LAYER];
            for away in 0..REACHED {
                let cell = [away % 6, away / 6 % 6, z + away / 36].map(|c| c as i32 - 2);
                let Some((beside, within)) = grid.beside(block, [0; 3], cell) else { continue };
                let particles = grid.cells[beside][within] as usize..grid.cells[beside][within + 1] as usize;
                for first in particles.clone().step_by(MANY) {
                    let some = first..particles.end.min(first + MANY);
                    parts.differentiate(set, &grid.weights[some.clone()]);
                    for (k, row) in rows.iter_mut().enumerate().filter(|(k, _)| slots[*k] != NONE) {
                        let node = [k % SIDE, k / SIDE, z].map(|c| c as i32);
                        let [i, j, l] = [0, 1, 2].map(|axis| node[axis] - cell[axis]);
                        if (0..3).contains(&i) && (0..3).contains(&j) {
                            parts.add(set, (i + 3 * (j + 3 * l)) as usize, &stiffness[some.clone()], row);
                        }
                    }
                }
            }
            for (row, slot) in rows.iter().zip(slots).filter(|(_, slot)| **slot != NONE) {
                let kept = places[*slot as usize][CENTRE..].iter().zip(CENTRE - FIRST..);
                for (_, o) in kept.filter(|(place, _)| **place != ABSENT) {
                    let (block, after) = rest.split_first_mut().expect("as long as all blocks");
                    *block = std::array::from_fn(|e| row[e][o]);
                    rest = after;
                }
            }
        }
    }
}

/// What the sums need of some particles of a cell.
struct Parts {
    /// One axis after the other; lanes without a node stay 0.
    gradients: [[[f64; LANES]; 3]; MANY],
    halves: [[f64; 27]; MANY],
}

impl Parts {
    /// Takes the gradients of at most [`MANY`] particles.
    #[inline(always)]
    fn differentiate<I: Set<f64>>(&mut self, set: I, weights: &[Weights]) {
        for (weights, gradients) in weights.iter().zip(&mut self.gradients) {
            lines(set, weights, gradients);
        }
    }

    /// Adds the blocks of these particles to the row of their node a.
    #[inline(always)]
    fn add<I: Set<f64>>(&mut self, set: I, a: usize, stiffness: &[Stiffness], row: &mut Row) {
        let Self { gradients, halves } = self;
        let line = a / 3; // lines before it lie below the diagonal
        for ((k, g), half) in stiffness.iter().zip(&*gradients).zip(&mut *halves) {
            halve(set, [0, 1, 2].map(|axis| g[axis][LINE * line + a % 3]), k, half);
        }
        for line in line..LINES {
            let mut sums = [I::Four::zero(set); 9];
            for (g, half) in gradients.iter().zip(&*halves).take(stiffness.len()) {
                for (g, half) in g.iter().zip(half.as_chunks::<9>().0) {
                    let g = four(set, g, LINE * line);
                    for (sum, half) in sums.iter_mut().zip(half) {
                        *sum = g.mul_add(I::Four::splat(set, *half), *sum);
                    }
                }
            }
            let (to, one) = (offset(a, 3 * line) - FIRST, I::Four::splat(set, 1.0));
            for (row, sum) in row.iter_mut().zip(&sums) {
                store(sum.mul_add(one, four(set, row, to)), row, to);
            }
        }
    }
}

/// ∇w of the nodes of a particle.
#[inline(always)]
fn lines<I: Set<f64>>(set: I, weights: &Weights, to: &mut [[f64; LANES]; 3]) {
    let Weights { w, dw, .. } = weights;
    let along = |[a, b, c]: [f64; 3]| four(set, &[a, b, c, 0.0], 0);
    let (x, dx, zero) = (along(w[0]), along(dw[0]), I::Four::zero(set));
    for k in 0..3 {
        for j in 0..3 {
            let factors = [(dx, w[1][j] * w[2][k]), (x, dw[1][j] * w[2][k]), (x, w[1][j] * dw[2][k])];
            for ((x, factor), to) in factors.into_iter().zip(&mut *to) {
                store(x.mul_add(I::Four::splat(set, factor), zero), to, LINE * (j + 3 * k));
            }
        }
    }
}

/// h from ∇w_a and K.
#[inline(always)]
fn halve<I: Set<f64>>(set: I, gradient: [f64; 3], stiffness: &Stiffness, half: &mut [f64; 27]) {
    let [x, y, z] = gradient.map(|g| I::Eight::splat(set, g));
    let [first, second, third] = [0, 1, 2].map(|k| stiffness[k].as_flattened());
    for at in [0, 8, 16, 19] {
        let sum = x.mul_add(eight(set, first, at), I::Eight::zero(set));
        let sum = z.mul_add(eight(set, third, at), y.mul_add(eight(set, second, at), sum));
        store(sum, half, at);
    }
}
