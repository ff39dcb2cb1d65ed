//! The triangles of a surface whose forces act on the nodes of a rank.

use coarsen_distributed::{Communicator, Partition};

/// The triangles of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// The numbers of the triangles with a node of this rank: those that stretch.
    pub touching: Vec<usize>,
    /// The same, and the triangles that share an edge with one of them: every hinge with a node of this rank is an edge
    /// of two of these.
    pub around: Vec<usize>,
}

/// The triangles that a rank computes to have all elastic forces on its nodes; those at the border of two ranks are
/// computed on both. `row` gives the block row of a node, or `None` if it is held. Sends no message.
///
/// The order is that of the list, so that sums over the triangles at a node do not depend on the number of ranks.
/// *Cost* a pass over all triangles, and a sort of their edges. *Reference* Li et al. 2020, "P-Cloth", §3.2.1.
///
/// ```
/// use coarsen_distributed::{Layout, Partition, SelfComm};
/// let partition = Partition::new(SelfComm, Layout::even(4, 3, 1)?)?;
/// let own = coarsen_distributed_solvers::own_triangles(&partition, &[[0, 1, 2], [2, 1, 3]], |v| Some(u64::from(v)));
/// assert_eq!(own.touching, [0, 1]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub fn own_triangles<C: Communicator>(
    partition: &Partition<C>,
    triangles: &[[u32; 3]],
    row: impl Fn(u32) -> Option<u64>,
) -> Own {
    let own = partition.layout().range(partition.rank());
    let is_own = |node: &u32| row(*node).is_some_and(|row| own.contains(&row));
    let touches: Vec<bool> = triangles.iter().map(|t| t.iter().any(is_own)).collect();
    let mut sides: Vec<([u32; 2], usize)> = Vec::with_capacity(3 * triangles.len());
    for (t, &[a, b, c]) in triangles.iter().enumerate() {
        sides.extend([[a, b], [b, c], [c, a]].map(|[a, b]| ([a.min(b), a.max(b)], t)));
    }
    sides.sort_unstable();
    let mut around = touches.clone();
    for same in sides.chunk_by(|a, b| a.0 == b.0) {
        if same.iter().any(|(_, t)| touches[*t]) {
            same.iter().for_each(|(_, t)| around[*t] = true);
        }
    }
    let listed = |all: &[bool]| all.iter().enumerate().filter(|(_, own)| **own).map(|(t, _)| t).collect();
    Own { touching: listed(&touches), around: listed(&around) }
}
