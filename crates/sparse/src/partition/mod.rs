//! Partitions into parts of nearly equal size.
//!
//! | function | input | parts |
//! |---|---|---|
//! | [`coordinate_bisection`] | positions | boxes; fast; does not use the matrix |
//! | [`graph_growing`] | the graph | halves grown so that the cut stays small |
//!
//! Both bisect n nodes and p parts recursively, so that the sizes of any two parts differ by at most one. If
//! n ≥ p, no part is empty. Neither minimises the cut; [`cut`] returns its size.

mod coordinate_bisection;
mod graph_growing;

pub use coordinate_bisection::coordinate_bisection;
pub use graph_growing::graph_growing;

use coarsen_core::Error;

use crate::{Classes, Graph};

/// The number of edges between different parts. *Panics* if `parts` has a different number of nodes.
///
/// ```
/// use coarsen_sparse::{Graph, partition};
/// let path = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])?;
/// let parts = partition::graph_growing(&path, 2)?;
/// assert_eq!((parts.sizes(), partition::cut(&path, &parts)), (vec![3, 3], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cut(graph: &Graph, parts: &Classes) -> usize {
    let of = parts.of();
    assert_eq!(of.len(), graph.nodes(), "cut: the partition has a different number of nodes");
    let crossing = |i: usize| graph.neighbours(i).iter().filter(|&&j| of[j as usize] != of[i]).count();
    (0..graph.nodes()).map(crossing).sum::<usize>() / 2
}

/// Divides `nodes` nodes and `parts` parts into halves; returns the numbers of nodes and parts in the first
/// half.
///
/// Let nodes = q·parts + r. If the first half has p parts, it gets q·p + ⌊r p / parts⌋ nodes. Then each half
/// again has q or q + 1 nodes per part.
fn half(nodes: usize, parts: usize) -> (usize, usize) {
    let first = parts / 2;
    (nodes / parts * first + nodes % parts * first / parts, first)
}

/// The partition after bisection. Each part is a contiguous range of `nodes`.
fn assign(nodes: &[u32], parts: usize) -> Result<Classes, Error> {
    fn fill(nodes: &[u32], first: usize, parts: usize, of: &mut [u32]) {
        if parts == 1 || nodes.is_empty() {
            return nodes.iter().for_each(|&i| of[i as usize] = first as u32);
        }
        let (n, p) = half(nodes.len(), parts);
        fill(&nodes[..n], first, p, of);
        fill(&nodes[n..], first + p, parts - p, of);
    }
    let mut of = vec![0; nodes.len()];
    fill(nodes, 0, parts, &mut of);
    Classes::new(parts, of)
}

/// Checks the counts: at least one part, and nodes and parts within the range of `u32`.
fn check(nodes: usize, parts: usize) -> Result<(), Error> {
    if parts == 0 {
        return Err(Error::Parameter { name: "parts", value: 0.0, range: "at least 1" });
    }
    let limit = u32::MAX as usize;
    for (what, count) in [("nodes", nodes), ("parts", parts)] {
        if count > limit {
            return Err(Error::TooLarge { what, count, limit });
        }
    }
    Ok(())
}
