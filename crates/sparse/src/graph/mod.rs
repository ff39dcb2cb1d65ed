//! The adjacency graph of a matrix.

mod cuthill_mckee;
mod search;

pub use search::Levels;
pub(crate) use search::Search;

use coarsen_core::Error;

use crate::{Buckets, Pattern, SparseError};

/// The undirected graph of a square pattern. Nodes are block rows, and i and j are neighbours if (i, j) or
/// (j, i) is stored.
///
/// The graph has no loops, and neighbours are sorted. It does not depend on values. Orderings, colourings,
/// partitions and aggregations use it.
///
/// *Memory* 8 bytes per node and 8 per edge.
///
/// ```
/// use coarsen_sparse::{Graph, assembly};
/// let a = assembly::from_triplets(3, 3, &[(0, 0, 1.0), (2, 0, 1.0), (0, 1, 1.0)])?;
/// let g = Graph::of(a.pattern())?;
/// assert_eq!((g.neighbours(0), g.neighbours(1), g.neighbours(2)), (&[1, 2][..], &[0][..], &[0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// The graph of a square pattern, symmetrised. *Cost* two passes over a symmetric pattern; otherwise also
    /// a sort of each row.
    ///
    /// # Errors
    /// [`Error::NotSquare`] for a pattern that is not square.
    pub fn of(pattern: &Pattern) -> Result<Self, Error> {
        let (rows, columns) = (pattern.rows(), pattern.columns());
        if rows != columns {
            return Err(Error::NotSquare { rows, columns });
        }
        if pattern.is_symmetric() {
            return Ok(Self::without_loops(pattern));
        }
        let stored = (0..rows).flat_map(|i| pattern.row(i).iter().map(move |&j| (i as u32, j)));
        Ok(Self::symmetrised(rows, stored))
    }

    fn without_loops(pattern: &Pattern) -> Self {
        let mut offsets = Vec::with_capacity(pattern.rows() + 1);
        let mut neighbours = Vec::with_capacity(pattern.len());
        offsets.push(0);
        for i in 0..pattern.rows() {
            neighbours.extend(pattern.row(i).iter().filter(|&&j| j as usize != i));
            offsets.push(neighbours.len());
        }
        Self { offsets, neighbours }
    }

    /// The graph with the given edges on `nodes` nodes. Direction, duplicates and loops are ignored.
    ///
    /// # Errors
    /// [`SparseError::Row`] for the first edge with an end that is not a node, [`SparseError::TooLarge`] for
    /// too many nodes.
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Result<Self, SparseError> {
        let limit = u32::MAX as usize;
        if nodes > limit {
            return Err(SparseError::TooLarge { what: "nodes", count: nodes, limit });
        }
        if let Some(entry) = edges.iter().position(|&(i, j)| i.max(j) as usize >= nodes) {
            let row = edges[entry].0.max(edges[entry].1) as usize;
            return Err(SparseError::Row { entry, row, rows: nodes });
        }
        Ok(Self::symmetrised(nodes, edges.iter().copied()))
    }

    /// Stores both directions of every edge, sorted, without duplicates.
    pub(crate) fn symmetrised(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let edges = edges.filter(|(i, j)| i != j);
        let mut buckets = Buckets::new(nodes);
        for (i, j) in edges.clone() {
            buckets.count(i as usize);
            buckets.count(j as usize);
        }
        let mut neighbours = vec![0_u32; buckets.sum_up()];
        for (i, j) in edges {
            neighbours[buckets.place(i as usize)] = j;
            neighbours[buckets.place(j as usize)] = i;
        }
        let starts = buckets.into_starts();
        let (mut offsets, mut end) = (vec![0; nodes + 1], 0);
        for i in 0..nodes {
            let row = starts[i]..starts[i + 1];
            neighbours[row.clone()].sort_unstable();
            for k in row {
                if end == offsets[i] || neighbours[end - 1] != neighbours[k] {
                    neighbours[end] = neighbours[k];
                    end += 1;
                }
            }
            offsets[i + 1] = end;
        }
        neighbours.truncate(end);
        neighbours.shrink_to_fit();
        Self { offsets, neighbours }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of undirected edges.
    pub fn edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The neighbours of node i, increasing, without i itself.
    #[inline]
    pub fn neighbours(&self, i: usize) -> &[u32] {
        &self.neighbours[self.offsets[i]..self.offsets[i + 1]]
    }

    /// The number of neighbours of node i.
    #[inline]
    pub fn degree(&self, i: usize) -> usize {
        self.offsets[i + 1] - self.offsets[i]
    }
}
