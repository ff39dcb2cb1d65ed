//! The nodes of a grid that belong to this rank, and counts of all ranks.
//!
//! A rank stores the couplings of its own nodes, and so the nodes of other ranks to which they couple (ghosts).
//! Decisions that count nodes or couplings count those of all ranks, so that every rank takes the same branch. Facts
//! about a ghost are those that its owner finds, since rows of ghosts lack couplings.

use std::ops::Range;

use coarsen_sparse::Pattern;

/// How the ranks of a step exchange numbers and facts. All ranks call both functions.
pub struct Exchange<'a> {
    /// Replaces numbers by their sums over all ranks.
    pub sum: &'a dyn Fn(&mut [f64]),
    /// Replaces the flags of ghosts by those of their owners. There are equally many flags for each node.
    pub of_owners: &'a dyn Fn(&mut [bool]),
}

/// The own nodes of a rank, and the other ranks.
pub(super) struct Share<'a> {
    pub(super) own: Range<usize>,
    ranks: Exchange<'a>,
}

impl<'a> Share<'a> {
    /// All nodes on a single rank.
    pub(super) fn whole(nodes: usize) -> Share<'static> {
        Share { own: 0..nodes, ranks: Exchange { sum: &|_| {}, of_owners: &|_| {} } }
    }

    /// The own nodes of one of several ranks.
    pub(super) fn of_rank(own: Range<usize>, ranks: Exchange<'a>) -> Self {
        Self { own, ranks }
    }

    /// Replaces the flags of ghosts by those of their owners.
    pub(super) fn of_owners(&self, flags: &mut [bool]) {
        (self.ranks.of_owners)(flags);
    }

    /// Sums over all ranks.
    pub(super) fn sums_of<const N: usize>(&self, mut values: [f64; N]) -> [f64; N] {
        (self.ranks.sum)(&mut values);
        values
    }

    /// Counts of all ranks.
    pub(super) fn sums<const N: usize>(&self, counts: [usize; N]) -> [f64; N] {
        self.sums_of(counts.map(|count| count as f64))
    }

    /// Whether it is true on any rank.
    pub(super) fn any(&self, here: bool) -> bool {
        self.sums([usize::from(here)])[0] > 0.0
    }

    /// The value if no rank has an error, else the own error, or `None` if only others have one. All ranks call it, so
    /// that none begins an exchange which a rank with an error has left.
    pub(super) fn agree<R, E>(&self, own: Result<R, E>) -> Result<Option<R>, E> {
        let failed = self.any(own.is_err());
        own.map(|value| (!failed).then_some(value))
    }

    /// Leaves nodes of other ranks, and the couplings to them, out of aggregation.
    pub(super) fn cut(
        &self,
        pattern: &Pattern,
        weights: &mut [f32],
        strong: &mut [bool],
        left_out: &mut [bool],
    ) {
        if self.own == (0..pattern.rows()) {
            return;
        }
        for i in 0..pattern.rows() {
            let other = !self.own.contains(&i);
            left_out[i] |= other;
            for k in pattern.range(i) {
                if other || !self.own.contains(&(pattern.indices()[k] as usize)) {
                    (weights[k], strong[k]) = (0.0, false);
                }
            }
        }
    }
}
