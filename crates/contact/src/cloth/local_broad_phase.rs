//! Pairs of some groups of queries, by hashes of the parts near them alone.
//!
//! | symbol | here | |
//! |---|---|---|
//! | block | [`Blocks`] | 256 parts that follow each other in their list, and the clusters of 32 nodes that they touch |
//! | near | `ids` | the parts of all blocks whose boxes overlap that of a block of queries |
//!
//! A part in no such block overlaps no query, so it is in no hash. If parts that follow each other are neighbours, as
//! in the rows of a sheet, the hashes of a share of the queries have about that share of all parts. Otherwise they
//! have more, up to all, and the pairs are the same.

use std::ops::Range;

use coarsen_core::parallel;

use super::blocks::{Blocks, LEAF, Leaf, WORK, around, place};
use super::topology::Topology;
use crate::{Aabb, ContactError, Pair, SpatialHash};

/// The search for the pairs of some groups of queries; the groups are those of [`BroadPhase`](crate::BroadPhase).
///
/// *Use* for a share of a surface; for all groups, [`BroadPhase`](crate::BroadPhase) finds the same pairs in less time. *Cost*
/// the boxes of all nodes, and hashes of the parts near the queries. *Reference* of the hashes: [`SpatialHash`].
///
/// ```
/// use coarsen_contact::{Aabb, LocalBroadPhase, Topology};
/// // Two triangles, one above the other; their vertices and edges are one group.
/// let x = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.1], [1.0, 0.0, 0.1], [0.0, 1.0, 0.1]];
/// let parts = Topology::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x)?;
/// let (mut near, mut pairs) = (LocalBroadPhase::default(), Vec::new());
/// near.build(&parts, &|node| Aabb::of([x[node as usize]]).grown(0.1), &[0])?;
/// near.find(&parts, &[0], |_| true, &mut pairs);
/// assert_eq!((near.parts(), pairs.len()), (8, 15)); // each vertex and each edge meet the other triangle
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Default)]
pub struct LocalBroadPhase {
    faces: Chosen,
    edges: Chosen,
    /// The box of each node.
    boxes: Vec<Aabb>,
    leaves: Vec<(Leaf, u64)>,
}

/// Some parts of one kind: their numbers, which increase, and their boxes.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) ids: Vec<u32>,
    pub(super) hash: SpatialHash,
}

impl Chosen {
    /// Takes the parts of the blocks that overlap some boxes, which are those of blocks of queries.
    fn take<const N: usize>(
        &mut self,
        parts: &[[u32; N]],
        blocks: &Blocks,
        clusters: &[Aabb],
        queries: &[Aabb],
        boxes: &[Aabb],
    ) -> Result<(), ContactError> {
        let mut all = SpatialHash::default();
        all.rebuild(queries.len(), None, |i| queries[i])?;
        self.ids.clear();
        for block in blocks.near(clusters, &all) {
            self.ids.extend((LEAF * block) as u32..parts.len().min(LEAF * (block + 1)) as u32);
        }
        self.hash_of(parts, boxes)
    }

    /// Takes a share of the parts with a changed node: share `of` of `shares`.
    pub(super) fn choose<const N: usize>(
        &mut self,
        parts: &[[u32; N]],
        changed: &[bool],
        [of, shares]: [usize; 2],
        boxes: &[Aabb],
    ) -> Result<(), ContactError> {
        let is_changed = |nodes: &[u32; N]| nodes.iter().any(|&node| changed[node as usize]);
        self.ids.clear();
        self.ids.extend((0..parts.len() as u32).filter(|&i| is_changed(&parts[i as usize])));
        let [start, end] = [of, of + 1].map(|k| self.ids.len() * k / shares);
        self.ids.truncate(end);
        self.ids.drain(..start);
        self.hash_of(parts, boxes)
    }

    fn hash_of<const N: usize>(&mut self, parts: &[[u32; N]], boxes: &[Aabb]) -> Result<(), ContactError> {
        let ids = &self.ids[..];
        self.hash.rebuild(ids.len(), None, |i| around(&parts[ids[i] as usize], boxes))
    }
}

impl LocalBroadPhase {
    /// Builds the hashes for some groups of queries, in increasing order; the box of a part contains those of its
    /// nodes, which `of` returns.
    ///
    /// # Errors
    /// [`ContactError::Box`] for a box that is not finite, [`ContactError::TooMany`] as for [`SpatialHash::rebuild`].
    pub fn build(
        &mut self,
        parts: &Topology,
        of: &(impl Fn(u32) -> Aabb + Sync),
        groups: &[usize],
    ) -> Result<(), ContactError> {
        let Self { faces, edges, boxes, .. } = self;
        let clusters = place(parts.nodes(), of, boxes)?;
        let [of_vertices, of_edges, of_faces] = parts.blocks();
        let count = parts.vertices.len();
        let (mut vertex_blocks, mut edge_blocks) = (Vec::new(), Vec::new());
        for group in groups {
            let Range { start, end } = queries_of(parts, *group);
            let (first, last) = (start.saturating_sub(count), end.saturating_sub(count));
            vertex_blocks.extend((start < count).then_some(*group));
            // A group of edges begins within a block of their list.
            edge_blocks.extend(first / LEAF..last.div_ceil(LEAF));
        }
        edge_blocks.dedup();
        let around = |blocks: &Blocks, list: &[usize]| -> Vec<Aabb> {
            list.iter().map(|&block| blocks.around(block, &clusters)).collect()
        };
        let vertices = around(of_vertices, &vertex_blocks);
        faces.take(&parts.triangles, of_faces, &clusters, &vertices, boxes)?;
        let queries = around(of_edges, &edge_blocks);
        edges.take(&parts.edges, of_edges, &clusters, &queries, boxes)
    }

    /// The number of triangles and edges in the hashes.
    pub fn parts(&self) -> usize {
        self.faces.ids.len() + self.edges.ids.len()
    }

    /// Appends the pairs of groups of queries, whose boxes overlap and that `keep` accepts, to `found`, sorted, and
    /// returns the number of tests of each group. The groups are those of the last [`build`](Self::build).
    pub fn find(
        &mut self,
        parts: &Topology,
        groups: &[usize],
        keep: impl Fn(&Pair) -> bool + Sync,
        found: &mut Vec<Pair>,
    ) -> Vec<u64> {
        let Self { faces, edges, boxes, leaves } = self;
        let vertices = parts.vertices.len();
        let visit = |i: usize, (Leaf { pairs, overlaps }, tests): &mut (Leaf, u64)| {
            let before = pairs.len();
            let mut add = |pair: Option<Pair>| {
                *overlaps += usize::from(pair.is_some());
                pairs.extend(pair.filter(&keep));
            };
            if i < vertices {
                let of = &boxes[parts.vertices[i] as usize];
                *tests += faces.hash.tests(of);
                faces.hash.query(of, |j| add(parts.vertex_face(i, faces.ids[j as usize])));
            } else {
                let i = i - vertices;
                let of = around(&parts.edges[i], boxes);
                *tests += edges.hash.tests(&of);
                let first = edges.ids.partition_point(|&id| id as usize <= i) as u32;
                let every = 0..u64::MAX;
                edges.hash.query_from(&of, first, every, |j| add(parts.edge_edge(i, edges.ids[j as usize])));
            }
            // Vertices and edges are sorted, so the whole list is sorted if the pairs of each query are.
            pairs[before..].sort_unstable();
        };
        leaves.resize_with(groups.len(), Default::default);
        let search = |(range, leaves): (Range<usize>, &mut [(Leaf, u64)])| {
            for (group, into) in range.zip(leaves) {
                into.0.pairs.clear();
                (into.0.overlaps, into.1) = (0, 0);
                queries_of(parts, groups[group]).for_each(|i| visit(i, into));
            }
        };
        let worth = parallel::worth(groups.len() * LEAF * WORK);
        parallel::each((0..leaves.len(), &mut leaves[..]), 1, worth, &search);
        leaves.iter().for_each(|(leaf, _)| found.extend_from_slice(&leaf.pairs));
        leaves.iter().map(|(_, tests)| *tests).collect()
    }

    /// The number of pairs of the last search whose boxes overlap, kept or not.
    pub fn overlaps(&self) -> usize {
        self.leaves.iter().map(|(leaf, _)| leaf.overlaps).sum()
    }
}

fn queries_of(parts: &Topology, group: usize) -> Range<usize> {
    LEAF * group..parts.queries().min(LEAF * (group + 1))
}
