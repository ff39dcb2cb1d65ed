//! Searches for candidates: for all pairs, or for those of the nodes that have left the bounds of the last search.
//!
//! Touches and impacts are functions of all pairs, so they do not depend on which candidates there are.

use super::ClothContact;
use crate::cloth::advance::approaches;
use crate::cloth::apart::apart;
use crate::cloth::distance::gap;
use crate::cloth::swept_bounds::{SweptBounds, mean};
use crate::shape::norm;
use crate::{ContactError, Pair, Search};

/// If more than this share of the nodes leave the bounds, all pairs are searched for.
const MANY: f64 = 0.2;

/// The same if the bounds end, and new ones could serve for several steps.
const FEW: f64 = 0.02;

/// A search for all pairs serves for so many steps that a node goes this far on average, beside the mean of all, in
/// units of the thickness: about half of an edge, so that boxes of displacements are not much larger than those of parts.
const REACH: f64 = 2.0;

/// The longest displacement of a node in such steps, in units of the thickness. Boxes of longer displacements have many cells; nodes
/// that are faster leave the bounds before the others, and the bounds are then updated for them.
const LONGEST: f64 = 4.0 * REACH;

/// The most such steps.
const STEPS: f64 = 16.0;

impl<S: Search> ClothContact<S> {
    /// Announces that a step begins at x, after which others of about the same displacement follow: a search then serves for
    /// several steps, if these are short. Results do not depend on it, also if x is not finite. *Panics* on a wrong
    /// length.
    pub fn start_step(&mut self, x: &[f64]) {
        self.check("start_step", x);
        self.start.clear();
        self.start.extend((0..self.nodes.count() as u32).map(|node| self.nodes.at(node, x)));
    }

    /// Makes the candidates those for a displacement of all nodes: searches for the pairs of the nodes that leave the
    /// bounds, if these are few, and else for all pairs.
    pub(super) fn search_for(
        &mut self,
        at: &[[f64; 3]],
        dx: &[[f64; 3]],
        slack: f64,
    ) -> Result<(), ContactError> {
        // The displacement of the whole step, which later steps repeat.
        let pace = (self.start.len() == at.len()).then(|| {
            let all = self.start.iter().zip(at.iter().zip(dx));
            all.map(|(s, (x, p))| [0, 1, 2].map(|k| x[k] + p[k] - s[k])).collect::<Vec<_>>()
        });
        let steps = pace.as_ref().map_or(0.0, |pace| self.steps(pace));
        let pace = pace.filter(|_| steps > 0.0);
        let longest = LONGEST * self.thickness;
        if let Some(leaving) = self.bounds.leaving(at, dx) {
            let most = if steps >= 2.0 && self.bounds.ends(&leaving) { FEW } else { MANY };
            if leaving.count as f64 <= most * at.len() as f64 {
                let bounds = self.bounds.following(&leaving, at, dx, pace.as_deref(), longest);
                return self.search_in(bounds, Some(&leaving.nodes));
            }
        }
        match pace {
            Some(pace) if steps >= 2.0 => {
                let bounds = SweptBounds::ahead(at, dx, &pace, slack * self.thickness, steps, longest);
                self.search_in(bounds, None)
            }
            _ => self.search_along(at, dx, slack),
        }
    }

    /// The steps after which nodes have gone as far as a search reaches; 0 if the displacement of a step is not known, since
    /// the start was not finite.
    fn steps(&self, pace: &[[f64; 3]]) -> f64 {
        let mean = mean(pace);
        let sum: f64 = pace.iter().map(|v| norm([0, 1, 2].map(|k| v[k] - mean[k]))).sum();
        if sum.is_finite() { (REACH * self.thickness * pace.len() as f64 / sum).min(STEPS) } else { 0.0 }
    }

    /// Replaces the candidates by those for positions around a displacement of all nodes, with this slack in units of the
    /// thickness.
    pub(super) fn search_along(
        &mut self,
        at: &[[f64; 3]],
        dx: &[[f64; 3]],
        slack: f64,
    ) -> Result<(), ContactError> {
        self.search_in(SweptBounds::along(at, dx, slack * self.thickness), None)
    }

    /// Replaces the candidates with one of the changed nodes, or all of them, by those for positions in the bounds.
    fn search_in(&mut self, bounds: SweptBounds, changed: Option<&[bool]>) -> Result<(), ContactError> {
        // The bounds do not have the motion that all nodes share, and squares of distances must be finite.
        let beyond = |(x, d): (&[f64; 3], &[f64; 3])| (0..3).any(|k| !(x[k] + d[k]).powi(2).is_finite());
        if let Some(index) = bounds.from.iter().zip(&bounds.displacement).position(beyond) {
            return Err(ContactError::Box { index });
        }
        let delta = self.thickness;
        let still = bounds.displacement.iter().all(|d| *d == [0.0; 3]);
        // Together, so that a node is one line of memory.
        let nodes = bounds.from.iter().zip(&bounds.displacement).zip(&bounds.radii);
        let places: Vec<([f64; 3], [f64; 3], f64)> = nodes.map(|((x, d), s)| (*x, *d, *s)).collect();
        let keep = |pair: &Pair| {
            let [a, b, c, d] = pair.nodes().map(|v| &places[v as usize]);
            let (x, p) = ([a.0, b.0, c.0, d.0], [a.1, b.1, c.1, d.1]);
            let radii = match pair {
                Pair::VertexFace { .. } => a.2 + b.2.max(c.2).max(d.2),
                Pair::EdgeEdge { .. } => a.2.max(b.2) + c.2.max(d.2),
            };
            let reach = delta + radii;
            if apart(pair, &x, &p, reach) {
                false
            } else if still {
                gap(pair, &x).distance <= reach
            } else {
                approaches(pair, &x, &p, reach)
            }
        };
        // Half of the distance of two parts for each.
        let path = |node| bounds.path(node, 0.5 * delta);
        let Self { search, parts, next, candidates, timed, .. } = self;
        search.pairs(parts, changed, &path, &keep, next)?;
        match changed {
            None => {
                std::mem::swap(candidates, next);
                timed.clear();
            }
            Some(changed) => {
                let stays = |pair: &Pair| pair.nodes().iter().all(|&node| !changed[node as usize]);
                candidates.retain(stays);
                candidates.extend_from_slice(next);
                candidates.sort(); // two sorted lists
                timed.forget(changed);
            }
        }
        self.bounds = bounds;
        Ok(())
    }
}
