//! Decoupled nodes: nodes that are left out of coarse levels, because relaxation alone solves them (Tamstorf
//! 2015, §5, the set 𝒮).
//!
//! Constraints are detected per scalar row, because a node may be held in one direction and free in two
//! directions.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each};
use coarsen_sparse::{Bsr, Pattern};

/// The number of nodes per task.
const LEAF: usize = 1024;

/// The nodes and rows left out of aggregation.
pub(super) struct Decoupled {
    /// For each node, whether all its rows are constraints or its couplings are weak in sum.
    pub(super) nodes: Vec<bool>,
    /// For each scalar row, whether it is a constraint: zero except on the diagonal.
    pub(super) rows: Vec<bool>,
}

impl Decoupled {
    /// Finds decoupled nodes. All rows of such a node are constraints, or its scaled couplings sum to s <
    /// `dominance`, so that one Jacobi sweep multiplies the error of the node by s at most.
    pub(super) fn find<T: Real>(a: &Bsr<T>, weights: &[f32], dominance: f64) -> Self {
        if a.block() == (1, 1) {
            return Self::of_scalars(a, weights, dominance);
        }
        let (b, pattern, rows) = (a.block().0, a.pattern(), rows(a));
        let mut nodes = vec![false; pattern.rows()];
        let leaf = |(range, nodes): (Range<usize>, &mut [bool])| {
            for (i, decoupled) in range.zip(nodes) {
                let stored = weights[pattern.range(i)].iter().zip(pattern.row(i));
                let others = stored.filter(|&(_, &j)| j as usize != i).map(|(&weight, _)| f64::from(weight));
                *decoupled = rows[i * b..(i + 1) * b].iter().all(|&c| c) || others.sum::<f64>() < dominance;
            }
        };
        each((0..pattern.rows(), &mut nodes[..]), LEAF, parallel::worth(weights.len()), &leaf);
        Self { nodes, rows }
    }

    /// [`find`](Self::find) for scalars, in one pass.
    fn of_scalars<T: Real>(a: &Bsr<T>, weights: &[f32], dominance: f64) -> Self {
        let (pattern, values) = (a.pattern(), a.values());
        let (mut nodes, mut rows) = (vec![false; pattern.rows()], vec![false; pattern.rows()]);
        let leaf = |(range, nodes, rows): (Range<usize>, &mut [bool], &mut [bool])| {
            for ((i, decoupled), constrained) in range.zip(nodes).zip(rows) {
                let stored = pattern.range(i);
                let numbers = values[stored.clone()].iter().zip(&weights[stored]);
                let (mut diagonal, mut largest, mut sum) = (T::zero(), T::zero(), 0.0);
                for (&j, (value, &weight)) in pattern.row(i).iter().zip(numbers) {
                    if j as usize == i {
                        diagonal = *value;
                    } else {
                        largest = if value.abs() > largest { value.abs() } else { largest };
                        sum += f64::from(weight);
                    }
                }
                *constrained = largest <= diagonal.abs() * T::EPSILON;
                *decoupled = *constrained || sum < dominance;
            }
        };
        let pieces = (0..pattern.rows(), &mut nodes[..], &mut rows[..]);
        each(pieces, LEAF, parallel::worth(weights.len()), &leaf);
        Self { nodes, rows }
    }

    /// Returns the rows in which a near-kernel is held; empty for an inherited near-kernel, which is already
    /// held.
    pub(super) fn held(&self, inherited: bool) -> &[bool] {
        if inherited { &[] } else { &self.rows }
    }

    /// Whether any decoupled node among `nodes` has a nonzero coupling.
    pub(super) fn coupled(&self, pattern: &Pattern, weights: &[f32], nodes: &Range<usize>) -> bool {
        let coupled =
            |i: usize| pattern.range(i).any(|k| weights[k] > 0.0 && pattern.indices()[k] as usize != i);
        nodes.clone().any(|i| self.nodes[i] && coupled(i))
    }
}

/// Returns, for each scalar row, whether it is zero except on the diagonal, up to round-off.
pub(super) fn rows<T: Real>(a: &Bsr<T>) -> Vec<bool> {
    let b = a.block().0;
    let mut constrained = vec![true; a.shape().0];
    let pieces = (0..a.pattern().rows(), Groups(&mut constrained[..], b));
    each(pieces, LEAF, parallel::worth(a.nnz()), &|(nodes, out): (Range<usize>, Groups<&mut [bool]>)| {
        for (i, out) in nodes.zip(out.0.chunks_exact_mut(b)) {
            let diagonal = a.pattern().find(i, i).map(|k| a.value(k));
            for (r, out) in out.iter_mut().enumerate() {
                let limit = diagonal.map_or(T::zero(), |d| d[r * b + r].abs()) * T::EPSILON;
                *out = a.row(i).all(|(j, block)| {
                    let row = block[r * b..(r + 1) * b].iter().enumerate();
                    row.into_iter().all(|(c, v)| (j == i && c == r) || v.abs() <= limit)
                });
            }
        }
    });
    constrained
}
