//! Pairs whose boxes overlap, by two spatial hashes: P-Cloth (Li et al. 2020, ACM TOG 39(6)), §4.1.
//!
//! Vertices query the triangles in their box, and edges the edges with larger numbers. The queries run in
//! parallel, and each task has a list of its own, so that the order of pairs does not depend on threads.

use std::ops::Range;

use coarsen_core::parallel;

use super::topology::Topology;
use crate::{Aabb, ContactError, Pair, SpatialHash};

/// The number of queries per task.
const LEAF: usize = 256;

/// The number of scalar operations per query, used to decide whether threads pay off.
const WORK: usize = 400;

/// Memory for the search.
#[derive(Default)]
pub(super) struct Broad {
    faces: SpatialHash,
    edges: SpatialHash,
    leaves: Vec<Vec<Pair>>,
}

impl Broad {
    /// Replaces `found` by all pairs whose boxes overlap and that `keep` accepts; the box of a part contains those of
    /// its nodes, which `of` returns. Neighbours in a flat sheet overlap too, so `keep` should look at distances.
    pub(super) fn find(
        &mut self,
        parts: &Topology,
        of: impl Fn(u32) -> Aabb + Sync,
        keep: impl Fn(&Pair) -> bool + Sync,
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        found.clear();
        let Self { faces, edges, leaves } = self;
        let mut face_hash =
            || faces.rebuild(parts.triangles.len(), None, |i| around(&parts.triangles[i], &of));
        let mut edge_hash = || edges.rebuild(parts.edges.len(), None, |i| around(&parts.edges[i], &of));
        // The sorts of both hashes run on one thread each.
        let built = match parallel::worth(parts.edges.len() * WORK) {
            true => parallel::join(face_hash, edge_hash),
            false => (face_hash(), edge_hash()),
        };
        built.0.and(built.1)?;
        let (vertices, lines) = (parts.vertices.len(), parts.edges.len());
        let visit = |i: usize, pairs: &mut Vec<Pair>| {
            let before = pairs.len();
            if i < vertices {
                faces.query(&of(parts.vertices[i]), |j| pairs.extend(parts.vertex_face(i, j).filter(&keep)));
            } else {
                let i = i - vertices;
                edges.query(edges.get(i as u32), |j| pairs.extend(parts.edge_edge(i, j).filter(&keep)));
            }
            // Vertices and edges are sorted, so the whole list is sorted if the pairs of each query are.
            pairs[before..].sort_unstable();
        };
        let count = vertices + lines;
        leaves.resize_with(count.div_ceil(LEAF), Vec::new);
        let search = |(range, leaves): (Range<usize>, &mut [Vec<Pair>])| {
            for (leaf, pairs) in range.zip(leaves) {
                pairs.clear();
                (LEAF * leaf..count.min(LEAF * (leaf + 1))).for_each(|i| visit(i, pairs));
            }
        };
        parallel::each((0..leaves.len(), &mut leaves[..]), 1, parallel::worth(count * WORK), &search);
        leaves.iter().for_each(|leaf| found.extend_from_slice(leaf));
        debug_assert!(found.is_sorted());
        Ok(())
    }
}

/// The box around those of some nodes.
fn around(nodes: &[u32], of: &impl Fn(u32) -> Aabb) -> Aabb {
    Aabb::of(nodes.iter().flat_map(|&node| {
        let own = of(node);
        [own.low, own.high]
    }))
}
