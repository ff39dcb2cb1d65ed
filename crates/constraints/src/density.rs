//! Statistics of constraints in a system.

use std::fmt;

use super::error::Names;

/// Statistics of constraints in a system; `Display` prints one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Density {
    /// The number of constraints (rows of C).
    pub constraints: usize,
    /// The number of constraints that depend on other constraints and are left out.
    pub dependent: usize,
    /// The nodes of dependent constraints, in increasing order.
    pub dependent_nodes: Vec<u32>,
    /// The rank of C: the number of eliminated unknowns.
    pub rank: usize,
    /// The number of nodes of the system.
    pub nodes: usize,
    /// The number of nodes that occur in constraints.
    pub filtered: usize,
    /// The number of connected groups of constraints.
    pub groups: usize,
    /// The number of nodes of the largest group.
    pub largest: usize,
    /// The number of blocks of A.
    pub blocks: usize,
    /// The number of blocks of S A S.
    pub filled: usize,
}

impl Density {
    /// The number of blocks of S A S divided by that of A.
    pub fn fill(&self) -> f64 {
        self.filled as f64 / self.blocks.max(1) as f64
    }
}

impl fmt::Display for Density {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { constraints, dependent, dependent_nodes, rank, nodes, filtered, groups, largest, .. } =
            self;
        write!(f, "{filtered} of {nodes} nodes filtered by {constraints} constraints of rank {rank}")?;
        if *dependent > 0 {
            write!(f, " ({dependent} follow from others, on {})", Names(dependent_nodes))?;
        }
        write!(f, ", in {groups} groups of up to {largest} nodes; {:.2} times the blocks of A", self.fill())
    }
}
