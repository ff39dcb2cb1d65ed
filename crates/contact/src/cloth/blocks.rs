//! Parts of a surface that follow each other, together: tasks of a search, and boxes around many parts.

use crate::{Aabb, ContactError, Pair, SpatialHash};

/// The number of queries per task, and per entry of the Workload Table.
pub(super) const LEAF: usize = 256;

/// The number of scalar operations per query, used to decide whether threads pay off.
pub(super) const WORK: usize = 400;

/// The number of nodes in a cluster; they follow each other.
pub(super) const CLUSTER: usize = 32;

/// What a task finds.
#[derive(Default)]
pub(super) struct Leaf {
    pub(super) pairs: Vec<Pair>,
    /// The number of pairs whose boxes overlap.
    pub(super) overlaps: usize,
}

/// For each block of parts of one kind, the clusters of nodes that it touches.
pub(super) struct Blocks(Vec<Vec<u32>>);

impl Blocks {
    /// The blocks of a list of parts.
    pub(super) fn new<const N: usize>(parts: &[[u32; N]]) -> Self {
        let clusters = |block: &[[u32; N]]| {
            let mut all: Vec<u32> = block.as_flattened().iter().map(|node| node / CLUSTER as u32).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        Self(parts.chunks(LEAF).map(clusters).collect())
    }

    /// A box that contains the parts of a block.
    pub(super) fn around(&self, block: usize, clusters: &[Aabb]) -> Aabb {
        around(&self.0[block], clusters)
    }

    /// The blocks whose boxes overlap one of a hash.
    pub(super) fn near(&self, clusters: &[Aabb], hash: &SpatialHash) -> Vec<usize> {
        let overlaps = |block: &usize| {
            let mut near = false;
            hash.query(&self.around(*block, clusters), |_| near = true);
            near
        };
        (0..self.0.len()).filter(overlaps).collect()
    }
}

/// Replaces `boxes` by those of all nodes, which `of` returns, and returns those around the clusters.
///
/// # Errors
/// [`ContactError::Box`] for a box that is not finite.
pub(super) fn place(
    nodes: usize,
    of: impl Fn(u32) -> Aabb,
    boxes: &mut Vec<Aabb>,
) -> Result<Vec<Aabb>, ContactError> {
    boxes.clear();
    boxes.extend((0..nodes as u32).map(of));
    match boxes.iter().position(|b| !b.is_finite()) {
        Some(index) => Err(ContactError::Box { index }),
        None => Ok(unions(boxes)),
    }
}

/// The boxes around groups of as many boxes as a cluster has.
pub(super) fn unions(boxes: &[Aabb]) -> Vec<Aabb> {
    let union = |group: &[Aabb]| Aabb::of(group.iter().flat_map(|b| [b.low, b.high]));
    boxes.chunks(CLUSTER).map(union).collect()
}

/// The box around those of some nodes.
pub(super) fn around(nodes: &[u32], boxes: &[Aabb]) -> Aabb {
    Aabb::of(nodes.iter().flat_map(|&node| {
        let own = boxes[node as usize];
        [own.low, own.high]
    }))
}
