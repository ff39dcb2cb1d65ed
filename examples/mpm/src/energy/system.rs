//! The Hessian as a system: the transposes below the diagonal, inertia, and constraints.
//!
//! > A_ij = S_i H_ij S_j + δ_ij s_i (I − S_i)
//!
//! A node that slips has a projection S onto its free directions; the held direction gets the mean s of the
//! diagonal, so that A stays definite. Δv has no part along it. Wang et al. 2020 (HOT), §4.1.

use std::ops::Range;

use coarsen::parallel;
use coarsen::sparse::{OwnedSystem, SparseError, SystemAt};

use crate::constraints::{Constraints, Hold};
use crate::particles::{IDENTITY, Matrix, mul};

use super::hessian::Hessian;
use super::stencil::{ABSENT, Block, CENTRE, OFFSETS, ROWS};
use super::{Given, Increment};

impl SystemAt for Increment<'_> {
    /// The system at z with projected modes; the last one is kept.
    fn system_at(&mut self, z: &[f64]) -> Result<&OwnedSystem<f64>, SparseError> {
        if self.assembled.len() != z.len() || self.assembled != z || z.is_empty() {
            self.assembled.clear();
            self.evaluate(z);
            let mut stiffness = std::mem::take(&mut self.hessian.stiffness);
            self.stiffnesses(self.project, &mut stiffness);
            self.hessian.stiffness = stiffness;
            let rubs = self.given.constraints.stiffness_of_friction(&self.velocities, self.project);
            self.hessian.assemble(&self.given, &rubs);
            if let Some(coarser) = &mut self.coarser {
                coarser.follow(&self.hessian.stiffness);
            }
            self.assembled.extend_from_slice(z);
        }
        Ok(&self.hessian.system)
    }

    fn project(&mut self, stand_in: bool) -> bool {
        if self.project != stand_in {
            self.assembled.clear();
        }
        self.project = stand_in;
        true
    }
}

impl Hessian {
    /// Writes all rows from the blocks at offsets from 62 on.
    pub(super) fn complete(&mut self, given: &Given<'_>, rubs: &[Matrix]) {
        let Given { nodes, constraints, .. } = *given;
        let Self { stencil, upper, system, .. } = self;
        let (pattern, n) = (&stencil.pattern, constraints.free.len());
        let mut rest = system.matrix.values_mut();
        let mut parts = Vec::with_capacity(n.div_ceil(ROWS));
        for first in (0..n).step_by(ROWS) {
            let blocks = pattern.offsets()[n.min(first + ROWS)] - pattern.offsets()[first];
            let (part, after) = rest.split_at_mut(9 * blocks);
            parts.push(part);
            rest = after;
        }
        let (upper, places, starts) = (&upper[..], &stencil.places[..], &stencil.upper[..]);
        // The number of the block at each offset from 62 on among those of its row.
        let rank = |row: usize, o: usize| {
            starts[row] + places[row][CENTRE..o].iter().filter(|place| **place != ABSENT).count()
        };
        let write = |row: usize, values: &mut [f64]| {
            let columns = pattern.row(row);
            let mut ahead = starts[row];
            for o in 0..OFFSETS {
                let place = places[row][o];
                if place == ABSENT {
                    continue;
                }
                let out = &mut values[9 * usize::from(place)..9 * usize::from(place) + 9];
                if o >= CENTRE {
                    out.copy_from_slice(&upper[ahead]);
                    ahead += 1;
                } else {
                    let column = columns[usize::from(place)] as usize;
                    let mirror = &upper[rank(column, 2 * CENTRE - o)];
                    (0..9).for_each(|e| out[e] = mirror[3 * (e % 3) + e / 3]);
                }
            }
            let diagonal = 9 * usize::from(places[row][CENTRE]);
            let mass = nodes.masses[constraints.free[row] as usize];
            if let Some(rub) = rubs.get(row) {
                values[diagonal..diagonal + 9].iter_mut().zip(rub.as_flattened()).for_each(|(h, r)| *h += r);
            }
            if constraints.slips {
                constrain(constraints, row, columns, diagonal, values);
            }
            symmetrise(&mut values[diagonal..diagonal + 9], mass);
        };
        let leaf = |(leaves, parts): (Range<usize>, &mut [&mut [f64]])| {
            for (leaf, part) in leaves.zip(parts) {
                let range = ROWS * leaf..n.min(ROWS * (leaf + 1));
                let first = pattern.offsets()[range.start];
                for row in range {
                    let blocks = pattern.range(row);
                    write(row, &mut part[9 * (blocks.start - first)..9 * (blocks.end - first)]);
                }
            }
        };
        let many = parallel::worth(9 * pattern.len());
        parallel::each((0..parts.len(), &mut parts[..]), 1, many, &leaf);
    }
}

/// Projects a row onto the free directions of its node and of its neighbours.
fn constrain(constraints: &Constraints, row: usize, columns: &[u32], diagonal: usize, values: &mut [f64]) {
    let free = |slot: usize| match &constraints.holds[constraints.free[slot] as usize] {
        Hold::Slip { free, .. } => Some(*free),
        _ => None,
    };
    let own = free(row);
    let mean = (values[diagonal] + values[diagonal + 4] + values[diagonal + 8]) / 3.0;
    for (place, &column) in columns.iter().enumerate() {
        let other = free(column as usize);
        if own.is_none() && other.is_none() {
            continue;
        }
        let block: &mut Block = (&mut values[9 * place..9 * place + 9]).try_into().expect("nine numbers");
        let (own, other) = (own.unwrap_or(IDENTITY), other.unwrap_or(IDENTITY));
        // Both blocks of a pair are computed as the one above the diagonal, so that they agree to the bit.
        let above = column as usize >= row;
        let entry = |i: usize, j: usize| if above { block[3 * i + j] } else { block[3 * j + i] };
        let h: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)));
        let h = if above { mul(&own, &mul(&h, &other)) } else { mul(&other, &mul(&h, &own)) };
        for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
            block[3 * i + j] = if above { h[i][j] } else { h[j][i] };
        }
    }
    if let Some(own) = own {
        for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
            values[diagonal + 3 * i + j] += mean * (IDENTITY[i][j] - own[i][j]);
        }
    }
}

/// Adds the mass to a diagonal block, and makes it symmetric to the bit.
fn symmetrise(block: &mut [f64], mass: f64) {
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        let mean = 0.5 * (block[3 * i + j] + block[3 * j + i]);
        (block[3 * i + j], block[3 * j + i]) = (mean, mean);
    }
    (0..3).for_each(|k| block[4 * k] += mass);
}
