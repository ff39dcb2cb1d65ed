//! Pairs that meet while all nodes move: the first one, or all.
//!
//! If the displacement stays in the bounds of the last search, these are among its candidates. Otherwise pairs are
//! searched for along the displacement.

use coarsen_core::parallel;

use super::{CLEAR, ClothContact, MIN_DISTANCE, SLACK};
use crate::cloth::advance::impact_before;
use crate::cloth::apart::apart;
use crate::cloth::sweep::all_impacts;
use crate::{ContactError, Impact, Pair, Search};

/// By how much displacements may change until pairs are searched for along them again, in units of the thickness: from the
/// first call from a place on, and from later ones. In a sheet whose edges are four times as long as it is thick,
/// parts that are two edges apart are candidates with a margin of 1, and not with 1/4.
const MARGINS: [f64; 2] = [0.25, 0.5];

/// The displacements for which all impacts were computed from the present positions among the present candidates, which may be
/// the share of a rank; and their pairs, sorted.
#[derive(Default)]
pub(super) struct Timed {
    dx: Vec<[f64; 3]>,
    met: Vec<Pair>,
}

impl Timed {
    /// Forgets the pairs: the nodes or the candidates are others.
    pub(super) fn clear(&mut self) {
        self.dx.clear();
    }

    /// Forgets the pairs of some nodes, whose candidates are others.
    pub(super) fn forget(&mut self, nodes: &[bool]) {
        // No displacement equals it.
        self.dx.iter_mut().zip(nodes).filter(|(_, node)| **node).for_each(|(dx, _)| *dx = [f64::NAN; 3]);
    }
}

impl<S: Search> ClothContact<S> {
    /// The pairs, or those of a share, that come nearer than a tenth of the thickness while all nodes move from x along
    /// `dx`, one entry for each node, with the times in [0, 1) until which they may move, as of
    /// [`time_of_impact`](crate::time_of_impact); in the order of candidates. A pair that comes nearer than 0.4 of the
    /// thickness may be among them, others are not. *Cost* a search for the pairs of the nodes that leave the bounds of
    /// the last search, whose radius is a quarter of the thickness in the first call from x and a half in later ones,
    /// or for all pairs if these are many; from the second call at the same x on, only pairs with changed displacements are
    /// computed. *Panics* on wrong lengths.
    ///
    /// # Errors
    /// [`ContactError::Position`] for a node that is not finite, and those of the search.
    pub fn impacts(&mut self, x: &[f64], dx: &[[f64; 3]]) -> Result<Vec<(f64, Pair)>, ContactError> {
        self.check("impacts", x);
        assert_eq!(dx.len(), self.nodes.count(), "impacts: wrong length");
        self.approach(x)?;
        let again = self.timed.dx.len() == dx.len();
        self.check_displacements(dx)?;
        let covered = self.bounds.covered(&self.at, dx) >= 1.0;
        if !covered {
            let at = std::mem::take(&mut self.at);
            let searched = self.search_for(&at, dx, MARGINS[usize::from(again)]);
            self.at = at;
            searched?;
        }
        let Self { at, timed, candidates, thickness, .. } = self;
        let [min_distance, clear] = [MIN_DISTANCE, CLEAR].map(|share| share * *thickness);
        let known = timed.dx.len() == dx.len();
        let before = |pair: &Pair| {
            let nodes = pair.nodes().map(|v| v as usize);
            let same = |v: usize| timed.dx[v] == dx[v];
            if known && nodes.into_iter().all(same) && timed.met.binary_search(pair).is_err() {
                return None;
            }
            let (x, p) = (nodes.map(|v| at[v]), nodes.map(|v| dx[v]));
            // Beyond `clear` by more than the errors of distances, so that this changes no impact that is real.
            if apart(pair, &x, &p, *thickness) {
                return None;
            }
            impact_before(pair, &x, &p, [min_distance, clear], [1.0; 2])
        };
        let found = all_impacts(candidates, &before);
        timed.met = found.iter().map(|impact| impact.1).collect();
        timed.met.sort_unstable();
        timed.dx.clear();
        timed.dx.extend_from_slice(dx);
        Ok(found)
    }

    fn check_displacements(&self, dx: &[[f64; 3]]) -> Result<(), ContactError> {
        match parallel::position(dx, |d| d.iter().any(|d| !d.is_finite())) {
            Some(node) => Err(ContactError::Position { node }),
            None => Ok(()),
        }
    }

    /// The time until which the candidates contain all pairs that come nearer than the thickness in a motion of all
    /// nodes, at least 1. If those of the last search do not, there is a new one.
    fn seek(&mut self, dx: &[[f64; 3]]) -> Result<f64, ContactError> {
        self.check_displacements(dx)?;
        let last = self.bounds.covered(&self.at, dx);
        if last >= 1.0 {
            return Ok(last);
        }
        let at = std::mem::take(&mut self.at);
        let searched = self.search_along(&at, dx, SLACK);
        self.at = at;
        searched.map(|()| 1.0)
    }

    /// The first impact of a motion of all nodes from the last search, and the α up to which it was searched: at
    /// least 1, and at most `longest`. An impact before 1, or that there is none, does not depend on earlier
    /// searches: pairs that stay a thickness apart do not meet, and a time before 1 is that of a motion that ends at
    /// 1.
    pub(super) fn sweep(&mut self, dx: &[[f64; 3]], longest: f64) -> Result<(Impact, f64), ContactError> {
        let last = self.seek(dx)?.min(longest);
        let (at, delta) = (&self.at, self.thickness);
        let before = |pair: &Pair, end: f64| {
            let nodes = pair.nodes().map(|v| v as usize);
            let (x, p) = (nodes.map(|v| at[v]), nodes.map(|v| dx[v]));
            let until =
                |last: f64| impact_before(pair, &x, &p, [MIN_DISTANCE * delta, delta], [last, end.min(last)]);
            // Advances depend on `last`. So a longer motion has only the say on times after 1.
            until(1.0).or_else(|| if end > 1.0 { until(last).map(|t| t.max(1.0)) } else { None })
        };
        Ok((self.search.first(&self.candidates, last, &before)?, last))
    }
}
