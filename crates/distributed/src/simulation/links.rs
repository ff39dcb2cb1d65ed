//! The costs of the links of a machine, measured, and the schedule that they favour.
//!
//! | symbol | here | |
//! |---|---|---|
//! | n | `ranks` | number of ranks |
//! | α_ij, β_ij | `alpha`, `beta` | seconds per message, seconds per byte between ranks i and j |
//! | T_ij(b) | [`time`](Links::time) | time of a message of b bytes, α_ij + β_ij b |
//!
//! A measurement has messages between two ranks at a time, so it does not tell which links they share. The
//! [`topology`](Links::topology) therefore assumes a tree in which messages of several ranks share every link above them.

use super::Topology;
use crate::collectives::{receive, send};
use crate::{CommError, Communicator, DistError, Schedule, Stage, pack, unpack};

const PING: Stage = Stage::new(Stage::RESERVED + 14, "a measurement of links");
const TURN: Stage = Stage::new(Stage::RESERVED + 15, "the turn of a rank in a measurement of links");

/// Links whose times for a message of the measured length differ by less than this factor count as equal.
const ALIKE: f64 = 1.5;

/// The least share of such a time that depends on the length. Less cannot be told from noise.
const SHARE: f64 = 0.01;

/// The cost of messages between each two ranks.
///
/// ```
/// use coarsen_distributed::Schedule;
/// use coarsen_distributed::simulation::{Links, Machine, SimComm, Topology};
/// let machine = Machine { alpha: 1e-6, beta: 1e-9, per_scalar: 0.0, topology: Topology::switch(4)? };
/// let best = SimComm::run(&machine, |comm| {
///     let links = Links::measure(&comm, 80_000, 2, || comm.clock())?;
///     assert!((links.time(0, 3, 80_000.0) - 81e-6).abs() < 1e-12);
///     links.best(80_000.0)
/// });
/// assert!(best.into_iter().all(|rank| rank.unwrap().unwrap().0 == Schedule::ring(4).unwrap()));
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    ranks: usize,
    /// The measured length.
    bytes: usize,
    /// α_ij and β_ij at i n + j, symmetric.
    alpha: Vec<f64>,
    beta: Vec<f64>,
}

impl Links {
    /// Measures the links between all pairs of ranks, one pair after the other: empty messages give α_ij, messages of
    /// `bytes` bytes β_ij. Half of the shortest of `trips` trips there and back counts, after one that is not counted.
    /// β_ij is at least a hundredth of T_ij(b) / b. `clock` is the time in seconds from any start, such as that of an
    /// [`Instant`](std::time::Instant). All ranks call it, with the same `bytes` and `trips`, and return the same costs; at
    /// least one byte and one trip are taken.
    ///
    /// *Use* when no other message is under way, with `bytes` as long as the messages to come.
    /// *Cost* 2 (`trips` + 1) n (n − 1) messages, one after the other, half of them empty: with T the time of a message
    /// of `bytes` bytes and α that of an empty one, (`trips` + 1) n (n − 1) (T + α) in all.
    ///
    /// # Errors
    /// Errors of communication. A rank may wait for the whole measurement at once, so the deadline of the communicator must
    /// be longer.
    pub fn measure<C: Communicator>(
        comm: &C,
        bytes: usize,
        trips: usize,
        clock: impl Fn() -> f64,
    ) -> Result<Self, CommError> {
        let (rank, n, bytes) = (comm.rank(), comm.size(), bytes.max(1));
        // Rank i is asked by the ranks before it, and asks those after it when it is its turn.
        for other in 0..rank {
            for size in [0, bytes] {
                (0..=trips.max(1)).try_for_each(|_| {
                    let ball = receive(comm, other, PING, size)?;
                    send(comm, other, PING, ball)
                })?;
            }
        }
        if rank > 0 {
            receive(comm, rank - 1, TURN, 0)?;
        }
        let mut own = Vec::new();
        for other in rank + 1..n {
            for size in [0, bytes] {
                let mut ball = vec![0; size];
                let mut shortest = f64::INFINITY;
                for trip in 0..=trips.max(1) {
                    let begun = clock();
                    send(comm, other, PING, ball)?;
                    ball = receive(comm, other, PING, size)?;
                    if trip > 0 {
                        shortest = shortest.min(0.5 * (clock() - begun));
                    }
                }
                own.push(shortest);
            }
        }
        if rank + 1 < n {
            send(comm, rank + 1, TURN, Vec::new())?;
        }
        let mut message = Vec::new();
        pack(own, &mut message);
        let all = comm.all_gather(&message)?;
        let mut links = Self { ranks: n, bytes, alpha: vec![0.0; n * n], beta: vec![0.0; n * n] };
        for (i, part) in all.iter().enumerate() {
            let times: Vec<f64> = unpack(part).collect();
            for (j, pair) in (i + 1..n).zip(times.chunks_exact(2)) {
                let least = (SHARE * pair[1]).max(f64::MIN_POSITIVE); // a clock may be too coarse for any time
                let beta = (pair[1] - pair[0]).max(least) / bytes as f64;
                for at in [i * n + j, j * n + i] {
                    (links.alpha[at], links.beta[at]) = (pair[0].max(0.0), beta);
                }
            }
        }
        Ok(links)
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// α_ij in seconds per message; 0 for i = j. *Panics* for a rank that does not exist.
    pub fn alpha(&self, i: usize, j: usize) -> f64 {
        self.alpha[i * self.ranks + j]
    }

    /// β_ij in seconds per byte; 0 for i = j. *Panics* for a rank that does not exist.
    pub fn beta(&self, i: usize, j: usize) -> f64 {
        self.beta[i * self.ranks + j]
    }

    /// T_ij in seconds. *Panics* for a rank that does not exist.
    pub fn time(&self, i: usize, j: usize, bytes: f64) -> f64 {
        self.alpha(i, j) + self.beta(i, j) * bytes
    }

    /// All pairs i < j, with their costs.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let after = |i: usize| (i + 1..self.ranks).map(move |j| (i, j));
        (0..self.ranks).flat_map(after).map(|(i, j)| (i, j, self.beta(i, j)))
    }

    /// The least and the greatest α_ij; zeros for one rank.
    pub fn alphas(&self) -> [f64; 2] {
        bounds(self.pairs().map(|(i, j, _)| self.alpha(i, j)))
    }

    /// The least and the greatest β_ij; zeros for one rank.
    pub fn betas(&self) -> [f64; 2] {
        bounds(self.pairs().map(|(.., beta)| beta))
    }

    /// A tree of full-duplex links with these times per byte; capacity 1 is that of the fastest link.
    ///
    /// Ranks with the fastest links (T_ij of the measured length up to 1.5 times the least) form groups, groups with the
    /// fastest links between them form larger ones, and so on. Inside a group, neighbours are joined two by two, by
    /// links of the mean β_ij between its parts. So ranks that share a slow link are assumed to share one of that speed,
    /// such as the network card of a machine, and messages between equal links meet above them.
    ///
    /// *Cost* n³ steps at most.
    ///
    /// # Errors
    /// None for links that were measured.
    pub fn topology(&self) -> Result<Topology, DistError> {
        let n = self.ranks;
        let least = self.betas()[0];
        let mut tree = Tree { above: vec![0; n], capacity: vec![1.0; n] };
        let mut groups: Vec<Group> = (0..n).map(|rank| Group { node: rank, ranks: vec![rank] }).collect();
        while groups.len() > 1 {
            groups = self.joined(groups, least, &mut tree);
        }
        if n == 1 {
            let root = tree.node();
            tree.link(0, root, 1.0);
        }
        let root = tree.above.len() - 1;
        tree.above[root] = root;
        Topology::new(n, tree.above, tree.capacity, true)
    }

    /// Joins the groups with the fastest links between them.
    fn joined(&self, groups: Vec<Group>, least: f64, tree: &mut Tree) -> Vec<Group> {
        let mean = |a: &Group, b: &Group, of: &dyn Fn(usize, usize) -> f64| {
            let all = a.ranks.iter().flat_map(|i| b.ranks.iter().map(|j| of(*i, *j)));
            all.sum::<f64>() / (a.ranks.len() * b.ranks.len()) as f64
        };
        let time = |i, j| self.time(i, j, self.bytes as f64);
        let count = groups.len();
        let pairs: Vec<_> = (0..count)
            .flat_map(|a| (a + 1..count).map(move |b| (a, b)))
            .map(|(a, b)| (a, b, mean(&groups[a], &groups[b], &time)))
            .collect();
        let limit = ALIKE * pairs.iter().fold(f64::INFINITY, |least, pair| least.min(pair.2));
        let mut first: Vec<usize> = (0..count).collect(); // the first group of the part of each group
        for (a, b, _) in pairs.iter().filter(|pair| pair.2 <= limit) {
            let (low, high) = (first[*a].min(first[*b]), first[*a].max(first[*b]));
            first.iter_mut().filter(|part| **part == high).for_each(|part| *part = low);
        }
        // The capacity between the groups of a part: `least` over their mean time per byte.
        let mut sums = vec![(0.0, 0.0); count];
        for (a, b, _) in pairs.iter().filter(|pair| first[pair.0] == first[pair.1]) {
            let sum = &mut sums[first[*a]];
            *sum = (sum.0 + mean(&groups[*a], &groups[*b], &|i, j| self.beta(i, j)), sum.1 + 1.0);
        }
        let mut parts: Vec<Vec<Group>> = (0..count).map(|_| Vec::new()).collect();
        groups.into_iter().zip(&first).for_each(|(group, part)| parts[*part].push(group));
        let all = parts.into_iter().zip(sums).filter(|(members, _)| !members.is_empty());
        all.map(|(members, (sum, count))| tree.halved(members, least * count / sum)).collect()
    }

    /// The schedule with the shortest time on this [`topology`](Self::topology) for sub-vectors of `bytes` bytes, and
    /// this time with the greatest α_ij. Links of one speed favour the ring.
    ///
    /// # Errors
    /// None for links that were measured.
    pub fn best(&self, bytes: f64) -> Result<(Schedule, f64), DistError> {
        self.topology()?.best(bytes, self.alphas()[1], self.betas()[0])
    }
}

/// Ranks below a node.
struct Group {
    node: usize,
    ranks: Vec<usize>,
}

/// The lists of a [`Topology`].
struct Tree {
    above: Vec<usize>,
    capacity: Vec<f64>,
}

impl Tree {
    /// A new switch.
    fn node(&mut self) -> usize {
        self.above.push(0);
        self.capacity.push(1.0);
        self.above.len() - 1
    }

    fn link(&mut self, below: usize, above: usize, capacity: f64) {
        (self.above[below], self.capacity[below]) = (above, capacity);
    }

    /// Joins the groups of a list by a binary tree of links of one capacity.
    fn halved(&mut self, mut groups: Vec<Group>, capacity: f64) -> Group {
        if groups.len() == 1 {
            return groups.remove(0);
        }
        let second = groups.split_off(groups.len().div_ceil(2));
        let halves = [self.halved(groups, capacity), self.halved(second, capacity)];
        let node = self.node();
        halves.iter().for_each(|half| self.link(half.node, node, capacity));
        Group { node, ranks: halves.into_iter().flat_map(|half| half.ranks).collect() }
    }
}

fn bounds(all: impl Iterator<Item = f64>) -> [f64; 2] {
    let [least, most] = all.fold([f64::INFINITY, 0.0], |[l, m], v| [v.min(l), v.max(m)]);
    [least.min(most), most]
}
