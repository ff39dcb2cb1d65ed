//! The tentative prolongation: a local QR of the near-kernel on each aggregate, rank-revealing.
//!
//! Kᵢ = Qᵢ Rᵢ by modified Gram-Schmidt, twice. A column that the ones before it almost span (one or two nodes, nodes on a line,
//! partly held nodes) gets a zero column of Q and is marked dead; R still holds its coefficients in the others, so that K = P̂ R to that
//! accuracy on every aggregate.

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::NearKernel;

/// A column counts as spanned when less than this share of its length is left: half the digits of f64.
const SPANNED: f64 = 1e-8;

/// Q and R of all aggregates.
pub(super) struct Basis<T> {
    /// Rows of Q for each scalar unknown, n x κ; zero for unknowns of special nodes.
    pub(super) q: Vec<T>,
    /// κ, the columns.
    pub(super) columns: usize,
    /// Coarse scalar unknowns without a basis function.
    pub(super) dead: Vec<u32>,
    /// R of each aggregate: the near-kernel of the coarse level.
    r: Vec<f64>,
}

impl<T: Real> Basis<T> {
    /// K of the coarse level.
    pub(super) fn near_kernel(&self) -> Result<NearKernel, SetupError> {
        let k = self.columns;
        let columns: Vec<Vec<f64>> =
            (0..k).map(|c| self.r.iter().skip(c).step_by(k).copied().collect()).collect();
        let views: Vec<&[f64]> = columns.iter().map(|c| &c[..]).collect();
        Ok(NearKernel::from_columns(&views)?)
    }
}

/// Q and R for nodes of `block` unknowns in `count` aggregates.
pub(super) fn tentative<T: Real>(
    modes: &NearKernel,
    block: usize,
    aggregates: &[u32],
    count: usize,
) -> Basis<T> {
    let k = modes.vectors();
    let mut q = vec![T::zero(); modes.size() * k];
    let (mut r, mut dead) = (vec![0.0; count * k * k], Vec::new());
    let members = members(aggregates, count);
    let mut local = Vec::new();
    for (g, nodes) in members.iter().enumerate() {
        // Columns of K on this aggregate, one after the other.
        let rows = || nodes.iter().flat_map(|&i| i as usize * block..(i as usize + 1) * block);
        let m = nodes.len() * block;
        local.clear();
        (0..k).for_each(|c| local.extend(rows().map(|row| modes.row(row)[c])));
        let r = &mut r[g * k * k..(g + 1) * k * k];
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
            if after > SPANNED * before {
                r[c * k + c] = after;
                column.iter_mut().for_each(|v| *v /= after);
            } else {
                column.fill(0.0);
                dead.push((g * k + c) as u32);
            }
        }
        for (at, row) in rows().enumerate() {
            for c in 0..k {
                q[row * k + c] = T::of(local[c * m + at]);
            }
        }
    }
    Basis { q, columns: k, dead, r }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The nodes of each aggregate, in order.
fn members(aggregates: &[u32], count: usize) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); count];
    for (i, &g) in aggregates.iter().enumerate().filter(|(_, g)| **g != u32::MAX) {
        members[g as usize].push(i as u32);
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K = P̂ R on aggregated nodes, and P̂ᵀP̂ = I but for dead columns.
    fn check(modes: &NearKernel, block: usize, aggregates: &[u32], count: usize) -> Basis<f64> {
        let basis = tentative::<f64>(modes, block, aggregates, count);
        let (k, coarse) = (basis.columns, basis.near_kernel().unwrap());
        for (row, q) in basis.q.chunks_exact(k).enumerate() {
            let g = aggregates[row / block];
            for c in 0..k {
                let product: f64 = if g == u32::MAX {
                    0.0
                } else {
                    (0..k).map(|p| q[p] * coarse.row(g as usize * k + p)[c]).sum()
                };
                let expected = if g == u32::MAX { 0.0 } else { modes.row(row)[c] };
                assert!((product - expected).abs() < 1e-12, "row {row}, mode {c}: {product} for {expected}");
            }
        }
        for (g, p, c) in (0..count).flat_map(|g| (0..k * k).map(move |pc| (g, pc / k, pc % k))) {
            let rows = (0..modes.size()).filter(|&row| aggregates[row / block] == g as u32);
            let dot: f64 = rows.map(|row| basis.q[row * k + p] * basis.q[row * k + c]).sum();
            let dead = basis.dead.contains(&((g * k + c) as u32));
            let expected = if p == c && !dead { 1.0 } else { 0.0 };
            assert!((dot - expected).abs() < 1e-12, "aggregate {g}: ({p}, {c}) is {dot}");
        }
        basis
    }

    #[test]
    fn rigid_modes_of_points_lines_and_bodies() {
        let line = |n: usize| (0..n).map(|i| [i as f64, 2.0 * i as f64, 0.0]).collect::<Vec<_>>();
        // One node has no rotation (3 dead), nodes on a line turn about two axes (1 dead), four nodes in space about three.
        for (positions, dead) in [
            (line(1), 3),
            (line(2), 1),
            (line(5), 1),
            (vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 0),
        ] {
            let modes = NearKernel::rigid_body_modes(&positions, 3).unwrap();
            let basis = check(&modes, 3, &vec![0; positions.len()], 1);
            assert_eq!(basis.dead.len(), dead, "{positions:?}");
        }
    }

    #[test]
    fn special_nodes_have_no_rows() {
        let positions: Vec<[f64; 3]> =
            (0..9).map(|i| [f64::from(i % 3), f64::from(i / 3), 0.3 * f64::from(i * i % 5)]).collect();
        let modes = NearKernel::rigid_body_modes(&positions, 3).unwrap();
        check(&modes, 3, &[0, 0, 0, 0, u32::MAX, 1, 1, 1, 1], 2);
    }
}
