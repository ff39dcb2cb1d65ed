//! The ring: every rank passes on the sub-vector that it has just received.
//!
//! | symbol | here | |
//! |---|---|---|
//! | i | `rank` | a rank |
//! | s | `stage` | stage, from 1 to n − 1 |

use super::{Node, Schedule};
use crate::DistError;

impl Schedule {
    /// In stage s, rank i receives sub-vector i − s from rank i − 1, modulo n.
    ///
    /// *Use* where every link sends and receives at once: each link carries one sub-vector per stage. Only
    /// neighbours exchange messages.
    ///
    /// # Errors
    /// [`DistError::Value`] for no rank.
    pub fn ring(n: usize) -> Result<Self, DistError> {
        Self::of_stages(n, |rank, stage| Node { peer: (rank + n - 1) % n, vector: (rank + n - stage) % n })
    }
}
