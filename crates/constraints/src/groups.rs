//! Connected groups of constraints. Constraints of a group share nodes, directly or through other
//! constraints. Each group is factored independently.

use coarsen_sparse::Buckets;
use coarsen_sparse::union_find::{join, root};

use super::Constraints;

/// Marks a node that is in no group.
pub(super) const NONE: u32 = u32::MAX;

/// Connected groups of constraints, ordered by their smallest node.
#[derive(Clone, Debug, Default)]
pub(super) struct ConstraintGroups {
    /// The group of each node, or [`NONE`].
    pub(super) of: Vec<u32>,
    /// The index of each node within its group.
    pub(super) place: Vec<u32>,
    /// The start of the nodes of each group, and the end of the last group.
    pub(super) starts: Vec<usize>,
    /// The nodes of all groups, increasing within each group.
    pub(super) nodes: Vec<u32>,
    /// The start of the constraints of each group, and the end of the last group.
    pub(super) rows: Vec<usize>,
    /// The constraints of all groups, increasing within each group until they are factored.
    pub(super) members: Vec<u32>,
}

impl ConstraintGroups {
    /// Computes new groups in the existing memory.
    pub(super) fn find(&mut self, constraints: &Constraints) {
        let n = constraints.nodes();
        // Until groups are numbered, `place` is a forest. It contains the parent of each node, and each root
        // is the smallest node of its tree.
        refill(&mut self.of, n, NONE);
        self.place.clear();
        self.place.extend(0..n as u32);
        for k in 0..constraints.len() {
            let nodes = constraints.nodes_of(k);
            for &node in nodes {
                self.of[node as usize] = 0;
                join(&mut self.place, nodes[0], node);
            }
        }
        // A root is visited before the other nodes of its tree. So its group number is known when these nodes
        // are visited.
        let mut count = 0;
        for i in 0..n {
            if self.of[i] == NONE {
                continue;
            }
            let root = root(&mut self.place, i as u32) as usize;
            if root == i {
                self.of[i] = count;
                count += 1;
            } else {
                self.of[i] = self.of[root];
            }
        }
        let count = count as usize;
        let of = &self.of;
        let grouped = (0..n).filter(|&i| of[i] != NONE);
        sort(count, grouped, |i| of[i] as usize, &mut self.starts, &mut self.nodes);
        let group = |k: usize| of[constraints.nodes_of(k)[0] as usize] as usize;
        sort(count, 0..constraints.len(), group, &mut self.rows, &mut self.members);
        for g in 0..count {
            let nodes = &self.nodes[self.starts[g]..self.starts[g + 1]];
            nodes.iter().enumerate().for_each(|(at, &i)| self.place[i as usize] = at as u32);
        }
    }

    /// The number of groups.
    pub(super) fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The nodes of group g.
    #[inline]
    pub(super) fn nodes(&self, g: usize) -> &[u32] {
        &self.nodes[self.starts[g]..self.starts[g + 1]]
    }

    /// The constraints of group g.
    pub(super) fn members(&self, g: usize) -> &[u32] {
        &self.members[self.rows[g]..self.rows[g + 1]]
    }

    /// Whether group g has more than one node.
    #[inline]
    pub(super) fn has_several_nodes(&self, g: usize) -> bool {
        self.starts[g + 1] - self.starts[g] > 1
    }

    /// Whether two sets of groups have the same nodes; constraints are not compared.
    pub(super) fn same_nodes(&self, other: &Self) -> bool {
        self.starts == other.starts && self.nodes == other.nodes
    }
}

/// Fills a list with n copies of a value, in existing memory.
pub(super) fn refill<T: Copy>(list: &mut Vec<T>, n: usize, value: T) {
    list.clear();
    list.resize(n, value);
}

/// Sorts increasing items into `count` buckets. Returns the start of each bucket, and all items.
fn sort(
    count: usize,
    items: impl Iterator<Item = usize> + Clone,
    bucket: impl Fn(usize) -> usize,
    starts: &mut Vec<usize>,
    sorted: &mut Vec<u32>,
) {
    let mut buckets = Buckets::reuse(std::mem::take(starts), count);
    items.clone().for_each(|i| buckets.count(bucket(i)));
    refill(sorted, buckets.sum_up(), 0);
    items.for_each(|i| sorted[buckets.place(bucket(i))] = i as u32);
    *starts = buckets.into_starts();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_nodes_join_constraints() {
        let mut c = Constraints::new(12, 1).unwrap();
        let pair = |c: &mut Constraints, i, j| c.equation(&[(i, &[1.0]), (j, &[-1.0])], 0.0).unwrap();
        pair(&mut c, 9, 4);
        pair(&mut c, 7, 2);
        c.point(11, &[0.0]).unwrap();
        pair(&mut c, 5, 9);
        c.point(4, &[0.0]).unwrap();
        let mut groups = ConstraintGroups::default();
        for _ in 0..2 {
            groups.find(&c);
            assert_eq!(groups.count(), 3);
            assert_eq!((groups.nodes(0), groups.members(0)), (&[2, 7][..], &[1][..]));
            assert_eq!((groups.nodes(1), groups.members(1)), (&[4, 5, 9][..], &[0, 3, 4][..]));
            assert_eq!((groups.nodes(2), groups.members(2)), (&[11][..], &[2][..]));
            assert_eq!((groups.of[9], groups.place[9], groups.of[3]), (1, 2, NONE));
            assert!(groups.has_several_nodes(0) && !groups.has_several_nodes(2));
        }
        c.clear();
        groups.find(&c);
        assert_eq!((groups.count(), groups.starts.len()), (0, 1));
    }
}
