//! The matrix of the next level, C A Cᵀ.
//!
//! | symbol | here | |
//! |---|---|---|
//! | A | `rows` | complete rows of the nodes of this rank |
//! | C | `Supernodes` | sums over the nodes of a domain; a domain is one node of the next level |

use coarsen_distributed::{Communicator, DistError, GlobalRows, Partition, pack, unpack};
use coarsen_schwarz::Plan;

/// In place of a supernode, for nodes in no domain.
const NONE: u64 = u64::MAX;

/// The supernodes of own nodes and ghosts.
pub(crate) struct Supernodes {
    /// The first node of this rank, and for each the number of its supernode.
    first: u64,
    own: Vec<u64>,
    ghosts: Vec<u64>,
    of_ghost: Vec<u64>,
    /// The supernode of the first domain of this rank.
    pub(crate) begin: u64,
}

impl Supernodes {
    /// Domain d of this rank is supernode `begin` + d. All ranks call it.
    pub(crate) fn new<C: Communicator>(
        partition: &Partition<C>,
        rows: &GlobalRows<f64>,
        plan: &Plan,
        begin: u64,
    ) -> Result<Self, DistError> {
        let range = partition.layout().range(partition.rank());
        let of = |k: usize| plan.domain_of(0, k).map_or(NONE, |d| begin + d as u64);
        let own: Vec<u64> = (0..partition.count()).map(of).collect();
        let mut ghosts: Vec<u64> = rows.columns().iter().copied().filter(|j| !range.contains(j)).collect();
        ghosts.sort_unstable();
        ghosts.dedup();
        let told = partition.fetch(&ghosts, |row, to| pack([own[(row - range.start) as usize]], to))?;
        let of_ghost = told.iter().map(|told| unpack(told).next().unwrap_or(NONE)).collect();
        Ok(Self { first: range.start, own, ghosts, of_ghost, begin })
    }

    /// The supernode of a node that occurs in the rows of this rank.
    fn of(&self, node: u64) -> u64 {
        let own = node.checked_sub(self.first).and_then(|k| self.own.get(k as usize));
        match own {
            Some(&supernode) => supernode,
            None => self.ghosts.binary_search(&node).map_or(NONE, |at| self.of_ghost[at]),
        }
    }

    /// The rows of C A Cᵀ of the domains of this rank. Each is summed in the order of the nodes of its domain and of
    /// their columns, so its bits do not depend on ranks.
    pub(crate) fn project(&self, rows: &GlobalRows<f64>, plan: &Plan) -> Result<GlobalRows<f64>, DistError> {
        let size = rows.block().0 * rows.block().1;
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for d in 0..plan.domains(0) {
            let nodes = || plan.members(0, d).iter().map(|&i| i as usize);
            let first = columns.len();
            columns.extend(nodes().flat_map(|i| rows.row(i)).map(|(j, _)| self.of(j)).filter(|s| *s != NONE));
            columns[first..].sort_unstable();
            let mut kept = first;
            for at in first..columns.len() {
                if kept == first || columns[kept - 1] != columns[at] {
                    columns[kept] = columns[at];
                    kept += 1;
                }
            }
            columns.truncate(kept);
            values.resize(kept * size, 0.0);
            for (j, block) in nodes().flat_map(|i| rows.row(i)) {
                let Ok(at) = columns[first..].binary_search(&self.of(j)) else { continue };
                let sum = &mut values[(first + at) * size..][..size];
                sum.iter_mut().zip(block).for_each(|(s, &v)| *s += v);
            }
            offsets.push(columns.len());
        }
        GlobalRows::new(self.begin, rows.block(), offsets, columns, values)
    }
}

/// For each unknown of the domains, the sum of its diagonal entries on the finest level. `sizes` has these sums for the
/// nodes; it is empty on the finest level.
pub(crate) fn sizes(rows: &GlobalRows<f64>, sizes: &[f64], plan: &Plan) -> Vec<f64> {
    let b = rows.block().0;
    let mut sums = vec![0.0; plan.domains(0) * b];
    for (d, sums) in sums.chunks_exact_mut(b).enumerate() {
        for i in plan.members(0, d).iter().map(|&i| i as usize) {
            if let Some(of_node) = sizes.get(i * b..(i + 1) * b) {
                sums.iter_mut().zip(of_node).for_each(|(s, &v)| *s += v);
            } else if let Some((_, block)) = rows.row(i).find(|(j, _)| *j == rows.first() + i as u64) {
                sums.iter_mut().enumerate().for_each(|(k, s)| *s += block[k * (b + 1)]);
            }
        }
    }
    sums
}
