//! A search whose hashes are shared: each rank builds those of what is near its queries.
//!
//! | symbol | here | |
//! |---|---|---|
//! | Workload Table | `RankSearch::counts` | the tests of each group of queries in the last search |
//! | load distribution | [`ranks_of`] | whole groups, cut into 4 n pieces with equally many of these tests |
//!
//! Deviation from Li et al. 2020, "P-Cloth", §4.4, where each device builds all hashes and counts all tests before each
//! search: a search happens when nodes have moved by half of a thickness, so its tests are nearly those of the search
//! before. Each rank then builds hashes of a part of the surface. The first search has no counts; it builds whole
//! hashes.

use coarsen_contact::{Aabb, BroadPhase, ContactError, Pair, Topology};
use coarsen_distributed::{Communicator, pack, unpack};

use super::RankSearch;
use super::search::{COUNTED, HASHED, Kind, MEASURED, PLACED, fingerprint};
use super::shared::share;

/// The number of pieces of a rank: few, since each has a border whose parts are in the hashes too; several, since the
/// distances that follow the tests are not equally many everywhere.
const PIECES: u64 = 4;

/// The rank of each group of queries.
fn ranks_of(counts: &[u64], size: usize) -> Vec<usize> {
    let total: u64 = counts.iter().sum();
    let pieces = PIECES * size as u64;
    let mut before = 0;
    let rank = |&count: &u64| {
        // The piece of the middle of the group.
        let middle = u128::from(2 * before + count) * u128::from(pieces) / u128::from(2 * total.max(1));
        before += count;
        (middle as u64).min(pieces - 1) as usize % size
    };
    counts.iter().map(rank).collect()
}

impl<C: Communicator> RankSearch<C> {
    /// Whether the last search has counted the tests of the groups, and each rank has several groups.
    pub(crate) fn has_counts(&self, groups: usize) -> bool {
        self.counts.len() == groups && groups >= self.whole_below * self.comm.size()
    }

    /// The pairs of the share of this rank.
    pub(crate) fn near_pairs(
        &mut self,
        parts: &Topology,
        of: &(impl Fn(u32) -> Aabb + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        let (rank, size) = (self.comm.rank(), self.comm.size());
        let ranks = ranks_of(&self.counts, size);
        let groups_of =
            |rank: usize| (0..ranks.len()).filter(|&group| ranks[group] == rank).collect::<Vec<_>>();
        let own = groups_of(rank);
        // Hashes of the whole surface are not needed any more.
        self.broad = BroadPhase::default();
        let built = self.near.build(parts, of, &own);
        // Hashes of P parts are those of the same share of the queries.
        let all = parts.queries() + parts.triangles();
        self.comm.worked(HASHED * parts.queries() * self.near.parts() / all.max(1));
        self.comm.worked(PLACED * parts.nodes());
        let message = built.map(|()| {
            let tests = self.near.find(parts, &own, keep, found);
            self.tests = tests.iter().sum();
            self.comm.worked(COUNTED * parts.queries() / size);
            self.comm.worked(Self::TESTED * self.tests as usize + MEASURED * self.near.overlaps());
            let mut message = Vec::new();
            pack(tests, &mut message);
            message
        });
        let shared = share(&self.comm, fingerprint(parts, Kind::Local, of), message);
        let all = shared.inspect_err(|_| found.clear())?;
        for (rank, data) in all.iter().enumerate() {
            groups_of(rank)
                .into_iter()
                .zip(unpack::<u64>(data))
                .for_each(|(group, tests)| self.counts[group] = tests);
        }
        Ok(())
    }
}
