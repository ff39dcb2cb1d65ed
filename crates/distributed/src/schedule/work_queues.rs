//! Work queues for a fat tree.
//!
//! | symbol | here | |
//! |---|---|---|
//! | l, r | `l`, `l + 2 half - 1` | the first and the last rank below a switch |
//! | m | `l + half` | the first rank of the right child |
//! | Qᵢ(s) | `queues[i - l]` | the queue of rank i below switch s |
//! | (t, v) | [`Node`] | receive sub-vector v from rank t |
//!
//! The steps are those of Li et al. 2020, §3.1.2. Deviation: three indices of the paper are slips. The
//! children of a switch are numbered from 1, m = (l + r + 1) / 2, and offsets are m − l, so that the peer of
//! step 2 is i ± (m − l).

use super::{Node, Schedule};
use crate::DistError;

impl Schedule {
    /// The work queues of P-Cloth: every sub-vector crosses each switch of a binary tree once, and siblings
    /// pass it on.
    ///
    /// *Use* on a fat tree, where links near the root are slow to reach.
    /// *Cost* n − 1 stages; n sub-vectors cross the root in one stage.
    /// *Reference* Li et al. 2020, §3.1.2, Fig. 4.
    ///
    /// # Errors
    /// [`DistError::Value`] unless n is a power of two.
    pub fn work_queues(n: usize) -> Result<Self, DistError> {
        if !n.is_power_of_two() {
            let (what, range) = ("the number of ranks of work queues", "a power of two");
            return Err(DistError::Value { what, found: n as u64, range });
        }
        Self::new(switch(0, n))
    }
}

/// The queues of the ranks l .. l + n.
fn switch(l: usize, n: usize) -> Vec<Vec<Node>> {
    if n == 1 {
        return vec![Vec::new()];
    }
    let half = n / 2; // m − l
    let mut queues = switch(l, half); // step 1, left child
    queues.extend(switch(l + half, half)); // step 1, right child
    for (k, queue) in queues.iter_mut().enumerate() {
        let i = l + k;
        let shift = |v: usize| if k < half { v + half } else { v - half };
        let below = queue.clone();
        queue.push(Node { peer: shift(i), vector: shift(i) }); // step 2
        queue.extend(below.iter().map(|node| Node { vector: shift(node.vector), ..*node })); // step 3
    }
    queues
}
