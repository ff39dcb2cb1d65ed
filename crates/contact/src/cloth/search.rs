//! The search for the pairs of a surface, on one host or shared by ranks.

use super::narrow_phase::touches;
use super::sweep::first_impact;
use crate::{Aabb, BroadPhase, ContactError, Impact, Pair, Topology, Touch};

/// The three searches of [`ClothContact`](crate::ClothContact). [`BroadPhase`] makes them on one host.
///
/// Touches and impacts are functions of all pairs, to the last bit, whoever shares the work.
pub trait Search {
    /// Replaces `found` by the pairs whose boxes overlap and that `keep` accepts, sorted: all pairs, those with a `changed`
    /// node alone, or, over ranks, those of a share; the share of a search for changed nodes may differ from that of a search for
    /// all pairs. The box of a part contains those of its nodes, which `of` returns.
    ///
    /// # Errors
    /// [`ContactError::Box`] for a box that is not finite, [`ContactError::TooMany`], [`ContactError::Ranks`].
    fn pairs(
        &mut self,
        parts: &Topology,
        changed: Option<&[bool]>,
        of: &(impl Fn(u32) -> Aabb + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError>;

    /// Replaces `found` by the touches among the candidates of all shares, or those that a rank needs, sorted by
    /// pair; `of` returns that of a pair. `candidates` are those of the last search for pairs, or of an earlier one.
    ///
    /// # Errors
    /// [`ContactError::Ranks`].
    fn touches(
        &mut self,
        candidates: &[Pair],
        of: &(impl Fn(&Pair) -> Option<Touch> + Sync),
        found: &mut Vec<Touch>,
    ) -> Result<(), ContactError>;

    /// The first impact among the candidates of all shares before the time `last`; of equal times, that of the first
    /// pair. `time(pair, end)` is the time of the impact of a pair if it is before `end`, and does not depend on `end`
    /// otherwise.
    ///
    /// # Errors
    /// [`ContactError::Ranks`].
    fn first(
        &mut self,
        candidates: &[Pair],
        last: f64,
        time: &(impl Fn(&Pair, f64) -> Option<f64> + Sync),
    ) -> Result<Impact, ContactError>;

    /// Whether the touches are those of all shares. If ranks take only those at their nodes, energies are not known.
    fn is_complete(&self) -> bool {
        true
    }
}

impl Search for BroadPhase {
    fn pairs(
        &mut self,
        parts: &Topology,
        changed: Option<&[bool]>,
        of: &(impl Fn(u32) -> Aabb + Sync),
        keep: &(impl Fn(&Pair) -> bool + Sync),
        found: &mut Vec<Pair>,
    ) -> Result<(), ContactError> {
        match changed {
            None => self.find(parts, of, keep, found),
            Some(changed) => self.incremental.find(parts, changed, [0, 1], of, keep, found),
        }
    }

    fn touches(
        &mut self,
        candidates: &[Pair],
        of: &(impl Fn(&Pair) -> Option<Touch> + Sync),
        found: &mut Vec<Touch>,
    ) -> Result<(), ContactError> {
        touches(candidates, of, found);
        Ok(())
    }

    fn first(
        &mut self,
        candidates: &[Pair],
        last: f64,
        time: &(impl Fn(&Pair, f64) -> Option<f64> + Sync),
    ) -> Result<Impact, ContactError> {
        Ok(first_impact(candidates, last, time))
    }
}
