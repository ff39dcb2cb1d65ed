//! Aggregates of strongly connected nodes, and the couplings that smooth P (Algorithm 3, steps 5 and 6).
//!
//! | strategy | aggregates are based on | P is smoothed along | used if |
//! |---|---|---|---|
//! | whole | `strength` | all couplings | few couplings are weak, many nodes are tied, or filtering is off |
//! | filtered | norms of couplings | strong couplings | many couplings are weak: sheets, rotated layers |
//! | filtered, stiff | `strength` | strong couplings | many couplings are weak, and contact holds nodes in one direction; by norms these nodes would be decoupled |
//!
//! `strength` is that of [`SmoothedAggregation`]. For scalars, both weights are this strength. Levels below a
//! whole level are whole. A level below a filtered level is whole only if many nodes are tied.

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern};

use super::aggregate::{Couplings, aggregate};
use super::decoupled::{self, Decoupled};
use super::high_degree::HighDegree;
use super::parameters::{SmoothedAggregation, Spread};
use super::reach::too_full;
use super::share::Share;
use super::{filter, links};
use coarsen_multigrid::Grid;

/// The couplings of the fine matrix that spread the columns of P.
#[derive(Clone, Debug)]
pub struct Spreading {
    pattern: Arc<Pattern>,
    pub(super) of: Box<[bool]>,
}

impl Spreading {
    /// Returns the couplings of a pattern that spread P: a flag for each, or no flag if all do.
    pub fn new(pattern: &Arc<Pattern>, of: Vec<bool>) -> Self {
        Self { pattern: pattern.clone(), of: of.into() }
    }

    /// For each stored coupling, whether it spreads the columns of P; empty if all do.
    pub fn couplings(&self) -> &[bool] {
        &self.of
    }

    /// Becomes that of another pattern, whose new couplings spread.
    pub(super) fn move_to(&mut self, after: &Arc<Pattern>) {
        let before = std::mem::replace(&mut self.pattern, after.clone());
        if !self.of.is_empty() && !Arc::ptr_eq(&before, after) {
            let places = (0..after.rows()).flat_map(|i| after.row(i).iter().map(move |&j| (i, j as usize)));
            self.of = places.map(|(i, j)| before.find(i, j).is_none_or(|k| self.of[k])).collect();
        }
    }
}

/// The aggregates of a level, which are its coarse nodes.
pub(super) struct Aggregates {
    pub(super) decoupled: Decoupled,
    /// The aggregate of each node, `u32::MAX` for decoupled nodes.
    pub(super) of: Vec<u32>,
    pub(super) count: usize,
    pub(super) spreading: Vec<bool>,
}

impl Aggregates {
    /// Finds aggregates of the own nodes of `share`; `filtered` says whether the finer level was filtered, and is
    /// true on the finest level.
    pub(super) fn find<T: Real>(
        parameters: &SmoothedAggregation,
        fine: &Grid<'_, T>,
        filtered: bool,
        high_degree: &HighDegree,
        share: &Share<'_>,
    ) -> Result<Self, SetupError> {
        let pattern = fine.a.pattern();
        let found = Connection::find(parameters, fine, filtered, high_degree, share)?;
        let Connection { mut weights, mut decoupled, spreading } = found;
        if let Some(links) = fine.links {
            links::keep(links, pattern, &mut weights);
        }
        let mut strong = parameters.strength.strong_beside(pattern, &weights, high_degree.flags()); // 5
        share.cut(pattern, &mut weights, &mut strong, &mut decoupled.nodes);
        let couplings = Couplings { pattern, weights: &weights, strong: &strong, high_degree };
        let grown = |twice| aggregate(&couplings, &decoupled.nodes, twice); // 6
        let (of, count) = match parameters.spread {
            Spread::Second => grown(true),
            Spread::Neighbours => grown(false),
            Spread::Fitted => {
                let (of, count) = grown(false);
                let may_widen = scalars(fine.a) && parameters.omega > 0.0;
                let widen = may_widen && too_full(&couplings, &of, count, share);
                if widen { grown(true) } else { (of, count) }
            }
        };
        Ok(Self { decoupled, of, count, spreading })
    }

    /// Uses the sets of a smoother as aggregates. Each set must contain a node, because an empty set would
    /// give a zero column of P.
    pub(super) fn given<T: Real>(a: &Bsr<T>, sets: &[u32]) -> Result<Self, SetupError> {
        let numbered = || sets.iter().filter(|&&s| s != u32::MAX).map(|&s| s as usize);
        let count = numbered().max().map_or(0, |last| last + 1);
        // If there are more sets than nodes, one of the first sets is empty, so the list need not be longer.
        let mut taken = vec![false; count.min(sets.len() + 1)];
        numbered().for_each(|s| taken.get_mut(s).into_iter().for_each(|taken| *taken = true));
        if let Some(set) = taken.iter().position(|&taken| !taken) {
            return Err(SetupError::of_method(None, EmptySet { set, sets: count }));
        }
        let nodes = sets.iter().map(|&s| s == u32::MAX).collect();
        let decoupled = Decoupled { nodes, rows: decoupled::rows(a) };
        Ok(Self { decoupled, of: sets.to_vec(), count, spreading: Vec::new() })
    }
}

/// A set of nodes is empty, although a set with a larger number is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "set {set} of {sets} has no node, so that its coarse unknowns would have no equation; number sets 0, 1, 2, ... without gaps"
)]
pub struct EmptySet {
    /// The first number without a node.
    pub set: usize,
    /// One more than the largest number.
    pub sets: usize,
}

/// The connections between nodes.
struct Connection {
    /// The weight of each stored coupling.
    weights: Vec<f32>,
    decoupled: Decoupled,
    spreading: Vec<bool>,
}

impl Connection {
    /// Chooses a strategy, in this order: filtered; filtered, stiff; whole.
    fn find<T: Real>(
        parameters: &SmoothedAggregation,
        fine: &Grid<'_, T>,
        filtered: bool,
        high_degree: &HighDegree,
        share: &Share<'_>,
    ) -> Result<Self, SetupError> {
        let a = fine.a;
        let strength = || parameters.strength.weights(a, fine.largest.is_some());
        if parameters.filter && parameters.omega > 0.0 && filtered {
            let norms = filter::measure(fine.depth);
            let weights = if scalars(a) { strength()? } else { norms.weights(a, false)? };
            if let Some(strong) = filter::strong(fine, (norms, &weights), high_degree, share) {
                let filtered = Self::new(parameters, a, weights, strong);
                if scalars(a)
                    || !share.any(filtered.decoupled.coupled(a.pattern(), &filtered.weights, &share.own))
                {
                    return Ok(filtered);
                }
                return Ok(Self::new(parameters, a, strength()?, filtered.spreading));
            }
            if scalars(a) {
                return Ok(Self::new(parameters, a, weights, Vec::new()));
            }
        }
        Ok(Self::new(parameters, a, strength()?, Vec::new()))
    }

    fn new<T: Real>(
        parameters: &SmoothedAggregation,
        a: &Bsr<T>,
        weights: Vec<f32>,
        spreading: Vec<bool>,
    ) -> Self {
        let decoupled = Decoupled::find(a, &weights, parameters.dominance);
        Self { weights, decoupled, spreading }
    }
}

fn scalars<T: Real>(a: &Bsr<T>) -> bool {
    a.block() == (1, 1)
}
