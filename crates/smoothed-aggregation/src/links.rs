//! The nodes that may share an aggregate: only neighbours by the links, if the caller provides links.
//!
//! Constraints couple nodes that are not neighbours and that move past each other. One coarse node for two
//! such nodes would move them together, so aggregates ignore these couplings on all levels.

use coarsen_sparse::{Pattern, SparseError};

/// Sets the weights of couplings between nodes that are not neighbours to zero.
pub(super) fn keep(links: &Pattern, pattern: &Pattern, weights: &mut [f32]) {
    for i in 0..pattern.rows() {
        let mut neighbours = links.row(i).iter().peekable();
        for k in pattern.range(i) {
            let j = pattern.indices()[k];
            while neighbours.next_if(|&&l| l < j).is_some() {}
            if neighbours.peek() != Some(&&j) {
                weights[k] = 0.0;
            }
        }
    }
}

/// Returns the neighbours of each of `count` aggregates: the aggregates that contain neighbouring nodes.
pub(crate) fn coarsen(links: &Pattern, aggregates: &[u32], count: usize) -> Result<Pattern, SparseError> {
    let mut rows = vec![Vec::new(); count];
    for (i, &own) in aggregates.iter().enumerate().filter(|(_, g)| **g != u32::MAX) {
        let others = links.row(i).iter().map(|&j| aggregates[j as usize]);
        rows[own as usize].extend(others.filter(|&g| g != u32::MAX));
    }
    let mut offsets = vec![0];
    for row in &mut rows {
        row.sort_unstable();
        row.dedup();
        offsets.push(offsets[offsets.len() - 1] + row.len());
    }
    Pattern::new(count, offsets, rows.concat())
}
