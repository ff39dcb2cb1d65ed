//! The Hessian, gathered row by row from the particles around each node, and the system with constraints.
//!
//! > H_ij = Σ_p Δt² V_p Σ_kl ∂²ψ/∂F'_k ∂F'_l ∇w_ip,k ∇w_jp,l + δ_ij m_i I
//! > A_ij = S_i H_ij S_j + δ_ij s_i (I − S_i)
//!
//! where F' = F_p F_pⁿ⁻¹ is the deformation of the step. Rows are independent, so no atomics are needed, and
//! the order of the sums is that of the cells and particles. A node that slips has a projection S onto its free
//! directions; the held direction gets the mean s of the diagonal, so that A stays definite. Δv has no part along it.
//!
//! The neighbours of a node lie up to 2 nodes away on each axis: at most 125 blocks in a row. They are counted by their
//! offset o = (x + 2) + 5 (y + 2) + 25 (z + 2), 0 to 124; 62 is the node itself. Only blocks at offsets from 62 on are
//! summed; the others are their transposes. *Reference* Wang et al. 2020 (HOT), §4.1; §8 names gathering as future work.

use std::mem::replace;
use std::ops::Range;
use std::sync::Arc;

use coarsen::elastic::{Density, FixedCoRotated, Lame, Modes};
use coarsen::parallel;
use coarsen::sparse::{Bsr, OwnedSystem, Pattern, SparseError, SystemAt};
use coarsen_core::simd;

use crate::constraints::{Constraints, NodeConstraint};
use crate::grid::{Grid, NONE, Nodes, each_block, pieces};
use crate::particles::{IDENTITY, Matrix, mul, mul_transposed};
use crate::weights::{NODES, corner};

use super::gather::Gather;
use super::{Given, Increment};

/// A block, row by row.
pub type Block = [f64; 9];

/// Δt² V ∂²ψ/∂F'∂F' of a particle: entry (k, l) is the block of derivatives along axes k and l.
pub type Stiffness = [[Block; 3]; 3];

pub(super) const OFFSETS: usize = 125;
/// The offset of a node to itself.
pub(super) const CENTRE: usize = 62;
/// No neighbour at an offset.
pub(super) const ABSENT: u8 = u8::MAX;

/// The number of rows of a leaf.
const ROWS: usize = 64;

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
struct Stencil {
    /// The block pattern of the Hessian.
    pattern: Arc<Pattern>,
    /// The position in its row of the block at each offset; [`ABSENT`] without such a neighbour.
    places: Vec<[u8; OFFSETS]>,
    /// The first block of each row among the blocks at offsets from 62, which are in the order of nodes and offsets.
    upper: Vec<usize>,
    /// The end of the nodes of each block of the grid among them.
    ends: Vec<usize>,
}

/// A row while it is found.
#[derive(Clone)]
struct Row {
    count: u8,
    columns: [u32; OFFSETS],
    places: [u8; OFFSETS],
}

impl Stencil {
    /// Finds the neighbours of all free nodes: 27 cells and a sort of at most 125 numbers for each row.
    fn new(grid: &Grid, nodes: &Nodes, constraints: &Constraints) -> Result<Self, SparseError> {
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

/// The Hessian of one set of nodes.
#[derive(Clone, Debug)]
pub struct Hessian {
    stencil: Stencil,
    /// The matrix with the positions of the free nodes.
    pub system: OwnedSystem<f64>,
    /// The stiffness of each particle.
    pub stiffness: Vec<Stiffness>,
    /// The blocks at offsets from 62 on of all rows, row by row in the order of nodes and offsets; without inertia.
    pub upper: Vec<Block>,
}

impl Hessian {
    /// Returns a matrix with the pattern of the free nodes, without its values.
    ///
    /// # Errors
    /// Those of the sparse pattern.
    pub fn new(grid: &Grid, nodes: &Nodes, constraints: &Constraints) -> Result<Self, SparseError> {
        Self::in_memory(grid, nodes, constraints, None)
    }

    /// As [`new`](Self::new), in the memory of another Hessian.
    pub(super) fn in_memory(
        grid: &Grid,
        nodes: &Nodes,
        constraints: &Constraints,
        old: Option<Self>,
    ) -> Result<Self, SparseError> {
        let (stiffness, upper) = old.map(|old| (old.stiffness, old.upper)).unwrap_or_default();
        let stencil = Stencil::new(grid, nodes, constraints)?;
        let positions = constraints.free.iter().map(|&node| nodes.positions[node as usize]).collect();
        let matrix = Bsr::zeros(stencil.pattern.clone(), (3, 3))?;
        Ok(Self { stencil, system: OwnedSystem { positions, ..matrix.into() }, stiffness, upper })
    }

    /// Computes the system from the stiffness of the particles, of `given` with the nodes of this Hessian. `rubs` has
    /// the stiffness of friction of each free node; it is empty without friction.
    pub fn assemble(&mut self, given: &Given<'_>, rubs: &[Matrix]) {
        self.gather(given);
        self.complete(given, rubs);
    }

    /// Computes the blocks at offsets from 62 on from the stiffness of the particles, as every assembly does.
    ///
    /// *Cost* 27 visits of each particle, with five lines of three blocks in the mean, of which 14 are used.
    pub fn gather(&mut self, given: &Given<'_>) {
        let Given { grid, nodes, particles, constraints, .. } = *given;
        let Self { stencil: Stencil { ends, places, .. }, stiffness, upper, .. } = self;
        upper.resize(ends.last().copied().unwrap_or(0), [0.0; 9]);
        let mut parts = pieces(upper, ends.iter().scan(0, |start, end| Some(end - replace(start, *end))));
        let (stiffness, places) = (&stiffness[..], &places[..]);
        let leaf = |(blocks, parts): (Range<usize>, &mut [&mut [Block]])| {
            for (block, part) in blocks.zip(parts) {
                let slots = constraints.slots(&nodes.number[block]);
                simd::run(Gather { grid, block, slots, places, stiffness, to: part });
            }
        };
        let many = parallel::worth(NODES * NODES * particles.len());
        parallel::each((0..parts.len(), &mut parts[..]), 1, many, &leaf);
    }
}

/// The stiffness of a particle from the modes of ψ at F; negative eigenvalues become 0 if `project`.
fn stiffness(modes: &Modes, before: &Matrix, scale: f64, project: bool) -> Stiffness {
    let mut sum = Stiffness::default();
    for (value, mode) in modes.values.iter().zip(&modes.matrices) {
        let value = scale * if project { value.max(0.0) } else { *value };
        if value == 0.0 {
            continue;
        }
        let q = mul_transposed(mode, before);
        for (k, l) in (0..9).map(|kl| (kl / 3, kl % 3)) {
            for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
                sum[k][l][3 * i + j] += value * q[i][k] * q[j][l];
            }
        }
    }
    sum
}

impl Increment<'_> {
    /// Computes the stiffness of all particles at z; negative eigenvalues become 0 if `project`.
    pub fn stiffness(&mut self, z: &[f64], project: bool, to: &mut Vec<Stiffness>) {
        self.evaluate(z);
        let Given { grid, particles, bodies, dt, .. } = self.given;
        to.resize(particles.len(), Stiffness::default());
        let each = |block: usize, out: &mut [Stiffness]| {
            let first = grid.particles(block).start;
            self.in_block(block, |p, f| {
                let (body, before) = (&bodies[particles[p].body as usize], &particles[p].f);
                let lame: Lame = body.lame;
                let modes = FixedCoRotated.modes(lame, f);
                out[p - first] = stiffness(&modes, before, dt * dt * body.volume, project);
            });
        };
        each_block(grid, to, &each);
    }
}

impl SystemAt for Increment<'_> {
    /// The system at z with projected modes; the last one is kept.
    fn system_at(&mut self, z: &[f64]) -> Result<&OwnedSystem<f64>, SparseError> {
        if self.assembled.len() != z.len() || self.assembled != z || z.is_empty() {
            self.assembled.clear();
            let mut stiffness = std::mem::take(&mut self.hessian.stiffness);
            self.stiffness(z, self.project, &mut stiffness);
            self.hessian.stiffness = stiffness;
            let rubs = self.given.constraints.stiffness_of_friction(&self.velocities, self.project);
            self.hessian.assemble(&self.given, &rubs);
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
    fn complete(&mut self, given: &Given<'_>, rubs: &[Matrix]) {
        let Given { nodes, constraints, .. } = *given;
        let Self { stencil, upper, system, .. } = self;
        let (pattern, n) = (&stencil.pattern, constraints.free.len());
        let blocks = |first: usize| pattern.offsets()[n.min(first + ROWS)] - pattern.offsets()[first];
        let lengths = (0..n).step_by(ROWS).map(|first| 9 * blocks(first));
        let mut parts = pieces(system.matrix.values_mut(), lengths);
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
    let free = |slot: usize| match &constraints.by_node[constraints.free[slot] as usize] {
        NodeConstraint::Slip { free, .. } => Some(*free),
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
