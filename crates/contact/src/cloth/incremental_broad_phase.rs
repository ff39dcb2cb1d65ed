//! The pairs of some nodes alone: those whose displacements have changed since a search for all pairs.
//!
//! | symbol | here | |
//! |---|---|---|
//! | changed | `changed` | these nodes, and the parts with one of them |
//! | block | [`Blocks`] | 256 parts that follow each other; those whose boxes overlap no changed part are left out |
//!
//! Changed triangles, edges and vertices are in hashes. Vertices query the triangles, other triangles the vertices, and
//! edges the edges. Li et al. 2020, "P-Cloth", §4.1, search for all pairs each time.

use std::ops::Range;

use coarsen_core::parallel;

use super::blocks::{Blocks, LEAF, Leaf, WORK, around, place, unions};
use super::local_broad_phase::Chosen;
use super::topology::Topology;
use crate::{Aabb, ContactError, Pair, SpatialHash};

/// The search for the pairs of some nodes.
///
/// *Use* if few nodes have moved since a search for all pairs. *Cost* the boxes of all nodes, hashes of the parts
/// with one of the nodes, and a query for each part near them.
///
/// ```
/// use coarsen_contact::{Aabb, IncrementalBroadPhase, Pair, Topology};
/// // Two triangles, one above the other; node 0 alone is changed.
/// let x = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.1], [1.0, 0.0, 0.1], [0.0, 1.0, 0.1]];
/// let parts = Topology::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x)?;
/// let nodes = [true, false, false, false, false, false];
/// let (mut search, mut pairs) = (IncrementalBroadPhase::default(), Vec::new());
/// search.find(&parts, &nodes, [0, 1], |node| Aabb::of([x[node as usize]]).grown(0.1), |_| true, &mut pairs)?;
/// // Of 15: vertex 0 with the upper triangle, its three vertices with the lower one, and two edges with three.
/// assert_eq!(pairs.len(), 10);
/// assert!(pairs.iter().all(|pair| match pair {
///     Pair::VertexFace { vertex, face } => *vertex == 0 || face.contains(&0),
///     Pair::EdgeEdge { edges } => edges.as_flattened().contains(&0),
/// }));
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Default)]
pub struct IncrementalBroadPhase {
    /// The changed parts of a share.
    vertices: Chosen,
    edges: Chosen,
    faces: Chosen,
    /// The box of each node.
    boxes: Vec<Aabb>,
    leaves: Vec<Leaf>,
    visited: usize,
}

/// What queries in a block.
#[derive(Clone, Copy)]
enum Kind {
    Vertices,
    Edges,
    Faces,
}

impl IncrementalBroadPhase {
    /// Replaces `found` by the pairs with a changed node whose boxes overlap and that `keep` accepts, sorted. Of these
    /// it finds those of share `share[0]` of `share[1]`; together the shares have each pair once. The box of a part
    /// contains those of its nodes, which `of` returns. *Panics* on a wrong length of `changed`.
    ///
    /// # Errors
    /// [`ContactError::Box`] for a box that is not finite, [`ContactError::TooMany`] as for [`SpatialHash::rebuild`].
    pub fn find(
        &mut self,
        parts: &Topology,
        changed: &[bool],
        share: [usize; 2],
        of: impl Fn(u32) -> Aabb + Sync,
        keep: impl Fn(&Pair) -> bool + Sync,
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        assert_eq!(changed.len(), parts.nodes(), "find: wrong length of changed nodes");
        found.clear();
        let Self { vertices, edges, faces, boxes, leaves, visited } = self;
        let clusters = place(parts.nodes(), of, boxes)?;
        let boxes = &boxes[..];
        vertices.choose(parts.vertices.as_chunks::<1>().0, changed, share, boxes)?;
        edges.choose(&parts.edges, changed, share, boxes)?;
        faces.choose(&parts.triangles, changed, share, boxes)?;
        let [of_vertices, of_edges, of_faces] = parts.blocks();
        let mut tasks = Vec::new();
        for (kind, blocks, hash) in [
            (Kind::Vertices, of_vertices, &faces.hash),
            (Kind::Edges, of_edges, &edges.hash),
            (Kind::Faces, of_faces, &vertices.hash),
        ] {
            tasks.extend(near(blocks, &clusters, hash)?.into_iter().map(|block| (kind, block)));
        }
        let is_changed = |nodes: &[u32]| nodes.iter().any(|&node| changed[node as usize]);
        let visit = |kind: Kind, i: usize, Leaf { pairs, overlaps }: &mut Leaf| {
            let mut add = |pair: Option<Pair>| {
                *overlaps += usize::from(pair.is_some());
                pairs.extend(pair.filter(&keep));
            };
            match kind {
                Kind::Vertices => {
                    let of = &boxes[parts.vertices[i] as usize];
                    faces.hash.query(of, |j| add(parts.vertex_face(i, faces.ids[j as usize])));
                }
                Kind::Faces if is_changed(&parts.triangles[i]) => {} // its vertices have found it
                Kind::Faces => {
                    let of = around(&parts.triangles[i], boxes);
                    let vertex = |j: u32| vertices.ids[j as usize] as usize;
                    vertices.hash.query(&of, |j| add(parts.vertex_face(vertex(j), i as u32)));
                }
                Kind::Edges => {
                    let (of, own) = (around(&parts.edges[i], boxes), is_changed(&parts.edges[i]));
                    edges.hash.query(&of, |j| {
                        let other = edges.ids[j as usize] as usize;
                        // Of two changed edges, the first finds the other.
                        if !own || i < other {
                            add(parts.edge_edge(i.min(other), i.max(other) as u32));
                        }
                    });
                }
            }
        };
        let count = |kind: Kind| match kind {
            Kind::Vertices => parts.vertices.len(),
            Kind::Edges => parts.edges.len(),
            Kind::Faces => parts.triangles.len(),
        };
        let queries = |(kind, block): (Kind, usize)| LEAF * block..count(kind).min(LEAF * (block + 1));
        *visited = tasks.iter().map(|&task| queries(task).len()).sum();
        leaves.resize_with(tasks.len(), Leaf::default);
        let search = |(range, leaves): (Range<usize>, &mut [Leaf])| {
            for (task, into) in range.zip(leaves) {
                into.pairs.clear();
                into.overlaps = 0;
                queries(tasks[task]).for_each(|i| visit(tasks[task].0, i, into));
            }
        };
        parallel::each((0..tasks.len(), &mut leaves[..]), 1, parallel::worth(*visited * WORK), &search);
        leaves.iter().for_each(|leaf| found.extend_from_slice(&leaf.pairs));
        found.sort_unstable();
        debug_assert!(found.is_sorted_by(|a, b| a < b));
        Ok(())
    }

    /// The number of parts in the hashes of the last search.
    pub fn parts(&self) -> usize {
        self.vertices.ids.len() + self.edges.ids.len() + self.faces.ids.len()
    }

    /// The number of parts in the blocks of the last search that are near changed parts: those that query, and changed
    /// triangles.
    pub fn visited(&self) -> usize {
        self.visited
    }

    /// The number of pairs of the last search whose boxes overlap, kept or not.
    pub fn overlaps(&self) -> usize {
        self.leaves.iter().map(|leaf| leaf.overlaps).sum()
    }
}

/// The blocks whose boxes overlap a group of boxes of a hash.
fn near(blocks: &Blocks, clusters: &[Aabb], hash: &SpatialHash) -> Result<Vec<usize>, ContactError> {
    let own: Vec<Aabb> = (0..hash.len() as u32).map(|i| *hash.get(i)).collect();
    let groups = unions(&own);
    let mut all = SpatialHash::default();
    all.rebuild(groups.len(), None, |i| groups[i])?;
    Ok(blocks.near(clusters, &all))
}
