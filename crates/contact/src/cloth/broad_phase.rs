//! Pairs whose boxes overlap, by two spatial hashes: P-Cloth (Li et al. 2020, ACM TOG 39(6)), §4.1.
//!
//! | symbol | here | |
//! |---|---|---|
//! | Triangle Hash Table | `faces`, `edges` | the hashes of triangles and of edges |
//! | Workload Table | [`BroadPhase::tests`] | the number of tests of each group of queries |
//!
//! Vertices query the triangles in their box, and edges the edges with larger numbers. The queries run in
//! parallel, and each task has a list of its own, so that the order of pairs does not depend on threads.

use std::ops::Range;

use coarsen_core::parallel;

use super::blocks::{LEAF, Leaf, WORK, around};
use super::incremental_broad_phase::IncrementalBroadPhase;
use super::topology::Topology;
use crate::{Aabb, ContactError, Pair, SpatialHash};

/// The search for pairs of a surface whose boxes overlap, in numbered tests that can be shared out.
///
/// A test compares two boxes. Tests are numbered along the queries, so that a range of them is a share of the work,
/// and a query or a cell can belong to several shares. *Memory* that of two hashes, 48 bytes per node, and the pairs.
///
/// ```
/// use coarsen_contact::{Aabb, BroadPhase, Topology};
/// // Two triangles, one above the other.
/// let x = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.1], [1.0, 0.0, 0.1], [0.0, 1.0, 0.1]];
/// let parts = Topology::new(&[[0, 1, 2], [3, 4, 5]], &[false; 6], &x)?;
/// let (mut broad, mut pairs, mut shares) = (BroadPhase::default(), Vec::new(), Vec::new());
/// let of = |node: u32| Aabb::of([x[node as usize]]).grown(0.1);
/// broad.find(&parts, of, |_| true, &mut pairs)?;
/// let all: u64 = broad.tests(&parts, 0..broad.groups(&parts)).iter().sum();
/// for share in [0..all / 2, all / 2..all] {
///     let table = [0, all]; // one group
///     broad.find_share(&parts, &table, share, |_| true, &mut shares);
/// }
/// shares.sort();
/// assert_eq!(shares, pairs);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Default)]
pub struct BroadPhase {
    faces: SpatialHash,
    edges: SpatialHash,
    /// The box of each node.
    boxes: Vec<Aabb>,
    leaves: Vec<Leaf>,
    pub(super) incremental: IncrementalBroadPhase,
}

impl BroadPhase {
    /// Builds both hashes; the box of a part contains those of its nodes, which `of` returns.
    ///
    /// # Errors
    /// [`ContactError::Box`] for a box that is not finite, [`ContactError::TooMany`] as for
    /// [`SpatialHash::rebuild`].
    pub fn build(&mut self, parts: &Topology, of: impl Fn(u32) -> Aabb + Sync) -> Result<(), ContactError> {
        let Self { faces, edges, boxes, .. } = self;
        boxes.clear();
        boxes.extend((0..parts.nodes() as u32).map(of));
        let boxes = &boxes[..];
        let mut face_hash =
            || faces.rebuild(parts.triangles.len(), None, |i| around(&parts.triangles[i], boxes));
        let mut edge_hash = || edges.rebuild(parts.edges.len(), None, |i| around(&parts.edges[i], boxes));
        // The sorts of both hashes run on one thread each.
        let built = match parallel::worth(parts.edges.len() * WORK) {
            true => parallel::join(face_hash, edge_hash),
            false => (face_hash(), edge_hash()),
        };
        built.0.and(built.1)
    }

    /// Replaces `found` by all pairs whose boxes overlap and that `keep` accepts, sorted. Neighbours in a flat sheet
    /// overlap too, so `keep` should look at distances.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn find(
        &mut self,
        parts: &Topology,
        of: impl Fn(u32) -> Aabb + Sync,
        keep: impl Fn(&Pair) -> bool + Sync,
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        found.clear();
        self.build(parts, of)?;
        self.search(parts, 0..parts.queries(), &|_| 0..u64::MAX, &keep, found);
        debug_assert!(found.is_sorted_by(|a, b| a < b));
        Ok(())
    }

    /// The number of pairs of the last search whose boxes overlap, kept or not.
    pub fn overlaps(&self) -> usize {
        self.leaves.iter().map(|leaf| leaf.overlaps).sum()
    }

    /// The number of groups of queries: the entries of the Workload Table.
    pub fn groups(&self, parts: &Topology) -> usize {
        parts.queries().div_ceil(LEAF)
    }

    /// The number of tests of each of these groups of queries, with the hashes of the last [`build`](Self::build).
    ///
    /// *Cost* the cells of the queries.
    pub fn tests(&self, parts: &Topology, groups: Range<usize>) -> Vec<u64> {
        let count = parts.queries();
        let of = |group: usize| {
            (LEAF * group..count.min(LEAF * (group + 1))).map(|i| self.tests_of(parts, i)).sum::<u64>()
        };
        let (worth, mut tests) = (parallel::worth(WORK * LEAF * groups.len()), vec![0; groups.len()]);
        let fill = |(range, tests): (Range<usize>, &mut [u64])| {
            range.zip(tests).for_each(|(group, to)| *to = of(group));
        };
        parallel::each((groups, &mut tests[..]), 1, worth, &fill);
        tests
    }

    /// Appends the pairs of the tests with these numbers to `found`, sorted by query. `table` has the number of tests
    /// before each group of queries, and of all. Shares of consecutive tests find each pair once in total.
    ///
    /// *Panics* if the table is not that of the last [`build`](Self::build).
    pub fn find_share(
        &mut self,
        parts: &Topology,
        table: &[u64],
        tests: Range<u64>,
        keep: impl Fn(&Pair) -> bool + Sync,
        found: &mut Vec<Pair>,
    ) {
        let groups = self.groups(parts);
        assert_eq!(table.len(), groups + 1, "find_share: wrong length of the Workload Table");
        let tests = tests.start..tests.end.min(table[groups]);
        if tests.is_empty() {
            self.leaves.iter_mut().for_each(|leaf| leaf.overlaps = 0);
            return;
        }
        let first = table.partition_point(|&before| before <= tests.start) - 1;
        let end = table.partition_point(|&before| before < tests.end);
        let count = parts.queries();
        // The tests of the queries of the two groups at the ends, which may be shared.
        let start_of = |group: usize| {
            let mut before = table[group];
            let own = LEAF * group..count.min(LEAF * (group + 1));
            own.map(|i| {
                let next = before + self.tests_of(parts, i);
                std::mem::replace(&mut before, next)
            })
            .collect::<Vec<_>>()
        };
        let (low, high) = (start_of(first), start_of(end - 1));
        let within = |i: usize| {
            let before = match i / LEAF {
                group if group == first => low[i % LEAF],
                group if group == end - 1 => high[i % LEAF],
                _ => return 0..u64::MAX,
            };
            tests.start.saturating_sub(before)..tests.end.saturating_sub(before)
        };
        self.search(parts, LEAF * first..count.min(LEAF * end), &within, &keep, found);
    }

    /// Appends the pairs of queries from a multiple of [`LEAF`] on; `share` gives the tests of each.
    fn search(
        &mut self,
        parts: &Topology,
        queries: Range<usize>,
        share: &(impl Fn(usize) -> Range<u64> + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) {
        let Self { faces, edges, boxes, leaves, .. } = self;
        let vertices = parts.vertices.len();
        let visit = |i: usize, Leaf { pairs, overlaps }: &mut Leaf| {
            let (before, share) = (pairs.len(), share(i));
            let mut add = |pair: Option<Pair>| {
                *overlaps += usize::from(pair.is_some());
                pairs.extend(pair.filter(keep));
            };
            if i < vertices {
                let of = &boxes[parts.vertices[i] as usize];
                faces.query_share(of, share, |j| add(parts.vertex_face(i, j)));
            } else {
                let i = i - vertices;
                let of = edges.get(i as u32);
                edges.query_from(of, i as u32 + 1, share, |j| add(parts.edge_edge(i, j)));
            }
            // Vertices and edges are sorted, so the whole list is sorted if the pairs of each query are.
            pairs[before..].sort_unstable();
        };
        let Range { start, end } = queries;
        leaves.resize_with(end.saturating_sub(start).div_ceil(LEAF), Leaf::default);
        let search = |(range, leaves): (Range<usize>, &mut [Leaf])| {
            for (leaf, into) in range.zip(leaves) {
                into.pairs.clear();
                into.overlaps = 0;
                let first = start + LEAF * leaf;
                (first..end.min(first + LEAF)).for_each(|i| visit(i, into));
            }
        };
        let worth = parallel::worth((end - start) * WORK);
        parallel::each((0..leaves.len(), &mut leaves[..]), 1, worth, &search);
        leaves.iter().for_each(|leaf| found.extend_from_slice(&leaf.pairs));
    }

    fn tests_of(&self, parts: &Topology, i: usize) -> u64 {
        match i.checked_sub(parts.vertices.len()) {
            None => self.faces.tests(&self.boxes[parts.vertices[i] as usize]),
            Some(edge) => self.edges.tests(self.edges.get(edge as u32)),
        }
    }
}
