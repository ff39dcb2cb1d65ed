//! The largest step before any pair of a surface touches.

use std::ops::Range;

use coarsen_core::parallel;
use coarsen_mesh::vector::sub;

use super::advance::{approaches, impact_before};
use super::contact::{FLOOR, SLACK};
use crate::shape::norm;
use crate::{Aabb, ClothContact, ContactError, Pair, Search};

/// A line search may lengthen a step up to this α.
const LONGEST: f64 = 16.0;

/// The number of pairs per task of a parallel loop.
const LEAF: usize = 256;

/// The number of scalar operations per pair, used to decide whether threads pay off.
const WORK: usize = 300;

/// The first impact of a step: its time, and the pair; of equal times, the first pair.
pub type Impact = Option<(f64, Pair)>;

/// Returns the first impact among candidates before the time `last`; `time(pair, end)` is that of a pair, if it is
/// before `end`.
pub(super) fn first_impact(
    candidates: &[Pair],
    last: f64,
    time: &(impl Fn(&Pair, f64) -> Option<f64> + Sync),
) -> Impact {
    let leaf = |range: Range<usize>| {
        let mut first: Impact = None;
        for pair in &candidates[range] {
            let end = first.map_or(last, |(t, _)| t);
            if let Some(t) = time(pair, end).filter(|t| *t < end) {
                first = Some((t, *pair));
            }
        }
        first
    };
    let earlier = |a: Impact, b: Impact| match (a, b) {
        (Some(one), Some(other)) => Some(if other.0 < one.0 { other } else { one }),
        (a, b) => a.or(b),
    };
    parallel::tree(0..candidates.len(), LEAF, parallel::worth(candidates.len() * WORK), &leaf, &earlier)
}

impl<S: Search> ClothContact<S> {
    /// Moves the held nodes to `positions` of all nodes, while free nodes move from x along d. *Panics* on wrong lengths.
    ///
    /// # Errors
    /// [`ContactError::Crossed`] names the first pair that would come nearer than a tenth of the thickness, and
    /// [`ContactError::Position`] a node that is not finite. The held nodes are then where they were.
    pub fn carry(&mut self, x: &[f64], d: &[f64], positions: &[[f64; 3]]) -> Result<(), ContactError> {
        self.check("carry", d);
        self.detect(x)?;
        let by = |node: u32| match self.nodes.slot(node) {
            Some(_) => self.moved(node, d),
            None => sub(positions[node as usize], self.at[node as usize]),
        };
        let by: Vec<[f64; 3]> = (0..self.nodes.count() as u32).map(by).collect();
        if let Some((time, pair)) = self.sweep(&by)?.0.filter(|(time, _)| *time < 1.0) {
            return Err(ContactError::Crossed { pair, time });
        }
        self.nodes.hold(positions);
        Ok(())
    }

    /// The displacement of a node; 0 for a held node.
    pub(super) fn moved(&self, node: u32, d: &[f64]) -> [f64; 3] {
        self.nodes.slot(node).map_or([0.0; 3], |slot| [d[3 * slot], d[3 * slot + 1], d[3 * slot + 2]])
    }

    /// The first impact of a motion of all nodes from the last detection, and the α up to which it was looked for.
    pub(super) fn sweep(&mut self, by: &[[f64; 3]]) -> Result<(Impact, f64), ContactError> {
        if let Some(node) = parallel::position(by, |d| d.iter().any(|d| !d.is_finite())) {
            return Err(ContactError::Position { node });
        }
        let (at, floor) = (&self.at, FLOOR * self.thickness);
        let before = |pair: &Pair, ends: [f64; 2]| {
            let nodes = pair.nodes().map(|v| v as usize);
            impact_before(pair, &nodes.map(|v| at[v]), &nodes.map(|v| by[v]), floor, ends)
        };
        let last = self.covered(by).min(LONGEST);
        if last >= 1.0 {
            let time = |pair: &Pair, end: f64| before(pair, [last, end]);
            return Ok((self.search.first(&self.candidates, last, &time)?, last)); // others stay a thickness apart
        }
        let path = |node: u32| {
            let (x, d) = (at[node as usize], by[node as usize]);
            Aabb::of([x, [0, 1, 2].map(|k| x[k] + d[k])]).grown(floor)
        };
        let keep = |pair: &Pair| {
            let nodes = pair.nodes().map(|v| v as usize);
            approaches(pair, &nodes.map(|v| at[v]), &nodes.map(|v| by[v]), floor)
        };
        self.search.pairs(&self.parts, &path, &keep, &mut self.swept)?;
        Ok((self.search.first(&self.swept, 1.0, &|pair, end| before(pair, [1.0, end]))?, 1.0))
    }

    /// The largest α for which the candidates contain all pairs that are near at x + α d.
    fn covered(&self, by: &[[f64; 3]]) -> f64 {
        let slack = SLACK * self.thickness;
        let drift = self.at.iter().zip(&self.searched).map(|(a, b)| norm(sub(*a, *b)));
        drift.zip(by).map(|(drift, d)| (slack - drift) / norm(*d)).fold(f64::INFINITY, f64::min)
    }
}
