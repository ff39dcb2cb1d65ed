//! W and z of each group: an orthonormal basis of the rows of C, and the shortest z with C z = d.
//!
//! Gram-Schmidt with pivoting: the next row is the longest remaining row. Each row is orthogonalised twice. d
//! is transformed in the same way, so that q · x = e for the rows q of Wᵀ. A row that vanishes depends on the
//! rows before it. Its remaining value shows whether it contradicts them.

use std::ops::Range;

use coarsen_core::parallel::{self, Pieces, tree};

use super::contradiction::explain;
use super::groups::{ConstraintGroups, refill};
use super::{ConstraintError, Constraints};

/// A unit row is dependent if its remainder is shorter than this. Normals computed in f32 are no more
/// accurate.
pub(super) const SPANNED: f64 = 1e-6;

/// Values of dependent constraints agree if they differ by less than this fraction of the largest value in
/// the group, or by at most [`Constraints::agree_within`].
const AGREED: f64 = 1e-6;

/// The number of groups per task.
const LEAF: usize = 64;

/// The maximum number of nodes of a group in an error message.
pub(super) const SHOWN: usize = 8;

/// The groups, and the basis W of each group, with I − S = W Wᵀ.
#[derive(Clone, Debug, Default)]
pub(super) struct Factors {
    /// The number of unknowns of a node.
    pub(super) block: usize,
    pub(super) groups: ConstraintGroups,
    /// The start of Wᵀ of each group, and the end of the last group.
    starts: Vec<usize>,
    /// Wᵀ of all groups, row by row. The columns are the unknowns of the nodes of the group. After its basis,
    /// each group has space for its dependent rows.
    q: Vec<f64>,
    /// The number of rows of each Wᵀ.
    rank: Vec<u32>,
    /// The values e with q · z = e, in the order of `groups.members`.
    values: Vec<f64>,
    /// z at the nodes of `groups.nodes`.
    pub(super) z: Vec<f64>,
    /// The dependent constraints, which are left out, in increasing order.
    pub(super) dependent: Vec<u32>,
    /// The nodes of dependent constraints, increasing and without duplicates.
    pub(super) dependent_nodes: Vec<u32>,
}

impl Factors {
    /// Factors new constraints in the existing memory.
    pub(super) fn find(
        &mut self,
        constraints: &Constraints,
        largest_group: usize,
    ) -> Result<(), ConstraintError> {
        let (b, groups) = (constraints.block(), &mut self.groups);
        self.block = b;
        groups.find(constraints);
        let sizes = || (0..groups.count()).map(|g| groups.nodes(g).len());
        if let Some(g) = sizes().position(|size| size > largest_group.max(1)) {
            let (nodes, limit) = (groups.nodes(g), largest_group.max(1));
            let first = nodes[..nodes.len().min(SHOWN)].to_vec();
            return Err(ConstraintError::Chain { found: nodes.len(), limit, nodes: first });
        }
        self.starts.clear();
        self.starts.push(0);
        let mut end = 0;
        for g in 0..groups.count() {
            end += groups.members(g).len() * groups.nodes(g).len() * b;
            self.starts.push(end);
        }
        refill(&mut self.q, end, 0.0);
        refill(&mut self.rank, groups.count(), 0);
        refill(&mut self.z, groups.nodes.len() * b, 0.0);
        self.values.clear();
        self.values.extend(groups.members.iter().map(|&k| constraints.value(k as usize)));

        let task = Task { constraints, block: b, of_node: &groups.place };
        let pieces = Share {
            groups: 0..self.rank.len(),
            starts: &self.starts,
            rows: &groups.rows,
            firsts: &groups.starts,
            block: b,
            q: &mut self.q,
            members: &mut groups.members,
            values: &mut self.values,
            z: &mut self.z,
            rank: &mut self.rank,
        };
        let worth = parallel::worth(8 * end);
        if let Some(k) = tree(pieces, LEAF, worth, &|share| task.factor(share), &|a, b| a.or(b)) {
            return Err(explain(constraints, self.groups.members(self.group_of(constraints, k)), k));
        }
        self.dependent.clear();
        for g in 0..self.groups.count() {
            self.dependent.extend_from_slice(&self.groups.members(g)[self.rank(g)..]);
        }
        self.dependent.sort_unstable();
        self.dependent_nodes.clear();
        let nodes = self.dependent.iter().flat_map(|&k| constraints.nodes_of(k as usize));
        self.dependent_nodes.extend(nodes);
        self.dependent_nodes.sort_unstable();
        self.dependent_nodes.dedup();
        Ok(())
    }

    /// The group of constraint k.
    fn group_of(&self, constraints: &Constraints, k: u32) -> usize {
        self.groups.of[constraints.nodes_of(k as usize)[0] as usize] as usize
    }

    /// The number of independent constraints of group g.
    #[inline]
    pub(super) fn rank(&self, g: usize) -> usize {
        self.rank[g] as usize
    }

    /// The rows of Wᵀ of group g.
    #[inline]
    pub(super) fn basis(&self, g: usize) -> std::slice::ChunksExact<'_, f64> {
        self.rows(g).chunks_exact(self.groups.nodes(g).len() * self.block)
    }

    /// The same, one row after the other.
    #[inline]
    pub(super) fn rows(&self, g: usize) -> &[f64] {
        let size = self.groups.nodes(g).len() * self.block;
        &self.q[self.starts[g]..][..self.rank(g) * size]
    }
}

/// Data shared by all groups.
struct Task<'a> {
    constraints: &'a Constraints,
    block: usize,
    of_node: &'a [u32],
}

impl Task<'_> {
    /// Factors some groups. Returns the first contradictory constraint.
    fn factor(&self, share: Share<'_>) -> Option<u32> {
        let Share { groups, starts, rows, firsts, mut q, mut members, mut values, mut z, rank, .. } = share;
        for (g, rank) in groups.zip(rank) {
            let count = rows[g + 1] - rows[g];
            let size = (firsts[g + 1] - firsts[g]) * self.block;
            let part;
            (part, q) = q.split_at_mut(starts[g + 1] - starts[g]);
            let (own, e, shortest);
            (own, members) = members.split_at_mut(count);
            (e, values) = values.split_at_mut(count);
            (shortest, z) = z.split_at_mut(size);
            self.fill(own, e, part, size);
            match orthogonalise(part, e, own, size, self.constraints.resolution()) {
                Ok(found) => *rank = found as u32,
                Err(k) => return Some(k),
            }
            combine(part, e, shortest, *rank as usize);
        }
        None
    }

    /// Fills in the rows of C and the values d of a group. Rows are scaled to unit length.
    fn fill(&self, members: &[u32], values: &mut [f64], q: &mut [f64], size: usize) {
        let b = self.block;
        for ((&k, value), row) in members.iter().zip(values).zip(q.chunks_exact_mut(size)) {
            for (node, coefficients) in self.constraints.terms(k as usize) {
                let at = self.of_node[node] as usize * b;
                row[at..at + b].iter_mut().zip(coefficients).for_each(|(r, &c)| *r += c);
            }
            let length = norm(row);
            row.iter_mut().for_each(|v| *v /= length);
            *value /= length;
        }
    }
}

/// Orthonormalises the rows of `q` and moves dependent rows to the end. Returns the number of independent
/// rows, or a contradictory constraint.
fn orthogonalise(
    q: &mut [f64],
    e: &mut [f64],
    members: &mut [u32],
    size: usize,
    resolution: f64,
) -> Result<usize, u32> {
    let agreed = resolution.max(AGREED * e.iter().fold(0.0_f64, |m, v| m.max(v.abs())));
    let count = members.len();
    for p in 0..count {
        let remains = |k: usize| norm(&q[k * size..(k + 1) * size]);
        // If rows have the same length, the first is selected, so that orthogonal rows keep their order.
        let longest = (p + 1..count).fold((p, remains(p)), |best, k| {
            let length = remains(k);
            if length > best.1 { (k, length) } else { best }
        });
        if longest.1 <= SPANNED || p == size {
            let wrong = (p..count).filter(|&k| e[k].abs() > agreed).map(|k| members[k]).min();
            return wrong.map_or(Ok(p), Err);
        }
        (0..size).for_each(|c| q.swap(p * size + c, longest.0 * size + c));
        e.swap(p, longest.0);
        members.swap(p, longest.0);
        let (done, rest) = q.split_at_mut(p * size);
        let (own, others) = rest.split_at_mut(size);
        for (k, before) in done.chunks_exact(size).enumerate() {
            let share = subtract(own, before);
            e[p] -= share * e[k];
        }
        let length = norm(own);
        own.iter_mut().for_each(|v| *v /= length);
        e[p] /= length;
        for (k, row) in (p + 1..).zip(others.chunks_exact_mut(size)) {
            let share = subtract(row, own);
            e[k] -= share * e[p];
        }
    }
    Ok(count)
}

/// Subtracts the component along a unit vector from `row` and returns this component.
pub(super) fn subtract(row: &mut [f64], unit: &[f64]) -> f64 {
    let share: f64 = row.iter().zip(unit).map(|(r, q)| r * q).sum();
    row.iter_mut().zip(unit).for_each(|(r, q)| *r -= share * q);
    share
}

/// z = W e. For a group of full rank, W is set to I, so that filtering gives exact zeros.
fn combine(q: &mut [f64], e: &[f64], z: &mut [f64], rank: usize) {
    let size = z.len();
    for (row, e) in q.chunks_exact(size).zip(&e[..rank]) {
        z.iter_mut().zip(row).for_each(|(z, q)| *z += e * q);
    }
    if rank == size {
        for (k, row) in q.chunks_exact_mut(size).take(rank).enumerate() {
            row.fill(0.0);
            row[k] = 1.0;
        }
    }
}

pub(super) fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    // Scaled, so that squares of coefficients neither overflow nor underflow, whatever the unit.
    if largest == 0.0 { 0.0 } else { largest * v.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt() }
}

/// Consecutive groups with their data. A share can be divided between groups.
struct Share<'a> {
    groups: Range<usize>,
    starts: &'a [usize],
    rows: &'a [usize],
    firsts: &'a [usize],
    block: usize,
    q: &'a mut [f64],
    members: &'a mut [u32],
    values: &'a mut [f64],
    z: &'a mut [f64],
    rank: &'a mut [u32],
}

impl Pieces for Share<'_> {
    fn extent(&self) -> usize {
        self.groups.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let Self { groups, starts, rows, firsts, block, q, members, values, z, rank } = self;
        let (first, at) = (groups.start, groups.start + mid);
        let (q, q_rest) = q.split_at_mut(starts[at] - starts[first]);
        let (members, members_rest) = members.split_at_mut(rows[at] - rows[first]);
        let (values, values_rest) = values.split_at_mut(rows[at] - rows[first]);
        let (z, z_rest) = z.split_at_mut((firsts[at] - firsts[first]) * block);
        let (rank, rank_rest) = rank.split_at_mut(mid);
        (
            Self { groups: first..at, starts, rows, firsts, block, q, members, values, z, rank },
            Self {
                groups: at..groups.end,
                starts,
                rows,
                firsts,
                block,
                q: q_rest,
                members: members_rest,
                values: values_rest,
                z: z_rest,
                rank: rank_rest,
            },
        )
    }
}

#[cfg(test)]
mod tests;
