//! The searches of contact, with the same number of tests for each rank.
//!
//! | symbol | here | |
//! |---|---|---|
//! | n | `comm.size()` | number of ranks |
//! | Triangle Hash Table | [`BroadPhase::build`], [`LocalBroadPhase`] | hashes of triangles and edges, a copy on every rank in the first search |
//! | Workload Table | `table` | the number of tests before each group of queries |
//! | W | `total` | the number of all tests |
//! | load distribution | `share_of` | the W tests are cut into 16 n equal pieces, of which rank r makes r, r + n, .. |
//!
//! Li et al. 2020, "P-Cloth", §4.2 and §4.4, Fig. 6 and 9. Deviations: a test compares two boxes of a vertex and a
//! triangle or of two edges, not of two triangles, since these are the pairs that are needed; an entry of the table is
//! a group of 256 queries instead of a cell, and a piece may end within a query; each rank has pieces from all over the
//! surface, since the distances that follow a test are where layers are near, and take longer than the test; each rank
//! counts an equal number of entries, and the counts are gathered. From the second search on, the table is that of
//! the search before, so that each rank builds hashes of a part of the surface alone (`near`). Instead of the data of
//! cells that two ranks share, the touches that were found are gathered, or sent to the ranks of their nodes.

use std::ops::Range;

use coarsen_contact::{
    Aabb, BroadPhase, ContactError, Impact, IncrementalBroadPhase, LocalBroadPhase, Pair, Search, Topology,
    Touch,
};
use coarsen_distributed::{Communicator, Partition, pack, unpack};

use super::messages::{TOUCH, impacts_of, merge, pack_impacts, put, touches_of};
use super::shared::{deal, share};

// Costs on a simulated clock, in stored scalars of a product. Their quotients are those of processor times on one rank
// (`ranks -- cloth` of the benches).

/// The cost of a query's box in the hashes.
pub(crate) const HASHED: usize = 160;

/// The cost of a query in the Workload Table.
pub(crate) const COUNTED: usize = 30;

/// The cost of a distance.
pub(crate) const MEASURED: usize = 125;

/// The cost of a touch that is written to a message or read from one.
const LISTED: usize = 50;

/// The cost of a touch that is moved to the list of a rank.
const MERGED: usize = 15;

/// The cost of a node: its box, and its place among clusters.
pub(crate) const PLACED: usize = 20;

/// In place of a rank: the node is held.
const NOBODY: u32 = u32::MAX;

/// The search for pairs of cloth whose work is shared by ranks; for [`ClothContact::with`](
/// coarsen_contact::ClothContact::with).
///
/// All ranks call the methods in the same order with the same positions of all nodes. Each rank keeps the pairs of its
/// tests as candidates; every rank receives all touches and the first impact, which are those of [`BroadPhase`] on one host,
/// to the last bit. *Use* if detection takes most of a step. *Cost* beside the shares: in the first search, hashes of
/// the whole surface on every rank, later of the parts near the queries of a rank, or of changed parts alone; a gather
/// of 8 bytes per 256 queries for all pairs, of 16 bytes for each search, of 108 bytes per touch
/// ([`at_nodes_of`](Self::at_nodes_of) sends fewer), and of one impact per rank.
///
/// *Errors* on every rank: those of one rank as [`ContactError::Ranks`] on the others, and those of the communication.
/// Ranks that pass different positions, or search for the pairs of other nodes, are an error too.
///
/// ```
/// use coarsen_contact::ClothContact;
/// use coarsen_distributed::SelfComm;
/// use coarsen_distributed_solvers::RankSearch;
/// // A vertex 0.1 above a triangle; its own triangle stands on end.
/// let x = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.1], [2.0, 1.0, 2.1], [1.0, 2.0, 2.1]];
/// let (search, triangles) = (RankSearch::new(SelfComm), [[0, 1, 2], [3, 4, 5]]);
/// let mut contact = ClothContact::with(search, &triangles, &[false; 6], &x, 0.3, 50.0)?;
/// assert_eq!(contact.detect(x.as_flattened())?.len(), 1);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
pub struct RankSearch<C> {
    pub(crate) comm: C,
    pub(crate) broad: BroadPhase,
    /// A surface with fewer queries (vertices and edges) is searched by every rank alone, without messages, since these
    /// take longer. Errors are then those of the rank.
    pub alone_below: usize,
    /// A surface with fewer groups of 256 queries for each rank is searched with hashes of the whole surface on every
    /// rank.
    pub whole_below: usize,
    pub(crate) near: LocalBroadPhase,
    incremental: IncrementalBroadPhase,
    /// The number of searches for the pairs of some nodes.
    some: usize,
    /// The tests of each group of queries in the last search that was shared.
    pub(crate) counts: Vec<u64>,
    pub(crate) tests: u64,
    /// The pairs of the last list of touches, on all ranks.
    touching: usize,
    /// The rank of each node, if a rank takes only the touches at its own.
    owners: Option<Vec<u32>>,
    /// Whether the candidates are those of a share.
    pub(crate) shared: bool,
}

impl<C: Communicator> RankSearch<C> {
    /// The cost of a test of two boxes on a simulated clock, in stored scalars of a product. A search that is not
    /// shared does not count its tests, and so does not advance the clock for them.
    pub const TESTED: usize = 2;

    /// The search of this rank. Surfaces with fewer than 4096 queries are not shared.
    pub fn new(comm: C) -> Self {
        Self {
            comm,
            broad: BroadPhase::default(),
            alone_below: 4096,
            whole_below: 32,
            near: LocalBroadPhase::default(),
            incremental: IncrementalBroadPhase::default(),
            some: 0,
            counts: Vec::new(),
            tests: 0,
            touching: 0,
            owners: None,
            shared: false,
        }
    }

    /// The same search, which gives a rank only the touches with a node of its rows: those that its forces need.
    /// `row` gives the block row of a node, or `None` if it is held. Gradients and Hessians are then complete at the
    /// nodes of a rank, to the same bits; energies are NaN, and a fault says so, unless the search is not shared.
    ///
    /// *Use* in steps without a line search. *Cost* in place of a gather of all touches, a message of 108 bytes per
    /// touch to each other rank with one of its nodes; 4 bytes per node.
    pub fn at_nodes_of(
        self,
        partition: &Partition<C>,
        nodes: usize,
        row: impl Fn(u32) -> Option<u64>,
    ) -> Self {
        let owner = |node| row(node).map_or(NOBODY, |row| partition.layout().owner(row) as u32);
        Self { owners: Some((0..nodes as u32).map(owner).collect()), ..self }
    }

    /// The number of triangles and edges in the hashes of this rank in the last search that shared them; 0 before one.
    pub fn hashed(&self) -> usize {
        self.near.parts()
    }

    /// The number of searches for the pairs of some nodes alone.
    pub fn searched_some(&self) -> usize {
        self.some
    }

    /// The number of pairs on all ranks that the last list of touches had.
    pub fn touching(&self) -> usize {
        self.touching
    }

    /// The number of tests of this rank in the last search for pairs; 0 if it was not shared, since tests are then not
    /// counted.
    pub fn tests(&self) -> u64 {
        self.tests
    }

    /// Piece `k` of `pieces` equal pieces of `total` items.
    fn piece(total: u64, k: usize, pieces: usize) -> Range<u64> {
        let bound = |k: usize| (u128::from(total) * k as u128 / pieces as u128) as u64;
        bound(k)..bound(k + 1)
    }

    /// The tests of this rank.
    fn share_of(&self, total: u64) -> impl Iterator<Item = Range<u64>> + use<C> {
        let (rank, size) = (self.comm.rank(), self.comm.size());
        (0..PIECES).map(move |k| Self::piece(total, k * size + rank, PIECES * size))
    }

    /// The number of tests before each group of queries, and of all.
    fn table(
        &mut self,
        parts: &Topology,
        of: &(impl Fn(u32) -> Aabb + Sync),
    ) -> Result<Vec<u64>, ContactError> {
        let built = self.broad.build(parts, of);
        let groups = self.broad.groups(parts);
        self.comm.worked(HASHED * parts.queries());
        let Range { start, end } = Self::piece(groups as u64, self.comm.rank(), self.comm.size());
        let own = built.map(|()| {
            self.comm.worked(COUNTED * parts.queries() / self.comm.size());
            let mut message = Vec::new();
            pack(self.broad.tests(parts, start as usize..end as usize), &mut message);
            message
        });
        let all = share(&self.comm, fingerprint(parts, Kind::Whole, of), own)?;
        let (mut table, mut total) = (vec![0], 0);
        for tests in all.iter().flat_map(|data| unpack::<u64>(data)) {
            total += tests;
            table.push(total);
        }
        Ok(table)
    }
}

/// The number of pieces of a rank.
const PIECES: usize = 16;

impl<C: Communicator> Search for RankSearch<C> {
    /// Changed parts are divided evenly. *Cost* of the ranks, with changed nodes, a gather of 16 bytes.
    fn pairs(
        &mut self,
        parts: &Topology,
        changed: Option<&[bool]>,
        of: &(impl Fn(u32) -> Aabb + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        if let Some(changed) = changed {
            self.some += 1;
            let own = if self.shared { [self.comm.rank(), self.comm.size()] } else { [0, 1] };
            let searched = self.incremental.find(parts, changed, own, of, keep, found);
            self.comm.worked(PLACED * parts.nodes());
            self.comm.worked(HASHED * self.incremental.parts() + COUNTED * self.incremental.visited());
            self.comm.worked(MEASURED * self.incremental.overlaps());
            if !self.shared {
                return searched;
            }
            let mark = fingerprint(parts, Kind::Incremental, of);
            let mark = changed.iter().fold(mark, |sum, &node| mix(sum, node.into()));
            let agreed = share(&self.comm, mark, searched.map(|()| Vec::new()));
            return agreed.map(drop).inspect_err(|_| found.clear());
        }
        found.clear();
        self.shared = self.comm.size() > 1 && parts.queries() >= self.alone_below;
        if !self.shared {
            self.tests = 0;
            self.counts.clear();
            self.broad.find(parts, of, keep, found)?;
            self.comm.worked(HASHED * parts.queries());
            self.comm.worked(MEASURED * self.broad.overlaps());
            return Ok(());
        }
        if self.has_counts(self.broad.groups(parts)) {
            return self.near_pairs(parts, of, keep, found);
        }
        let table = self.table(parts, of)?;
        self.counts = table.windows(2).map(|ends| ends[1] - ends[0]).collect();
        self.tests = 0;
        let mut distances = 0;
        for tests in self.share_of(table[table.len() - 1]) {
            self.tests += tests.end - tests.start;
            self.broad.find_share(parts, &table, tests, keep, found);
            distances += self.broad.overlaps();
        }
        if !found.is_sorted() {
            found.sort(); // a query in several pieces
        }
        self.comm.worked(Self::TESTED * self.tests as usize);
        self.comm.worked(MEASURED * distances);
        Ok(())
    }

    fn touches(
        &mut self,
        candidates: &[Pair],
        of: &(impl Fn(&Pair) -> Option<Touch> + Sync),
        found: &mut Vec<Touch>,
    ) -> Result<(), ContactError> {
        let own = self.broad.touches(candidates, of, found);
        self.comm.worked(MEASURED * candidates.len());
        self.touching = found.len();
        if !self.shared {
            return own;
        }
        let (rank, size) = (self.comm.rank(), self.comm.size());
        let mut messages = vec![Vec::new(); size];
        match &self.owners {
            None => {
                let mut message = Vec::with_capacity(TOUCH * found.len());
                found.iter().for_each(|touch| put(touch, &mut message));
                messages = vec![message; size];
            }
            Some(owners) => found.retain(|touch| {
                let ranks = touch.pair.nodes().map(|node| owners[node as usize]);
                for (k, &to) in ranks.iter().enumerate() {
                    if to != NOBODY && to as usize != rank && !ranks[..k].contains(&to) {
                        put(touch, &mut messages[to as usize]);
                    }
                }
                ranks.contains(&(rank as u32))
            }),
        }
        messages[rank] = Vec::new();
        self.comm.worked(LISTED * messages.iter().map(|message| message.len() / TOUCH).sum::<usize>());
        let own = own.map(|()| (messages, self.touching as u64));
        let (messages, counts) = deal(&self.comm, own)?;
        self.touching = counts.iter().sum::<u64>() as usize;
        let mut lists: Vec<Vec<Touch>> = messages.iter().map(|message| touches_of(message)).collect();
        self.comm.worked(LISTED * lists.iter().map(Vec::len).sum::<usize>());
        lists[rank] = std::mem::take(found);
        merge(&lists, found);
        self.comm.worked(MERGED * found.len());
        debug_assert!(found.is_sorted_by_key(|touch| touch.pair));
        Ok(())
    }

    fn first(
        &mut self,
        candidates: &[Pair],
        last: f64,
        time: &(impl Fn(&Pair, f64) -> Option<f64> + Sync),
    ) -> Result<Impact, ContactError> {
        let own = self.broad.first(candidates, last, time);
        self.comm.worked(MEASURED * candidates.len());
        if !self.shared {
            return own;
        }
        let all = share(&self.comm, Kind::First as u64, own.map(|own| pack_impacts(own.as_slice())))?;
        let mut first: Impact = None;
        for other in all.iter().flat_map(|data| impacts_of(data)) {
            // Of equal times, the first pair: lists are sorted.
            if first.is_none_or(|one| other.0 < one.0 || (other.0 == one.0 && other.1 < one.1)) {
                first = Some(other);
            }
        }
        Ok(first)
    }

    fn is_complete(&self) -> bool {
        self.owners.is_none() || !self.shared
    }
}

/// What ranks search for together.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// All pairs, with hashes of the whole surface.
    Whole,
    /// All pairs, with hashes of what is near.
    Local,
    /// The pairs of changed nodes.
    Incremental,
    /// The first impact.
    First,
}

fn mix(sum: u64, bits: u64) -> u64 {
    (sum ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// A number that differs if the searches or the boxes of two ranks do, except by coincidence.
pub(crate) fn fingerprint(parts: &Topology, kind: Kind, of: &impl Fn(u32) -> Aabb) -> u64 {
    let mut sum = mix(mix(parts.nodes() as u64, parts.queries() as u64), kind as u64);
    for node in 0..parts.nodes() as u32 {
        let own = of(node);
        sum = own.low.iter().chain(&own.high).fold(sum, |sum, x| mix(sum, x.to_bits()));
    }
    sum
}
