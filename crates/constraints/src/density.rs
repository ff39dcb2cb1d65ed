//! What constraints do to a system.

use std::fmt;

use super::error::Names;

/// What constraints do to a system; `Display` says it in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Density {
    /// Constraints: rows of C.
    pub constraints: usize,
    /// Those that follow from others, and are left out.
    pub dependent: usize,
    /// The nodes that they name, rising.
    pub dependent_nodes: Vec<u32>,
    /// The rank of C: unknowns taken away.
    pub rank: usize,
    /// Nodes of the system.
    pub nodes: usize,
    /// Those that a constraint names.
    pub filtered: usize,
    /// Connected groups of constraints.
    pub groups: usize,
    /// Nodes of the largest group.
    pub largest: usize,
    /// Blocks of A.
    pub blocks: usize,
    /// Blocks of S A S.
    pub filled: usize,
}

impl Density {
    /// Blocks of S A S for each of A.
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
