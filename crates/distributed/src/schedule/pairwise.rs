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
        Self::of_stages(n, |rank, stage| {
            let owner = (rank + n - stage) % n;
            Node { peer: owner, vector: owner }
        })
    }
}
