//! Ranks, switches and links, as data.
//!
//! | symbol | here | |
//! |---|---|---|
//! | α, β | `alpha`, `beta` | seconds per message, seconds per byte on a link of capacity 1 |
//! | capacity | `capacity[k]` | bytes per second of the link above node k, in units of 1 / β |
//!
//! The nodes of a tree: first the ranks, then the switches. Every node but the root has a link to the switch
//! above it. A message uses the links on the path between its ranks.

use crate::{DistError, Schedule};

/// A tree of ranks and switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    ranks: usize,
    /// The switch above each node; the root is above itself.
    above: Vec<usize>,
    capacity: Vec<f64>,
    /// Whether a link carries messages in both directions at the same time.
    full_duplex: bool,
}

impl Topology {
    /// A tree from the switch above each node and the capacity of the link to it. Nodes below `ranks` are the
    /// ranks; the root is the last node and is above itself.
    ///
    /// # Errors
    /// [`DistError::Value`] for no rank or no switch, [`DistError::Length`] if the lists differ in length,
    /// [`DistError::Switch`] if a switch does not come after the ranks and the nodes below it,
    /// [`DistError::Capacity`] for a capacity that is not positive and finite.
    pub fn new(
        ranks: usize,
        above: Vec<usize>,
        capacity: Vec<f64>,
        full_duplex: bool,
    ) -> Result<Self, DistError> {
        let value = |what, found: usize, range| DistError::Value { what, found: found as u64, range };
        if ranks == 0 {
            return Err(value("the number of ranks", 0, "at least 1"));
        }
        if above.len() <= ranks {
            let range = "above the number of ranks, since the root is a switch";
            return Err(value("the number of nodes of a topology", above.len(), range));
        }
        if capacity.len() != above.len() {
            let (expected, found) = (above.len(), capacity.len());
            return Err(DistError::Length { what: "the capacities of links", expected, found });
        }
        let root = above.len() - 1;
        for (node, &found) in above.iter().enumerate() {
            let first = ranks.max(node + 1).min(root);
            if !(first..=root).contains(&found) {
                return Err(DistError::Switch { node, found, first, root });
            }
        }
        match capacity.iter().position(|c| !(*c > 0.0 && c.is_finite())) {
            Some(node) => Err(DistError::Capacity { node, found: capacity[node] }),
            None => Ok(Self { ranks, above, capacity, full_duplex }),
        }
    }

    /// All ranks at one switch that never blocks, by full-duplex links of capacity 1.
    ///
    /// # Errors
    /// [`DistError::Value`] for no rank.
    pub fn switch(ranks: usize) -> Result<Self, DistError> {
        Self::new(ranks, vec![ranks; ranks + 1], vec![1.0; ranks + 1], true)
    }

    /// A binary tree whose links all have capacity 1, full-duplex. n is a power of two, at least 2.
    ///
    /// # Errors
    /// [`DistError::Value`] for another n.
    pub fn equal_tree(n: usize) -> Result<Self, DistError> {
        Self::binary(n, |_| 1.0)
    }

    /// A binary fat tree: the link above 2ᵏ ranks has capacity 2ᵏ, full-duplex. n is a power of two, at least
    /// 2.
    ///
    /// # Errors
    /// [`DistError::Value`] for another n.
    pub fn fat_tree(n: usize) -> Result<Self, DistError> {
        Self::binary(n, |height| f64::from(1_u32 << height))
    }

    fn binary(n: usize, capacity: impl Fn(u32) -> f64) -> Result<Self, DistError> {
        if !n.is_power_of_two() || n == 1 {
            let (what, range) = ("the number of ranks of a binary tree", "a power of two above 1");
            return Err(DistError::Value { what, found: n as u64, range });
        }
        let (mut above, mut capacities) = (Vec::new(), Vec::new());
        let (mut width, mut height) = (n, 0);
        while width > 1 {
            let (first, next) = (above.len(), above.len() + width);
            above.extend((first..next).map(|node| next + (node - first) / 2));
            capacities.extend(vec![capacity(height); width]);
            (width, height) = (width / 2, height + 1);
        }
        above.push(above.len());
        capacities.push(1.0);
        Self::new(n, above, capacities, true)
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The ranks in the order of the leaves of the tree: the ranks below a switch are neighbours. *Cost* a sort of n paths.
    ///
    /// ```
    /// use coarsen_distributed::simulation::Topology;
    /// let hosts = Topology::new(4, vec![4, 5, 4, 5, 6, 6, 6], vec![1.0; 7], true)?; // two, with two ranks each
    /// assert_eq!(hosts.order(), [0, 2, 1, 3]);
    /// # Ok::<(), coarsen_distributed::DistError>(())
    /// ```
    pub fn order(&self) -> Vec<usize> {
        let from_root = |rank: &usize| {
            let above = |node: &usize| Some(self.above[*node]).filter(|above| above != node);
            let mut nodes: Vec<usize> = std::iter::successors(Some(*rank), above).collect();
            nodes.reverse();
            nodes
        };
        let mut ranks: Vec<usize> = (0..self.ranks).collect();
        ranks.sort_by_cached_key(from_root);
        ranks
    }

    /// The links on the path between two ranks, each with its direction (whether it leads to the root).
    fn path(&self, from: usize, to: usize) -> Vec<(usize, bool)> {
        let (mut a, mut b, mut links) = (from, to, Vec::new());
        while a != b {
            // A switch comes after the nodes below it, so the smaller node is not above the other.
            if a < b {
                links.push((a, true));
                a = self.above[a];
            } else {
                links.push((b, false));
                b = self.above[b];
            }
        }
        links
    }

    /// The time of one message alone, without latency: bytes over the smallest capacity of its path.
    pub(super) fn load(&self, from: usize, to: usize, bytes: f64) -> f64 {
        self.path(from, to).iter().fold(0.0, |m, (link, _)| m.max(bytes / self.capacity[*link]))
    }

    /// The load of the busiest link when messages (from, to, bytes) run at the same time, over its capacity.
    pub fn busiest(&self, messages: impl IntoIterator<Item = (usize, usize, f64)>) -> f64 {
        let mut loads = vec![[0.0; 2]; self.above.len()];
        for (from, to, bytes) in messages {
            for (link, up) in self.path(from, to) {
                loads[link][usize::from(up && self.full_duplex)] += bytes;
            }
        }
        let relative = loads.iter().zip(&self.capacity).map(|(load, c)| load[0].max(load[1]) / c);
        relative.fold(0.0, f64::max)
    }

    /// The time of each stage of a schedule in which all sub-vectors have `bytes` bytes: α + β times the load
    /// of the busiest link. Stages are synchronised.
    ///
    /// # Errors
    /// [`DistError::Ranks`] for a schedule of another number of ranks.
    pub fn stages(
        &self,
        schedule: &Schedule,
        bytes: f64,
        alpha: f64,
        beta: f64,
    ) -> Result<Vec<f64>, DistError> {
        if schedule.ranks() != self.ranks {
            return Err(DistError::Ranks { parts: schedule.ranks(), ranks: self.ranks });
        }
        let time = |stage: usize| {
            let receives = (0..self.ranks).map(|rank| (schedule.queue(rank)[stage].peer, rank, bytes));
            alpha + beta * self.busiest(receives)
        };
        Ok((0..schedule.stages()).map(time).collect())
    }

    /// The schedule with the shortest total time, for sub-vectors of `bytes` bytes. Of equally fast ones it
    /// is the first of pairwise, ring and work queues, with the ranks as they are numbered, and then of the same three with
    /// the ranks in the [`order`](Self::order) of the leaves: so a ring visits all ranks of a host before those of the next.
    ///
    /// ```
    /// use coarsen_distributed::{Schedule, simulation::Topology};
    /// let (best, seconds) = Topology::equal_tree(8)?.best(1e6, 0.0, 1e-9)?;
    /// assert_eq!(best, Schedule::ring(8)?);
    /// assert!((seconds - 7e-3).abs() < 1e-12);
    /// # Ok::<(), coarsen_distributed::DistError>(())
    /// ```
    ///
    /// # Errors
    /// None for a valid topology.
    pub fn best(&self, bytes: f64, alpha: f64, beta: f64) -> Result<(Schedule, f64), DistError> {
        let n = self.ranks;
        let mut all = vec![Schedule::pairwise(n)?, Schedule::ring(n)?];
        if n.is_power_of_two() {
            all.push(Schedule::work_queues(n)?);
        }
        let order = self.order();
        if !order.is_sorted() {
            let near =
                all.iter().map(|schedule| schedule.relabelled(&order)).collect::<Result<Vec<_>, _>>()?;
            all.extend(near);
        }
        let mut best: Option<(Schedule, f64)> = None;
        for schedule in all {
            let seconds = self.stages(&schedule, bytes, alpha, beta)?.iter().sum();
            // Round-off must not decide between equally fast schedules.
            if best.as_ref().is_none_or(|(_, least)| seconds < least * (1.0 - 1e-12)) {
                best = Some((schedule, seconds));
            }
        }
        best.ok_or(DistError::Value { what: "the number of ranks", found: 0, range: "at least 1" })
    }
}
