//! High-degree nodes: nodes with far more neighbours than the mean, such as a common reference, a rigid body or a
//! constraint.
//!
//! One aggregate for a high-degree node and all its neighbours leaves no coarse level, and a smoothed row of P for a high-degree node
//! has a block for every aggregate around it, so that PᵀAP couples each two of these. Hence a high-degree node is an
//! aggregate of its own, which other nodes join only if their coupling to it is strong in their own row, and
//! its row of P is that of P̂. Then PᵀAP has one long row and column for each high-degree node, as A has.
//!
//! Nodes that are coupled to each other, as by an eliminated constraint, also have long rows, but they have
//! one aggregate in common. So neighbours with long rows do not count. High-degree nodes follow from the pattern alone, so
//! an update on the same pattern has the same high-degree nodes.

use std::ops::Range;

use coarsen_core::parallel::{self, tree};
use coarsen_sparse::Pattern;

use super::share::Share;

/// A node is a high-degree node if its row of A, without the columns of other such nodes, has more than this multiple of the mean
/// number of blocks, and more than `LEAST`.
const RATIO: f64 = 8.0;

/// The number of blocks in a row of A up to which a node is no high-degree node.
const LEAST: f64 = 64.0;

/// The number of rows per task.
const LEAF: usize = 4096;

/// The high-degree nodes of a level.
#[derive(Clone, Debug, Default)]
pub(super) struct HighDegree {
    /// For each node, whether it is a high-degree node; empty if no node is one.
    flags: Vec<bool>,
}

impl HighDegree {
    /// Finds the high-degree nodes of the own nodes of `share`, and asks the owners of the others. The mean is that of nodes with
    /// neighbours.
    ///
    /// *Cost* a pass over the lengths of rows, and over the rows that are long.
    pub(super) fn find(pattern: &Pattern, share: &Share<'_>) -> Self {
        let count = |rows: Range<usize>| {
            let lengths = rows.map(|i| pattern.range(i).len()).filter(|&length| length > 1);
            let add = |[entries, rows, longest]: [usize; 3], length: usize| {
                [entries + length, rows + 1, longest.max(length)]
            };
            lengths.fold([0; 3], add)
        };
        let both = |a: [usize; 3], b: [usize; 3]| [a[0] + b[0], a[1] + b[1], a[2].max(b[2])];
        let worth = parallel::worth(share.own.len());
        let [entries, rows, longest] = tree(share.own.clone(), LEAF, worth, &count, &both);
        let [entries, rows] = share.sums([entries, rows]);
        let most = (RATIO * entries / rows.max(1.0)).max(LEAST);
        if !share.any(longest as f64 > most) {
            return Self::default();
        }
        let mut long = vec![false; pattern.rows()];
        share.own.clone().for_each(|i| long[i] = pattern.range(i).len() as f64 > most);
        share.of_owners(&mut long);
        let mut flags = vec![false; pattern.rows()];
        for i in share.own.clone().filter(|&i| long[i]) {
            let short = pattern.row(i).iter().filter(|&&j| !long[j as usize]).count();
            flags[i] = short as f64 > most;
        }
        share.of_owners(&mut flags);
        if share.any(flags[share.own.clone()].contains(&true)) { Self { flags } } else { Self::default() }
    }

    /// Whether a node is a high-degree node.
    #[inline(always)]
    pub(super) fn contains(&self, i: usize) -> bool {
        self.flags.get(i) == Some(&true)
    }

    /// The high-degree nodes, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        self.flags.iter().enumerate().filter(|&(_, &node)| node).map(|(i, _)| i)
    }

    /// For each node, whether it is a high-degree node; empty if no node is one.
    pub(super) fn flags(&self) -> &[bool] {
        &self.flags
    }
}
