//! Parts from the graph alone.

use coarsen_core::Error;

use super::{assign, check, half};
use crate::graph::Search;
use crate::{Classes, Graph};

/// Halves the graph again and again: grows the first half breadth-first from a pseudo-peripheral node.
///
/// A region of several components is walked component after component. The sizes of any two parts differ by at most one;
/// a part may fall into pieces where growth ran around an obstacle.
/// *Use* when no positions are known. *Cost* O((nodes + edges) log parts), a few searches a level; serial, deterministic.
///
/// ```
/// use coarsen_sparse::{Graph, partition};
/// let path = Graph::from_edges(4, &[(0, 2), (2, 1), (1, 3)])?;
/// assert_eq!(partition::graph_growing(&path, 2)?.of(), [0, 1, 0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// *Reference* Karypis & Kumar 1998, A fast and high quality multilevel scheme for partitioning irregular graphs ("graph
/// growing"); start node by George & Liu 1979.
///
/// # Errors
/// [`Error::Parameter`] for 0 parts, [`Error::TooLarge`].
pub fn graph_growing(graph: &Graph, parts: usize) -> Result<Classes, Error> {
    check(graph.nodes(), parts)?;
    let mut nodes: Vec<u32> = (0..graph.nodes() as u32).collect();
    let region = vec![0; graph.nodes()];
    Growth { graph, region, search: Search::new(graph.nodes()) }.bisect(&mut nodes, 0, parts);
    assign(&nodes, parts)
}

struct Growth<'a> {
    graph: &'a Graph,
    /// The region of each node, named by the first part it will hold.
    region: Vec<u32>,
    search: Search,
}

impl Growth<'_> {
    /// No region: the node has been walked.
    const WALKED: u32 = u32::MAX;

    /// Orders `nodes`, which make up region `name`, so that each part is a consecutive piece.
    fn bisect(&mut self, nodes: &mut [u32], name: u32, parts: usize) {
        if parts <= 1 || nodes.len() <= 1 {
            return;
        }
        self.walk(nodes, name);
        let (n, p) = half(nodes.len(), parts);
        let (first, second) = nodes.split_at_mut(n);
        let second_name = name + p as u32;
        first.iter().for_each(|&i| self.region[i as usize] = name);
        second.iter().for_each(|&i| self.region[i as usize] = second_name);
        self.bisect(first, name, p);
        self.bisect(second, second_name, parts - p);
    }

    /// Orders the nodes of a region breadth-first, component after component.
    fn walk(&mut self, nodes: &mut [u32], name: u32) {
        let mut order = Vec::with_capacity(nodes.len());
        for &seed in &*nodes {
            if self.region[seed as usize] == Self::WALKED {
                continue;
            }
            let region = &self.region;
            let inside = |i: u32| region[i as usize] == name;
            let start = self.search.pseudo_peripheral(self.graph, seed, &inside);
            self.search.from(self.graph, start, &inside);
            self.search.order.iter().for_each(|&i| self.region[i as usize] = Self::WALKED);
            order.extend_from_slice(&self.search.order);
        }
        nodes.copy_from_slice(&order);
    }
}

#[cfg(test)]
mod tests {
    use super::super::cut;
    use super::super::tests::grid;
    use super::*;

    #[test]
    fn a_long_plate_is_cut_across() {
        let (graph, _) = grid(40, 4);
        let parts = graph_growing(&graph, 4).unwrap();
        assert!(cut(&graph, &parts) <= 24, "cut {}", cut(&graph, &parts));
    }

    #[test]
    fn components_are_not_torn() {
        let graph = Graph::from_edges(8, &[(0, 2), (2, 4), (4, 6), (1, 3), (3, 5), (5, 7)]).unwrap();
        let parts = graph_growing(&graph, 2).unwrap();
        assert_eq!((cut(&graph, &parts), parts.of()), (0, &[0, 1, 0, 1, 0, 1, 0, 1][..]));
    }

    #[test]
    fn nodes_without_neighbours_are_spread() {
        let graph = Graph::from_edges(10, &[]).unwrap();
        assert_eq!(graph_growing(&graph, 5).unwrap().sizes(), [2; 5]);
    }
}
