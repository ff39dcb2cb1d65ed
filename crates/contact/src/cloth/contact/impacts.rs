//! Pairs that meet while all nodes move: the first one, or all.
//!
//! If no node moves further than the candidates of the last search allow, these are the pairs that may meet. Otherwise
//! pairs are searched for along the ways.

use coarsen_core::parallel;
use coarsen_mesh::vector::sub;

use super::{CLEAR, ClothContact, FLOOR, LONGEST, SLACK};
use crate::cloth::advance::{approaches, impact_before};
use crate::cloth::drift;
use crate::cloth::sweep::all_impacts;
use crate::shape::norm;
use crate::{Aabb, ContactError, Impact, Pair, Search};

/// By how much ways may change until pairs are searched for along them again, in units of the thickness.
const MARGIN: f64 = 1.0;

/// The pairs along the ways of the last search from the present positions.
#[derive(Default)]
pub(super) struct Swept {
    /// Those that may meet while each way changes by less than `margin`.
    pairs: Vec<Pair>,
    by: Vec<[f64; 3]>,
    margin: f64,
    /// The ways for which all impacts were computed, these pairs, sorted, and whether they are among the candidates. A new
    /// list may have shares of other ranks, so nothing is known about its pairs.
    timed: Vec<[f64; 3]>,
    met: Vec<Pair>,
    near: bool,
}

impl Swept {
    /// Forgets the pairs, since the nodes are elsewhere.
    pub(super) fn clear(&mut self) {
        self.by.clear();
        self.timed.clear();
    }

    fn serves(&self, by: &[[f64; 3]]) -> bool {
        let near = |(a, b): (&[f64; 3], &[f64; 3])| norm(sub(*a, *b)) <= self.margin;
        self.by.len() == by.len() && self.by.iter().zip(by).all(near)
    }
}

impl<S: Search> ClothContact<S> {
    /// The pairs, or those of a share, that come nearer than a tenth of the thickness while all nodes move from x along
    /// `by`, one entry for each node, with the times in [0, 1) until which they may move, as of
    /// [`time_of_impact`](crate::time_of_impact); in the order of candidates. A pair that comes nearer than 0.4 of the
    /// thickness may be among them, others are not. *Cost* a search for pairs; from the second call at the same x on, none if
    /// ways change by less than the thickness, and only pairs with changed ways are computed. *Panics* on wrong lengths.
    ///
    /// # Errors
    /// [`ContactError::Position`] for a node that is not finite, and those of the search.
    pub fn impacts(&mut self, x: &[f64], by: &[[f64; 3]]) -> Result<Vec<(f64, Pair)>, ContactError> {
        self.check("impacts", x);
        assert_eq!(by.len(), self.nodes.count(), "impacts: wrong length");
        self.approach(x)?;
        let near = self.seek(by, MARGIN * self.thickness)? >= 1.0;
        let Self { at, swept, candidates, thickness, .. } = self;
        if swept.near != near {
            swept.timed.clear();
        }
        swept.near = near;
        let [floor, clear] = [FLOOR, CLEAR].map(|share| share * *thickness);
        let known = swept.timed.len() == by.len();
        let before = |pair: &Pair| {
            let nodes = pair.nodes().map(|v| v as usize);
            let same = |v: usize| swept.timed[v] == by[v];
            if known && nodes.into_iter().all(same) && swept.met.binary_search(pair).is_err() {
                return None;
            }
            impact_before(pair, &nodes.map(|v| at[v]), &nodes.map(|v| by[v]), [floor, clear], [1.0; 2])
        };
        let found = all_impacts(if near { candidates } else { &swept.pairs }, &before);
        swept.met = found.iter().map(|impact| impact.1).collect();
        swept.met.sort_unstable();
        swept.timed.clear();
        swept.timed.extend_from_slice(by);
        Ok(found)
    }

    /// Finds the pairs that may meet in a motion of all nodes from the last search: those along the ways until the time 1
    /// if it returns less than 1, otherwise the candidates until the time that it returns. A new search serves as long as
    /// ways change by less than `margin`.
    fn seek(&mut self, by: &[[f64; 3]], margin: f64) -> Result<f64, ContactError> {
        if let Some(node) = parallel::position(by, |d| d.iter().any(|d| !d.is_finite())) {
            return Err(ContactError::Position { node });
        }
        // The candidates contain all pairs that are near until then.
        let last = drift::covered(&self.at, &self.searched, by, SLACK * self.thickness).min(LONGEST);
        if last >= 1.0 || self.swept.serves(by) {
            return Ok(last); // others stay a thickness apart
        }
        let (at, floor) = (&self.at, FLOOR * self.thickness);
        // Against the middle of all, whose motion leads to no impact.
        let middle = drift::middle(by.iter().copied());
        let path = |node: u32| {
            let (x, d) = (at[node as usize], by[node as usize]);
            Aabb::of([x, [0, 1, 2].map(|k| x[k] + (d[k] - middle[k]))]).grown(floor + margin)
        };
        let keep = |pair: &Pair| {
            let nodes = pair.nodes().map(|v| v as usize);
            // Both parts may come nearer by twice the margin, without the mean of four ways.
            approaches(pair, &nodes.map(|v| at[v]), &nodes.map(|v| by[v]), floor + 4.0 * margin)
        };
        self.swept.clear();
        self.search.pairs(&self.parts, &path, &keep, &mut self.swept.pairs)?;
        self.swept.by.extend_from_slice(by);
        self.swept.margin = margin;
        Ok(last)
    }

    /// The first impact of a motion of all nodes from the last search, and the α up to which it was looked for.
    pub(super) fn sweep(&mut self, by: &[[f64; 3]]) -> Result<(Impact, f64), ContactError> {
        let last = self.seek(by, 0.0)?;
        let (candidates, last) = if last < 1.0 { (&self.swept.pairs, 1.0) } else { (&self.candidates, last) };
        let (at, floor) = (&self.at, FLOOR * self.thickness);
        let before = |pair: &Pair, end: f64| {
            let nodes = pair.nodes().map(|v| v as usize);
            impact_before(
                pair,
                &nodes.map(|v| at[v]),
                &nodes.map(|v| by[v]),
                [floor, f64::INFINITY],
                [last, end],
            )
        };
        Ok((self.search.first(candidates, last, &before)?, last))
    }
}
