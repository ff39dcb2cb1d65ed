//! The searches of contact, with the same number of tests for each rank.
//!
//! | symbol | here | |
//! |---|---|---|
//! | n | `comm.size()` | number of ranks |
//! | Triangle Hash Table | [`Broad::build`] | hashes of triangles and edges, a copy on every rank |
//! | Workload Table | `table` | the number of tests before each group of queries |
//! | W | `total` | the number of all tests |
//! | load distribution | `share_of` | the W tests are cut into 16 n equal pieces, of which rank r makes r, r + n, .. |
//!
//! Li et al. 2020, "P-Cloth", §4.2 and §4.4, Fig. 6 and 9. Deviations: a test compares two boxes of a vertex and a
//! triangle or of two edges, not of two triangles, since these are the pairs that are needed; an entry of the table is
//! a group of 256 queries instead of a cell, and a piece may end within a query; each rank has pieces from all over the
//! surface, since the distances that follow a test are where layers are near, and take longer than the test; each rank
//! counts an equal number of entries, and the counts are gathered. Instead of the data of cells that two ranks share,
//! the touches that were found are gathered.

use std::ops::Range;

use coarsen_contact::{Aabb, Broad, ContactError, Impact, Pair, Search, Topology, Touch};
use coarsen_distributed::{CommError, Communicator, Wire, pack, unpack};

use crate::shared::share;

// Costs on a simulated clock, in stored scalars of a product. Their quotients are those of processor times on one rank
// (`ranks -- cloth` of the benches).

/// The cost of a query's box in the hashes.
const HASHED: usize = 160;

/// The cost of a query in the Workload Table.
const COUNTED: usize = 30;

/// The cost of a distance.
const MEASURED: usize = 125;

/// The cost of a touch that is read.
const LISTED: usize = 100;

/// The search for pairs of cloth whose work is shared by ranks; for [`ClothContact::with`](
/// coarsen_contact::ClothContact::with).
///
/// All ranks call the methods in the same order with the same positions of all nodes. Each rank keeps the pairs of its
/// tests as candidates; every rank receives all touches and the first impact, which are those of [`Broad`] on one host,
/// to the last bit. *Use* if detection takes most of a step; the hashes are built on every rank, so that the speed-up
/// is limited by their share of the time. *Cost* beside the shares: a gather of 8 bytes per 256 queries for pairs, of
/// 108 bytes per touch, and of one impact per rank.
///
/// *Errors* on every rank: those of one rank as [`ContactError::Ranks`] on the others, and those of the communication.
/// Ranks that pass different positions are an error too.
///
/// ```
/// use coarsen_contact::ClothContact;
/// use coarsen_distributed::SelfComm;
/// use coarsen_distributed_contact::RankSearch;
/// // A vertex 0.1 above a triangle; its own triangle stands on end.
/// let x = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.1], [2.0, 1.0, 2.1], [1.0, 2.0, 2.1]];
/// let (search, triangles) = (RankSearch::new(SelfComm), [[0, 1, 2], [3, 4, 5]]);
/// let mut contact = ClothContact::with(search, &triangles, &[false; 6], &x, 0.3, 50.0)?;
/// assert_eq!(contact.detect(x.as_flattened())?.len(), 1);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
pub struct RankSearch<C> {
    comm: C,
    broad: Broad,
    /// A surface with fewer queries (vertices and edges) is searched by every rank alone, without messages, since these
    /// take longer. Errors are then those of the rank.
    pub alone_below: usize,
    tests: u64,
    /// Whether the candidates are those of a share.
    pub(crate) shared: bool,
}

impl<C: Communicator> RankSearch<C> {
    /// The cost of a test of two boxes on a simulated clock, in stored scalars of a product. A search that is not
    /// shared does not count its tests, and so does not advance the clock for them.
    pub const TESTED: usize = 3;

    /// The search of this rank. Surfaces with fewer than 4096 queries are not shared.
    pub fn new(comm: C) -> Self {
        Self { comm, broad: Broad::default(), alone_below: 4096, tests: 0, shared: false }
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
            pack([fingerprint(parts, groups, of)], &mut message);
            pack(self.broad.tests(parts, start as usize..end as usize), &mut message);
            message
        });
        let all = share(&self.comm, own)?;
        if let Some(other) = all.iter().position(|other| other.get(..8) != all[0].get(..8)) {
            let stage = "the boxes of the nodes of a surface";
            let reason = CommError::Disagree { rank: 0, other, stage }.to_string();
            return Err(ContactError::Ranks { reason });
        }
        let (mut table, mut total) = (vec![0], 0);
        for tests in all.iter().flat_map(|data| unpack::<u64>(&data[8..])) {
            total += tests;
            table.push(total);
        }
        Ok(table)
    }
}

/// The number of pieces of a rank.
const PIECES: usize = 16;

impl<C: Communicator> Search for RankSearch<C> {
    fn pairs(
        &mut self,
        parts: &Topology,
        of: &(impl Fn(u32) -> Aabb + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        found.clear();
        self.shared = self.comm.size() > 1 && parts.queries() >= self.alone_below;
        if !self.shared {
            self.tests = 0;
            self.broad.find(parts, of, keep, found)?;
            self.comm.worked(HASHED * parts.queries());
            self.comm.worked(MEASURED * self.broad.overlaps());
            return Ok(());
        }
        let table = self.table(parts, of)?;
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
        self.broad.touches(candidates, of, found)?;
        self.comm.worked(MEASURED * candidates.len());
        if !self.shared {
            return Ok(());
        }
        let own = packed(found);
        merge(&share(&self.comm, Ok(own))?, found);
        self.comm.worked(LISTED * found.len());
        debug_assert!(found.is_sorted_by_key(|touch| touch.pair));
        Ok(())
    }

    fn first(
        &mut self,
        candidates: &[Pair],
        last: f64,
        time: &(impl Fn(&Pair, f64) -> Option<f64> + Sync),
    ) -> Result<Impact, ContactError> {
        let own = self.broad.first(candidates, last, time)?;
        self.comm.worked(MEASURED * candidates.len());
        if !self.shared {
            return Ok(own);
        }
        let mut message = Vec::new();
        if let Some((t, pair)) = own {
            pack([t], &mut message);
            pack([kind(&pair)], &mut message);
            pack(pair.nodes(), &mut message);
        }
        let mut first: Impact = None;
        for data in share(&self.comm, Ok(message))? {
            let Some((head, body)) = data.split_at_checked(8) else { continue };
            for t in unpack::<f64>(head) {
                // Of equal times, the first pair: lists are sorted.
                let other = (t, pair_of(body));
                if first.is_none_or(|one| other.0 < one.0 || (other.0 == one.0 && other.1 < one.1)) {
                    first = Some(other);
                }
            }
        }
        Ok(first)
    }
}

/// Replaces `found` by the touches of all messages, each of which is sorted.
fn merge(all: &[Vec<u8>], found: &mut Vec<Touch>) {
    found.clear();
    found.reserve(all.iter().map(|data| data.len() / TOUCH).sum());
    let mut lists: Vec<_> = all.iter().map(|data| data.chunks_exact(TOUCH)).collect();
    let mut heads: Vec<_> =
        lists.iter_mut().map(|list| list.next().map(|touch| (pair_of(touch), touch))).collect();
    loop {
        // The list with the first pair, and the first pair of the other lists: up to it the list is taken as a run.
        let (mut first, mut next) = (None, None);
        for (k, head) in heads.iter().enumerate() {
            let Some((pair, _)) = *head else { continue };
            match first {
                Some((before, _)) if pair > before => {
                    next = Some(next.map_or(pair, |next: Pair| next.min(pair)))
                }
                _ => next = first.replace((pair, k)).map(|(pair, _)| pair),
            }
        }
        let Some((_, k)) = first else { return };
        while let Some((pair, touch)) = heads[k] {
            found.push(Touch::of_numbers(pair, numbers_of(touch)));
            heads[k] = lists[k].next().map(|touch| (pair_of(touch), touch));
            if heads[k].is_none_or(|(pair, _)| next.is_some_and(|next| pair >= next)) {
                break;
            }
        }
    }
}

/// The bytes of a pair, and of a touch.
pub(crate) const PAIR: usize = 20;
const TOUCH: usize = PAIR + 88;

/// The kind of a pair in a message.
pub(crate) fn kind(pair: &Pair) -> u32 {
    u32::from(matches!(pair, Pair::EdgeEdge { .. }))
}

/// The pair of a kind and four nodes.
pub(crate) fn pair_of(bytes: &[u8]) -> Pair {
    let mut all = [0; 5];
    all.iter_mut().zip(unpack::<u32>(bytes)).for_each(|(to, node)| *to = node);
    let [kind, a, b, c, d] = all;
    match kind {
        0 => Pair::VertexFace { vertex: a, face: [b, c, d] },
        _ => Pair::EdgeEdge { edges: [[a, b], [c, d]] },
    }
}

/// Touches as a message.
fn packed(touches: &[Touch]) -> Vec<u8> {
    let mut message = vec![0; TOUCH * touches.len()];
    for (touch, bytes) in touches.iter().zip(message.chunks_exact_mut(TOUCH)) {
        let (pair, numbers) = bytes.split_at_mut(PAIR);
        kind(&touch.pair).put(&mut pair[..4]);
        pair[4..].chunks_exact_mut(4).zip(touch.pair.nodes()).for_each(|(to, node)| node.put(to));
        numbers.chunks_exact_mut(8).zip(touch.numbers()).for_each(|(to, v)| v.put(to));
    }
    message
}

/// The numbers of a touch in a message.
fn numbers_of(touch: &[u8]) -> [f64; 11] {
    let mut numbers = [0.0; 11];
    numbers.iter_mut().zip(unpack::<f64>(&touch[PAIR..])).for_each(|(to, v)| *to = v);
    numbers
}

/// A number that differs if the boxes of two ranks do, but for coincidences.
fn fingerprint(parts: &Topology, groups: usize, of: &impl Fn(u32) -> Aabb) -> u64 {
    let mix = |sum: u64, bits: u64| (sum ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mut sum = mix(parts.nodes() as u64, groups as u64);
    for node in 0..parts.nodes() as u32 {
        let own = of(node);
        sum = own.low.iter().chain(&own.high).fold(sum, |sum, x| mix(sum, x.to_bits()));
    }
    sum
}
