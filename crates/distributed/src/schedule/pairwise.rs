//! Pairwise exchange: every sub-vector comes from its owner.
//!
//! | symbol | here | |
//! |---|---|---|
//! | i | `rank` | a rank |
//! | s | `stage` | stage, from 1 to n − 1 |

use super::{Node, Schedule};
use crate::DistError;

impl Schedule {
    /// In stage s, rank i receives sub-vector i − s from its owner, modulo n.
    ///
    /// *Use* on a switch that connects all ranks without blocking. No rank passes on a sub-vector, so no rank
    /// waits for the receives of another rank.
    ///
    /// # Errors
    /// [`DistError::Value`] for no rank.
    pub fn pairwise(n: usize) -> Result<Self, DistError> {
        check(n)?;
        let node = |rank: usize, stage: usize| {
            let owner = (rank + n - stage) % n;
            Node { peer: owner, vector: owner }
        };
        Self::new((0..n).map(|rank| (1..n).map(|stage| node(rank, stage)).collect()).collect())
    }
}

pub(super) fn check(n: usize) -> Result<(), DistError> {
    match n {
        0 => Err(DistError::Value { what: "the number of ranks", found: 0, range: "at least 1" }),
        _ => Ok(()),
    }
}
