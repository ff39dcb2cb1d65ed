//! When to rebuild, update, patch or keep the preconditioner of a system that changes.

use std::{fmt, mem};

use coarsen_core::Outcome;

/// The treatment of a preconditioner before a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Build the structure and the values again.
    Build,
    /// Recompute all values; keep the structure.
    Update,
    /// Recompute only the values affected by local changes.
    Patch,
    /// Keep it unchanged.
    Keep,
}

impl Action {
    /// The name of the action in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Keep => "keep",
        }
    }
}

/// A decision before a solve, its reasons, and how the solve after it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The chosen action, or the one that [`RebuildPolicy::overrule`] put in its place.
    pub action: Action,
    /// The action that the policy chose.
    pub decided: Action,
    /// Whether this is the first decision of the run.
    pub first: bool,
    /// Whether it was a build because many rows changed since the last one.
    pub many_touched: bool,
    /// The number of iterations of the previous solve and how it ended, if known.
    pub before: Option<(usize, Outcome)>,
    /// The number of iterations of the previous solve above which the preconditioner counts as stale.
    pub limit: Option<usize>,
    /// The number of iterations of the solve after the decision and how it ended, once known.
    pub after: Option<(usize, Outcome)>,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.action.name())?;
        if self.action != self.decided {
            write!(f, " in place of {}", self.decided.name())?;
        }
        match (self.before, self.limit) {
            _ if self.many_touched => {
                write!(f, ": more than {:.0} % of the rows changed since the last build", 100.0 * PATCHED)
            }
            (Some((before, outcome)), _) if outcome != Outcome::Converged => {
                write!(f, ": the previous solve ended after {before} iterations: {outcome}")
            }
            (Some((before, _)), Some(_)) if self.decided == Action::Build => {
                write!(f, ": {before} iterations, and after updates as many were lost as a build costs")
            }
            (Some((before, _)), Some(limit)) if before > limit => {
                write!(f, ": {before} iterations, more than {limit}")
            }
            (Some((before, _)), Some(_)) if self.decided == Action::Update => {
                write!(f, ": {before} iterations, and keeping the preconditioner failed recently")
            }
            (Some((before, _)), Some(limit)) => write!(f, ": {before} iterations, within {limit}"),
            _ if self.first => write!(f, ": the first"),
            _ => write!(f, ": the previous solve was not reported"),
        }
    }
}

/// Keeps a preconditioner until the extra iterations cost more than an update, updates it until they cost more than a build,
/// and records its decisions.
///
/// The reference is the number of iterations of the first solve after a build or update. Later solves add their excess
/// over this number to a sum of lost iterations. While the sum is at most the cost of an update, a third of `rebuild_cost`, the
/// preconditioner is kept, or patched if a few rows changed. Above it, all values are updated. This schedule is the cheapest if
/// the loss grows steadily from step to step. If a single solve loses more than an update costs, keeping the
/// preconditioner does not pay. The next four decisions are then updates, and afterwards keeping is tried
/// again. Each further failure in a row doubles the number of updates, up to sixteen.
///
/// A structure that was chosen for old values loses iterations after updates too. The excess of references over the reference
/// of the last build is summed over all solves. Above `rebuild_cost` the decision is a build; also once the shares of rows that
/// changed sum to more than a twentieth since the last build, because a structure that was chosen without the new couplings
/// takes many more iterations. Decisions depend on iteration counts, not on time, so they are reproducible.
///
/// *Use* one policy for each preconditioner, in a loop of solves with a system that changes slowly. Nonlinear
/// methods have their own policy within one minimisation.
/// *Reference* Wu, Wang & Wang 2022, §5.3 and §6.3. They build the structure every ten steps and patch in
/// between; here the iteration counts decide.
///
/// ```
/// use coarsen::{Action, Outcome, RebuildPolicy};
/// let mut policy = RebuildPolicy::default();
/// policy.rebuild_cost = 30;
/// let mut decide = |touched, iterations| {
///     let action = policy.decide(if touched { 0.01 } else { 0.0 });
///     policy.learn(iterations, Outcome::Converged); // after the solve
///     action
/// };
/// assert_eq!(decide(false, 20), Action::Build);
/// assert_eq!(decide(true, 24), Action::Patch); // 4 are lost
/// assert_eq!(decide(false, 26), Action::Keep); // 10 are lost
/// assert_eq!(decide(true, 25), Action::Patch); // 15 are lost
/// assert_eq!(decide(true, 31), Action::Update); // the reference is 31 now, 11 more than after the build
/// assert_eq!(decide(true, 31), Action::Patch);
/// assert_eq!(decide(true, 31), Action::Patch);
/// assert_eq!(decide(true, 22), Action::Build); // 33 are lost
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RebuildPolicy {
    /// Extra cost of a build over a patch, in iterations: seconds of setup divided by seconds of an
    /// iteration. A third of it is the cost of an update. The default is 25; for cloth, smoothed aggregation needs 20 and
    /// multilevel Schwarz 33.
    pub rebuild_cost: usize,
    /// The number of iterations of the first solve after the last build.
    mark: Option<usize>,
    /// The reference: that of the first solve after the last build or update.
    reference: usize,
    /// What is lost since the last build or update.
    lost: Lost,
    /// What the last decision took from it.
    dropped: Lost,
    /// `waiting`: updates, or builds in their place, left before the preconditioner is kept again. `patience`: those after
    /// the next failure.
    waiting: usize,
    patience: usize,
    /// The last decisions, at most twice [`KEPT`].
    log: Vec<Decision>,
    /// The number of decisions dropped from the log.
    forgotten: usize,
    /// The number of times each action was done, over the whole run.
    counts: [usize; 4],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Lost {
    /// The iterations above the reference, since the last build or update.
    kept: usize,
    /// Those of references above the mark, over all solves since the last build.
    updated: usize,
    /// The shares of touched rows, since the last build.
    touched: f64,
}

/// The cost of a build in updates. Measured: updates of smoothed aggregation take 0.2 to 0.35 of a build, of multilevel
/// Schwarz 0.45.
const UPDATES: usize = 3;

/// The number of updates in a row after the first failure of keeping the preconditioner.
const PATIENCE: usize = 4;

/// The largest number of updates in a row after repeated failures.
const MOST: usize = 16;

/// The largest sum of shares of rows that are patched between two builds. Measured: 9 % in one step take 1471
/// iterations instead of 837 on `stack:20`, 6 % take 158 instead of 122 on `cloth-contact:60`.
const PATCHED: f64 = 0.05;

/// The log keeps at least this many of the last decisions, and at most twice as many.
const KEPT: usize = 256;

impl Default for RebuildPolicy {
    fn default() -> Self {
        Self {
            rebuild_cost: 25,
            mark: None,
            reference: 0,
            lost: Lost::default(),
            dropped: Lost::default(),
            waiting: 0,
            patience: PATIENCE,
            log: Vec::new(),
            forgotten: 0,
            counts: [0; 4],
        }
    }
}

impl RebuildPolicy {
    /// Decides before the next solve. `touched` is the share, from 0 to 1, of the rows that changed more than the others, as by
    /// contact or constraints that came or went; NaN counts as 0.
    ///
    /// After a solve that did not converge, or of which [`learn`](Self::learn) was not told, the decision is a build.
    pub fn decide(&mut self, touched: f64) -> Action {
        let last = self.log.last().copied();
        let before = last.and_then(|last| last.after);
        let spare = self.update_cost().saturating_sub(self.lost.kept);
        let limit = self.mark.map(|_| self.reference.saturating_add(spare));
        self.lost.touched += touched.max(0.0);
        let (action, many_touched) = match (last, before, self.mark) {
            (Some(last), Some((before, Outcome::Converged)), Some(mark)) => {
                self.judge(last.action, before, mark, touched)
            }
            _ => (Action::Build, false),
        };
        self.dropped = match action {
            Action::Build => mem::take(&mut self.lost),
            Action::Update => Lost { kept: mem::take(&mut self.lost.kept), ..Lost::default() },
            Action::Patch | Action::Keep => Lost::default(),
        };
        if self.log.len() == 2 * KEPT {
            self.log.drain(..KEPT);
            self.forgotten += KEPT;
        }
        self.counts[action as usize] += 1;
        let (decided, first) = (action, last.is_none());
        self.log.push(Decision { action, decided, first, many_touched, before, limit, after: None });
        action
    }

    /// Tells that `done` was done in place of the last decision, for example a build because the matrix has another
    /// pattern. After a build, the next solve is the new reference. Nothing happens before the first decision.
    pub fn overrule(&mut self, done: Action) {
        let Some(last) = self.log.last_mut() else { return };
        self.counts[last.action as usize] -= 1;
        self.counts[done as usize] += 1;
        last.action = done;
        let dropped = mem::take(&mut self.dropped);
        let lost = &mut self.lost;
        if done == Action::Build {
            return *lost = Lost::default();
        }
        lost.updated = lost.updated.saturating_add(dropped.updated);
        lost.touched += dropped.touched;
        lost.kept = if done == Action::Update { 0 } else { lost.kept.saturating_add(dropped.kept) };
    }

    /// The cost of an update in iterations.
    fn update_cost(&self) -> usize {
        match self.rebuild_cost {
            usize::MAX => usize::MAX,
            cost => cost.div_ceil(UPDATES),
        }
    }

    /// The next decision, if the solve after action `last` took `before` iterations, and whether the touched rows are its
    /// reason.
    fn judge(&mut self, last: Action, before: usize, mark: usize, touched: f64) -> (Action, bool) {
        let (cost, lost) = (self.update_cost(), before.saturating_sub(self.reference));
        let structure = self.reference.saturating_sub(mark);
        self.lost.kept = self.lost.kept.saturating_add(lost);
        self.lost.updated = self.lost.updated.saturating_add(structure);
        if matches!(last, Action::Keep | Action::Patch) {
            if lost > cost {
                self.waiting = self.patience;
                self.patience = (2 * self.patience).min(MOST);
            } else {
                self.patience = PATIENCE;
            }
        }
        let is_waiting = self.waiting > 0;
        self.waiting = self.waiting.saturating_sub(1);
        let many_touched = self.lost.touched > PATCHED;
        if many_touched || self.lost.updated > self.rebuild_cost {
            return (Action::Build, many_touched);
        }
        let action = match is_waiting || self.lost.kept > cost {
            true => Action::Update,
            false if touched > 0.0 => Action::Patch,
            false => Action::Keep,
        };
        (action, false)
    }

    /// Records the iterations of the solve after the last decision, and how it ended. Iterations of a solve that did not
    /// converge do not measure the preconditioner, so they set no reference.
    pub fn learn(&mut self, iterations: usize, outcome: Outcome) {
        let Some(last) = self.log.last_mut() else { return };
        last.after = Some((iterations, outcome));
        if outcome != Outcome::Converged {
            return;
        }
        if last.action == Action::Build {
            self.mark = Some(iterations);
        }
        if matches!(last.action, Action::Build | Action::Update) {
            self.reference = iterations;
        }
    }

    /// The last decisions in order: up to 512 all of them, later at least 256. So memory stays bounded.
    pub fn log(&self) -> &[Decision] {
        &self.log
    }

    /// The number of times an action was done, over the whole run.
    pub fn count(&self, action: Action) -> usize {
        self.counts[action as usize]
    }
}

impl fmt::Display for RebuildPolicy {
    /// One line per decision of the log, numbered from the first decision of the run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbered = (self.forgotten..).zip(&self.log);
        numbered.try_for_each(|(k, decision)| writeln!(f, "{k:>4}  {decision}"))
    }
}

#[cfg(test)]
mod tests;
