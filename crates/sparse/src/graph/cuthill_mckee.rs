//! Orderings of small bandwidth.
//!
//! *Reference* Cuthill & McKee 1969, Reducing the bandwidth of sparse symmetric matrices; reversed by George
//! 1971. The search starts at a pseudo-peripheral node (George & Liu 1979).

use super::{Graph, Search};

impl Graph {
    /// The Cuthill-McKee order: `order[k]` is the k-th node in the new order.
    ///
    /// Each component is searched breadth-first from a pseudo-peripheral node. Neighbours are visited by
    /// increasing degree, then by index. *Cost* a few searches and a sort of each row.
    ///
    /// ```
    /// use coarsen_sparse::Graph;
    /// let g = Graph::from_edges(4, &[(0, 3), (3, 1), (1, 2)])?; // the path 0 – 3 – 1 – 2
    /// assert_eq!(g.bandwidth(&[0, 1, 2, 3]), 3);
    /// assert_eq!(g.bandwidth(&g.cuthill_mckee()), 1);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn cuthill_mckee(&self) -> Vec<u32> {
        let n = self.nodes();
        let mut order = Vec::with_capacity(n);
        let mut placed = vec![false; n];
        let mut search = Search::new(n);
        for root in 0..n {
            if placed[root] {
                continue;
            }
            let start = search.pseudo_peripheral(self, root as u32, &|_| true);
            let mut at = order.len();
            placed[start as usize] = true;
            order.push(start);
            while at < order.len() {
                let first = order.len();
                for &j in self.neighbours(order[at] as usize) {
                    if !placed[j as usize] {
                        placed[j as usize] = true;
                        order.push(j);
                    }
                }
                order[first..].sort_unstable_by_key(|&j| (self.degree(j as usize), j));
                at += 1;
            }
        }
        order
    }

    /// The reverse Cuthill-McKee order. It has the same bandwidth but less fill-in in a factorisation.
    pub fn reverse_cuthill_mckee(&self) -> Vec<u32> {
        let mut order = self.cuthill_mckee();
        order.reverse();
        order
    }

    /// The largest distance between the positions of two neighbours, if `order[k]` is the k-th node. *Panics*
    /// if `order` is not a permutation.
    pub fn bandwidth(&self, order: &[u32]) -> usize {
        assert_eq!(order.len(), self.nodes(), "bandwidth: the order has a different number of nodes");
        let mut place = vec![usize::MAX; order.len()];
        order.iter().enumerate().for_each(|(k, &i)| place[i as usize] = k);
        assert!(!place.contains(&usize::MAX), "bandwidth: the order contains a node twice");
        let distance = |i: usize, j: u32| place[i].abs_diff(place[j as usize]);
        let widest = |i| self.neighbours(i).iter().map(|&j| distance(i, j)).max().unwrap_or(0);
        (0..self.nodes()).map(widest).max().unwrap_or(0)
    }
}
