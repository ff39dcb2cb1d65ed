//! Breadth-first search: levels, connected components, pseudo-peripheral nodes.

use super::Graph;
use crate::Classes;

/// The result of a breadth-first search: the nodes reached, level by level. Computed by [`Graph::levels`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    order: Vec<u32>,
    starts: Vec<usize>,
}

impl Levels {
    /// The number of levels; level 0 contains only the root.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The nodes at distance `d` from the root, in order of discovery.
    pub fn level(&self, d: usize) -> &[u32] {
        let end = self.starts.get(d + 1).copied().unwrap_or(self.order.len());
        &self.order[self.starts[d]..end]
    }

    /// All nodes reached, level by level.
    pub fn order(&self) -> &[u32] {
        &self.order
    }
}

impl Graph {
    /// The nodes reachable from `root`, sorted by distance. *Panics* if `root` is not a node.
    pub fn levels(&self, root: usize) -> Levels {
        assert!(root < self.nodes(), "levels: root {root} of {} nodes", self.nodes());
        let mut search = Search::new(self.nodes());
        search.from(self, root as u32, &|_| true);
        Levels { order: search.order, starts: search.starts }
    }

    /// The connected components, numbered by their smallest node.
    ///
    /// ```
    /// use coarsen_sparse::Graph;
    /// let c = Graph::from_edges(4, &[(0, 2), (1, 3)])?.components();
    /// assert_eq!((c.count(), c.of()), (2, &[0, 1, 0, 1][..]));
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn components(&self) -> Classes {
        const NONE: u32 = u32::MAX; // marks a node without component; there are fewer components
        let mut of = vec![NONE; self.nodes()];
        let (mut count, mut queue) = (0, Vec::new());
        for root in 0..self.nodes() {
            if of[root] != NONE {
                continue;
            }
            of[root] = count;
            queue.push(root as u32);
            while let Some(i) = queue.pop() {
                for &j in self.neighbours(i as usize) {
                    if of[j as usize] == NONE {
                        of[j as usize] = count;
                        queue.push(j);
                    }
                }
            }
            count += 1;
        }
        Classes::new(count as usize, of).expect("components are numbered below their count")
    }
}

/// Scratch for repeated searches. The cost of a search is proportional to the number of edges it visits, not
/// to the size of the graph.
pub(crate) struct Search {
    visited: Vec<u32>,
    stamp: u32,
    /// The nodes reached by the last search, level by level.
    pub(crate) order: Vec<u32>,
    starts: Vec<usize>,
}

impl Search {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { visited: vec![0; nodes], stamp: 0, order: Vec::new(), starts: Vec::new() }
    }

    /// Visits all nodes that can be reached from `root` along nodes for which `inside` is true.
    pub(crate) fn from(&mut self, graph: &Graph, root: u32, inside: &impl Fn(u32) -> bool) {
        if self.stamp == u32::MAX {
            self.visited.fill(0);
            self.stamp = 0;
        }
        self.stamp += 1;
        self.order.clear();
        self.starts.clear();
        self.visited[root as usize] = self.stamp;
        self.order.push(root);
        let mut start = 0;
        while start < self.order.len() {
            let end = self.order.len();
            self.starts.push(start);
            for at in start..end {
                for &j in graph.neighbours(self.order[at] as usize) {
                    if self.visited[j as usize] != self.stamp && inside(j) {
                        self.visited[j as usize] = self.stamp;
                        self.order.push(j);
                    }
                }
            }
            start = end;
        }
    }

    /// A node with nearly maximal distance to some other node: repeats the search from a node of least degree in the last level
    /// while the number of levels grows. *Reference* George & Liu 1979, An implementation of a pseudoperipheral node finder.
    pub(crate) fn pseudo_peripheral(
        &mut self,
        graph: &Graph,
        root: u32,
        inside: &impl Fn(u32) -> bool,
    ) -> u32 {
        let (mut best, mut depth) = (root, 0);
        let mut next = root;
        loop {
            self.from(graph, next, inside);
            if self.starts.len() <= depth {
                return best;
            }
            (best, depth) = (next, self.starts.len());
            let last = &self.order[self.starts[depth - 1]..];
            next = last.iter().copied().min_by_key(|&i| (graph.degree(i as usize), i)).unwrap_or(best);
        }
    }
}
