//! Colourings. Nodes of one colour are not coupled, so a sweep can update them in parallel.

use crate::{Classes, Graph};

/// A distance-1 colouring: neighbours have different colours. Greedy first fit, in the order of the nodes.
///
/// Uses at most one colour more than the largest degree: about 7 colours on triangle meshes, 2 on grids. The
/// result is deterministic.
/// *Use* for Gauss-Seidel on devices and for parallel assembly. With few threads, Gauss-Seidel in natural
/// order converges faster.
/// *Cost* one pass over the edges.
///
/// ```
/// use coarsen_sparse::{Graph, coloring};
/// let path = Graph::from_edges(3, &[(0, 1), (1, 2)])?;
/// let colors = coloring::greedy(&path);
/// assert_eq!(colors.of(), [0, 1, 0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
///
/// *Reference* Saad 2003, §3.3.3, "greedy multicoloring".
pub fn greedy(graph: &Graph) -> Classes {
    const NONE: u32 = u32::MAX; // marks a node without colour; there are fewer colours
    let mut of = vec![NONE; graph.nodes()];
    let mut used_by: Vec<u32> = vec![]; // for each colour, the last node with a neighbour of this colour
    for i in 0..graph.nodes() {
        for &j in graph.neighbours(i) {
            if let Some(used) = used_by.get_mut(of[j as usize] as usize) {
                *used = i as u32;
            }
        }
        let color = used_by.iter().position(|&used| used != i as u32).unwrap_or(used_by.len());
        if color == used_by.len() {
            used_by.push(NONE);
        }
        of[i] = color as u32;
    }
    Classes::new(used_by.len(), of).expect("colours are numbered below their count")
}
