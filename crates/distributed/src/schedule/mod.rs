//! Schedules: in which order the ranks exchange whole sub-vectors.
//!
//! | symbol | here | |
//! |---|---|---|
//! | n | `ranks()` | number of ranks |
//! | Qᵢ | `queue(i)` | the receives of rank i, in order |
//! | (t, v) | [`Node`] | receive sub-vector v from rank t |
//! | stage | index of a node in its queue | all receives of the same index run at the same time |
//!
//! | file | stages | who sends |
//! |---|---|---|
//! | [`work_queues`](Schedule::work_queues) | n − 1, n a power of two | siblings of a binary tree, forwarding |
//! | [`ring`](Schedule::ring) | n − 1 | the previous rank, forwarding |
//! | [`pairwise`](Schedule::pairwise) | n − 1 | the owner |
//!
//! *Reference* Li et al. 2020, §3.1.2.

mod pairwise;
mod ring;
mod work_queues;

use crate::DistError;

/// One receive of a rank: sub-vector `vector` from rank `peer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The rank that sends, t.
    pub peer: usize,
    /// The rank that owns the sub-vector, v.
    pub vector: usize,
}

/// The receives of every rank, in stages. Every rank receives every other sub-vector once, in n − 1 stages;
/// a sender owns the sub-vector or has received it in an earlier stage.
///
/// ```
/// use coarsen_distributed::Schedule;
/// let ring = Schedule::ring(3)?;
/// assert_eq!(ring.queue(0).iter().map(|node| node.vector).collect::<Vec<_>>(), [2, 1]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    queues: Vec<Vec<Node>>,
}

impl Schedule {
    /// A schedule from the receives of every rank.
    ///
    /// # Errors
    /// [`DistError::Value`] if a rank does not receive every other sub-vector once, or if a sender does not
    /// yet have the sub-vector.
    pub fn new(queues: Vec<Vec<Node>>) -> Result<Self, DistError> {
        let n = queues.len();
        let fault = |range| {
            move |rank: usize| DistError::Value { what: "the receives of rank", found: rank as u64, range }
        };
        let once = fault("one of each other sub-vector, in n - 1 stages, from another rank below n");
        let late = fault("sub-vectors that the sender owns or received in an earlier stage");
        let mut has: Vec<Vec<bool>> = (0..n).map(|rank| (0..n).map(|v| v == rank).collect()).collect();
        for (rank, queue) in queues.iter().enumerate() {
            if queue.len() + 1 != n || queue.iter().any(|to| to.peer >= n || to.vector >= n) {
                return Err(once(rank));
            }
        }
        for stage in 0..n.saturating_sub(1) {
            let before = has.clone();
            for (rank, queue) in queues.iter().enumerate() {
                let Node { peer, vector } = queue[stage];
                if peer == rank || std::mem::replace(&mut has[rank][vector], true) {
                    return Err(once(rank));
                }
                if !before[peer][vector] {
                    return Err(late(rank));
                }
            }
        }
        Ok(Self { queues })
    }

    /// The schedule in which rank i receives `node(i, s)` in stage s, from 1 to n − 1.
    fn of_stages(n: usize, node: impl Fn(usize, usize) -> Node) -> Result<Self, DistError> {
        if n == 0 {
            return Err(DistError::Value { what: "the number of ranks", found: 0, range: "at least 1" });
        }
        Self::new((0..n).map(|rank| (1..n).map(|stage| node(rank, stage)).collect()).collect())
    }

    /// The schedule in which rank `order[k]` has the part of rank k.
    ///
    /// *Use* if neighbours in the schedule should be ranks that are close to each other, such as those of one host; see
    /// [`Topology::order`](crate::simulation::Topology::order). *Cost* a copy of the queues, n (n − 1) entries.
    ///
    /// ```
    /// use coarsen_distributed::{Node, Schedule};
    /// let ring = Schedule::ring(4)?.relabelled(&[0, 2, 1, 3])?; // 0, 2, 1, 3 and back to 0
    /// assert_eq!(ring.queue(1)[0], Node { peer: 2, vector: 2 });
    /// # Ok::<(), coarsen_distributed::DistError>(())
    /// ```
    ///
    /// # Errors
    /// [`DistError::Value`] unless the order has every rank once.
    pub fn relabelled(&self, order: &[usize]) -> Result<Self, DistError> {
        let mut queues: Vec<Option<Vec<Node>>> = vec![None; self.ranks()];
        let fault = |what, found: usize, range| DistError::Value { what, found: found as u64, range };
        if order.len() != self.ranks() {
            return Err(fault("the length of an order of ranks", order.len(), "the number of ranks"));
        }
        let renamed = |node: &Node| Node { peer: order[node.peer], vector: order[node.vector] };
        for (queue, &rank) in self.queues.iter().zip(order) {
            match queues.get_mut(rank) {
                Some(free @ None) => *free = Some(queue.iter().map(renamed).collect()),
                _ => return Err(fault("an entry of an order of ranks", rank, "a rank, each once")),
            }
        }
        Ok(Self { queues: queues.into_iter().flatten().collect() })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.queues.len()
    }

    /// The number of stages, n − 1.
    pub fn stages(&self) -> usize {
        self.ranks().saturating_sub(1)
    }

    /// The receives of a rank, one per stage.
    pub fn queue(&self, rank: usize) -> &[Node] {
        &self.queues[rank]
    }

    /// The messages that a rank sends in a stage: the receivers and the sub-vectors.
    pub fn sends(&self, rank: usize, stage: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let to = move |(to, queue): (usize, &Vec<Node>)| {
            (queue[stage].peer == rank).then_some((to, queue[stage].vector))
        };
        self.queues.iter().enumerate().filter_map(to)
    }
}
