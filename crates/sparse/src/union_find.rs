//! Union-find: sets of nodes as trees, stored as the `parent` of each node. A root is its own parent, and the smallest node
//! of its set.
//!
//! *Cost* almost linear. *Reference* Tarjan & van Leeuwen 1984, "Worst-case analysis of set union algorithms" (path
//! halving).

/// Returns the root of the tree of node i, and halves the path to it.
#[inline]
pub fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        let above = parent[parent[i as usize] as usize];
        parent[i as usize] = above;
        i = above;
    }
    i
}

/// Joins the sets of two nodes, and returns the root of the joined set.
#[inline]
pub fn join(parent: &mut [u32], i: u32, j: u32) -> u32 {
    let (i, j) = (root(parent, i), root(parent, j));
    parent[i.max(j) as usize] = i.min(j);
    i.min(j)
}

/// Replaces each parent by the number of the set, in the order of the smallest nodes. Returns the number of sets.
///
/// ```
/// use coarsen_sparse::union_find::{join, number};
/// let mut sets = [0, 1, 2, 3];
/// join(&mut sets, 3, 1);
/// assert_eq!(number(&mut sets), 3);
/// assert_eq!(sets, [0, 1, 2, 1]);
/// ```
pub fn number(parent: &mut [u32]) -> u32 {
    let mut count = 0;
    for i in 0..parent.len() {
        // Parents are smaller than their children, so they are numbered already.
        let above = parent[i] as usize;
        parent[i] = if above == i { count } else { parent[above] };
        count += u32::from(above == i);
    }
    count
}
