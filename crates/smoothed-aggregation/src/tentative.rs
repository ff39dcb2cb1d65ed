//! The tentative prolongation: a rank-revealing QR factorisation of the near-kernel on each aggregate.
//!
//! Kᵢ = Qᵢ Rᵢ is computed by modified Gram-Schmidt, done twice. A column that is almost spanned by the
//! columns before it gets a zero column of Q and is marked as without a basis function. This happens on aggregates of one or two
//! nodes, of nodes on a line, or of partly held nodes. R still contains the coefficients of that column
//! in the other columns, so K = P̂ R on every aggregate up to the threshold `SPANNED`.

use std::ops::Range;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each};
use coarsen_sparse::{BlockRows, NearKernel, by_bucket};

/// The number of aggregates per task.
const LEAF: usize = 64;

/// A column of K on an aggregate counts as spanned by the columns before it if at most this fraction of its length is orthogonal
/// to them: half the digits of f64 for every T, because rotations of a small aggregate far from the centre of a large body come
/// near this limit.
const SPANNED: f64 = 1e-8;

/// The same in units of the precision of T. A K that was relaxed with an A stored in T, or inherited from such an A, has noise of
/// this size.
const NOISE: f64 = 16.0;

/// The number of nodes per task, for scalars.
const NODES: usize = 4096;

/// K with zeros in constrained rows, which coarse levels must not move.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    pub(super) modes: &'a NearKernel,
    /// The number of vectors to use.
    pub(super) vectors: usize,
    /// For each row, whether it is held; empty if no row is held.
    pub(super) rows: &'a [bool],
}

impl Held<'_> {
    /// Returns the value of vector c at scalar unknown i.
    #[inline(always)]
    pub(super) fn value(&self, i: usize, c: usize) -> f64 {
        if self.rows.get(i) == Some(&true) { 0.0 } else { self.modes.row(i)[c] }
    }
}

/// Q and R of all aggregates.
pub(super) struct Basis<T> {
    /// The rows of Q: one for each scalar unknown of the aggregated nodes, aggregate by aggregate; for one vector of scalars
    /// a number for each node, 0 for decoupled nodes.
    q: Vec<T>,
    /// For each node, its index among the aggregated nodes; `u32::MAX` for decoupled nodes. Empty for one vector of scalars.
    at: Vec<u32>,
    /// The number of unknowns of a node.
    block: usize,
    /// κ, the number of columns.
    pub(super) columns: usize,
    /// The coarse scalar unknowns without a basis function.
    pub(super) without_basis: Vec<u32>,
    /// R of each aggregate. Together these are the near-kernel of the coarse level.
    r: Vec<f64>,
}

impl<T: Real> Basis<T> {
    /// Returns the b x κ rows of Q of a node; `None` for decoupled nodes, or 0 if they are scalars.
    #[inline(always)]
    pub(super) fn rows(&self, node: usize) -> Option<&[T]> {
        if self.at.is_empty() {
            return self.q.get(node..node + 1);
        }
        let size = self.block * self.columns;
        let at = self.at[node] as usize;
        (at != u32::MAX as usize).then(|| &self.q[at * size..(at + 1) * size])
    }

    /// Returns Q of all nodes, for one vector of scalars.
    pub(super) fn scalars(&self) -> &[T] {
        &self.q
    }

    /// Sets the rows of Q of a node of another rank.
    pub(super) fn set_rows(&mut self, node: usize, rows: &[T]) {
        if self.at.is_empty() {
            self.q[node] = rows[0];
            return;
        }
        self.at[node] = (self.q.len() / (self.block * self.columns).max(1)) as u32;
        self.q.extend_from_slice(rows);
    }

    /// Returns K of the coarse level.
    pub(super) fn near_kernel(&self) -> Result<NearKernel, SetupError> {
        Ok(NearKernel::from_rows(self.columns, self.r.clone())?)
    }
}

/// Computes Q and R for nodes of `block` unknowns in `count` aggregates.
pub(super) fn tentative<T: Real>(
    modes: Held<'_>,
    block: usize,
    aggregates: &[u32],
    count: usize,
) -> Basis<T> {
    let k = modes.vectors;
    let spanned = SPANNED.max(NOISE * T::EPSILON.as_f64());
    if (block, k) == (1, 1) {
        return of_scalars(modes, spanned, aggregates, count);
    }
    let of = aggregates.iter().map(|&g| (g != u32::MAX).then_some(g as usize));
    let (starts, members) = by_bucket(count, of); // the nodes of each aggregate, in order
    let mut places = vec![u32::MAX; aggregates.len()];
    members.iter().enumerate().for_each(|(m, &i)| places[i as usize] = m as u32);
    let mut q = vec![T::zero(); members.len() * block * k];
    let (mut r, mut live) = (vec![0.0; count * k * k], vec![true; count * k]);
    let pieces =
        (BlockRows::new(&starts, block * k, &mut q), Groups(&mut r[..], k * k), Groups(&mut live[..], k));
    let leaf = |(rows, r, live): (BlockRows<'_, T>, Groups<&mut [f64]>, Groups<&mut [bool]>)| {
        let mut local = Vec::new();
        let mut outputs = r.0.chunks_exact_mut(k * k).zip(live.0.chunks_exact_mut(k));
        rows.in_order(|g, own| {
            let Some((r, live)) = outputs.next() else { return };
            let nodes = &members[starts[g]..starts[g + 1]];
            factor((modes, spanned), block, nodes, &mut local, (own, r, live));
        });
    };
    if k > 0 {
        each(pieces, LEAF, parallel::worth(4 * members.len() * block * k * k), &leaf);
    }
    let without_basis = (0..live.len()).filter(|&c| !live[c]).map(|c| c as u32).collect();
    Basis { q, at: places, block, columns: k, without_basis, r }
}

/// [`tentative`] for one vector of scalars: Q is K divided by its length on each aggregate, which needs no list of the nodes
/// of an aggregate.
fn of_scalars<T: Real>(modes: Held<'_>, spanned: f64, aggregates: &[u32], count: usize) -> Basis<T> {
    let mut r = vec![0.0; count];
    for (i, &g) in aggregates.iter().enumerate().filter(|(_, g)| **g != u32::MAX) {
        let value = modes.value(i, 0);
        r[g as usize] += value * value;
    }
    r.iter_mut().for_each(|r: &mut f64| *r = r.sqrt());
    let is_spanned = |&g: &u32| r[g as usize] <= spanned * r[g as usize];
    let without_basis: Vec<u32> = (0..count as u32).filter(is_spanned).collect();
    without_basis.iter().for_each(|&g| r[g as usize] = 0.0);
    let mut q = vec![T::zero(); aggregates.len()];
    let leaf = |(nodes, q): (Range<usize>, &mut [T])| {
        for (i, q) in nodes.zip(q).filter(|(i, _)| aggregates[*i] != u32::MAX) {
            let length = r[aggregates[i] as usize];
            if length > 0.0 {
                *q = T::from_f64(modes.value(i, 0) / length);
            }
        }
    };
    each((0..aggregates.len(), &mut q[..]), NODES, parallel::worth(4 * aggregates.len()), &leaf);
    Basis { q, at: Vec::new(), block: 1, columns: 1, without_basis, r }
}

/// Computes Kᵢ = Qᵢ Rᵢ on the nodes of one aggregate. A column has no basis function if at most the fraction `spanned` of
/// its length is left; `local` is scratch.
fn factor<T: Real>(
    (modes, spanned): (Held<'_>, f64),
    block: usize,
    nodes: &[u32],
    local: &mut Vec<f64>,
    (q, r, live): (&mut [T], &mut [f64], &mut [bool]),
) {
    // The columns of K on this aggregate, one after the other.
    let (k, m) = (modes.vectors, nodes.len() * block);
    let rows = || nodes.iter().flat_map(|&i| i as usize * block..(i as usize + 1) * block);
    local.clear();
    (0..k).for_each(|c| local.extend(rows().map(|row| modes.value(row, c))));
    for c in 0..k {
        let (done, rest) = local.split_at_mut(c * m);
        let column = &mut rest[..m];
        let before = norm(column);
        for _ in 0..2 {
            for p in 0..c {
                let basis = &done[p * m..(p + 1) * m];
                let share: f64 = basis.iter().zip(&*column).map(|(q, v)| q * v).sum();
                r[p * k + c] += share;
                column.iter_mut().zip(basis).for_each(|(v, q)| *v -= share * q);
            }
        }
        let after = norm(column);
        if after > spanned * before {
            r[c * k + c] = after;
            column.iter_mut().for_each(|v| *v /= after);
        } else {
            column.fill(0.0);
            live[c] = false;
        }
    }
    for (at, row) in q.chunks_exact_mut(k).enumerate() {
        row.iter_mut().enumerate().for_each(|(c, q)| *q = T::from_f64(local[c * m + at]));
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}
