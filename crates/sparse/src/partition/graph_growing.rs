//! Partition by the graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use coarsen_core::Error;

use super::{assign, check, half};
use crate::graph::Search;
use crate::{Classes, Graph};

/// Recursive bisection of the graph by greedy growing. The first half starts at a pseudo-peripheral node and
/// always adds the node that increases the cut least.
///
/// In a region with several components, the components are filled one after the other. The sizes of any two
/// parts differ by at most one. A part may be disconnected. The parts are not refined afterwards;
/// partitioners with refinement cut fewer edges.
/// *Use* if no positions are known. *Cost* O(edges · log nodes · log parts); serial, deterministic.
///
/// ```
/// use coarsen_sparse::{Graph, partition};
/// let path = Graph::from_edges(4, &[(0, 2), (2, 1), (1, 3)])?;
/// assert_eq!(partition::graph_growing(&path, 2)?.of(), [0, 1, 0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// *Reference* Karypis & Kumar 1998, A fast and high quality multilevel scheme for partitioning irregular
/// graphs ("greedy graph growing"); start node by George & Liu 1979.
///
/// # Errors
/// [`Error::Parameter`] for 0 parts, [`Error::TooLarge`] for too many nodes or parts.
pub fn graph_growing(graph: &Graph, parts: usize) -> Result<Classes, Error> {
    check(graph.nodes(), parts)?;
    let mut nodes: Vec<u32> = (0..graph.nodes() as u32).collect();
    let region = vec![0; graph.nodes()];
    let (gain, search) = (vec![0; graph.nodes()], Search::new(graph.nodes()));
    Growth { graph, region, gain, search }.bisect(&mut nodes, 0, parts);
    assign(&nodes, parts)
}

struct Growth<'a> {
    graph: &'a Graph,
    /// The region of each node. A region is named after its first part.
    region: Vec<u32>,
    /// The decrease of the cut if a node joins the growing half: the number of its edges into this half minus
    /// the number of its edges into the rest of the region.
    gain: Vec<i64>,
    search: Search,
}

impl Growth<'_> {
    /// The entry in `region` of a node that has joined the growing half.
    const JOINED: u32 = u32::MAX;

    /// Orders `nodes` so that each part is a contiguous range; `name` is the number of their region.
    fn bisect(&mut self, nodes: &mut [u32], name: u32, parts: usize) {
        if parts <= 1 || nodes.len() <= 1 {
            return;
        }
        let (n, p) = half(nodes.len(), parts);
        let second_name = name + p as u32;
        let mut order = self.grow(nodes, name, n);
        order.extend(nodes.iter().filter(|&&i| self.region[i as usize] != Self::JOINED));
        nodes.copy_from_slice(&order);
        let (first, second) = nodes.split_at_mut(n);
        first.iter().for_each(|&i| self.region[i as usize] = name);
        second.iter().for_each(|&i| self.region[i as usize] = second_name);
        self.bisect(first, name, p);
        self.bisect(second, second_name, parts - p);
    }

    /// Returns the first `count` nodes to join. The next node is always the node of the front that increases
    /// the cut least. Ties go to the node that entered the front first.
    fn grow(&mut self, nodes: &[u32], name: u32, count: usize) -> Vec<u32> {
        for &i in nodes {
            let neighbours = self.graph.neighbours(i as usize).iter();
            self.gain[i as usize] =
                -(neighbours.filter(|&&j| self.region[j as usize] == name).count() as i64);
        }
        let mut joined = Vec::with_capacity(nodes.len());
        let mut front = BinaryHeap::new(); // (gain, age, node); entries with an outdated gain are skipped
        let mut seeds = nodes.iter();
        let mut age = 0_usize;
        while joined.len() < count {
            let Some((gain, _, i)) = front.pop() else {
                let free = |i: &&u32| self.region[**i as usize] == name;
                let Some(&seed) = seeds.find(free) else { break };
                let region = &self.region;
                let start = self.search.pseudo_peripheral(self.graph, seed, &|i| region[i as usize] == name);
                front.push((self.gain[start as usize], Reverse(age), start));
                continue;
            };
            if self.region[i as usize] != name || gain != self.gain[i as usize] {
                continue;
            }
            self.region[i as usize] = Self::JOINED;
            joined.push(i);
            for &j in self.graph.neighbours(i as usize) {
                if self.region[j as usize] == name {
                    self.gain[j as usize] += 2;
                    age += 1;
                    front.push((self.gain[j as usize], Reverse(age), j));
                }
            }
        }
        joined
    }
}
