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
            (Some((before, _)), Some(limit)) if before > limit => {
                write!(f, ": {before} iterations, more than {limit}")
            }
            (Some((before, _)), Some(_)) if self.decided == Action::Build => {
                write!(f, ": {before} iterations, and keeping the preconditioner failed recently")
            }
            (Some((before, _)), Some(limit)) => write!(f, ": {before} iterations, within {limit}"),
            _ if self.first => write!(f, ": the first"),
            _ => write!(f, ": the previous solve was not reported"),
        }
    }
}

/// Keeps a preconditioner until the extra iterations cost more than a build, and records its decisions.
///
/// The reference is the number of iterations of the first solve after a build. Later solves add their excess
/// over this number to a sum of lost iterations. While the sum is at most `rebuild_cost`, the preconditioner is
/// kept, or patched if a few rows changed. Once the shares of rows that changed sum to more than a twentieth since the
/// last build, it is built, because a structure that was chosen without the new couplings takes many more iterations.
/// Above `rebuild_cost`, all values are updated. This schedule is the cheapest if the loss grows steadily from step to step. If a single solve loses more than `rebuild_cost`, keeping the
/// preconditioner does not pay. The next four decisions are then builds, and afterwards keeping is tried
/// again. Each further failure in a row doubles the number of builds, up to sixteen. So a run costs little
/// more than a run that builds in every step. Decisions depend on iteration counts, not on time, so they are
/// reproducible.
///
/// *Use* one policy for each preconditioner, in a loop of solves with a system that changes slowly. Nonlinear
/// methods have their own policy within one minimisation.
/// *Reference* Wu, Wang & Wang 2022, §5.3 and §6.3. They build the structure every ten steps and patch in
/// between; here the iteration counts decide.
///
/// ```
/// use coarsen::{Action, Outcome, RebuildPolicy};
/// let mut policy = RebuildPolicy::default();
/// policy.rebuild_cost = 10;
/// let mut decide = |touched, iterations| {
///     let action = policy.decide(if touched { 0.01 } else { 0.0 });
///     policy.learn(iterations, Outcome::Converged); // after the solve
///     action
/// };
/// assert_eq!(decide(false, 20), Action::Build);
/// assert_eq!(decide(true, 24), Action::Patch); // 4 are lost
/// assert_eq!(decide(false, 26), Action::Keep); // 10 are lost
/// assert_eq!(decide(true, 25), Action::Patch); // 15 are lost
/// assert_eq!(decide(true, 31), Action::Update); // 11 at once
/// assert_eq!(decide(true, 22), Action::Build);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RebuildPolicy {
    /// Extra cost of a build over a patch, in iterations: seconds of setup divided by seconds of an
    /// iteration. The default is 25; for cloth, smoothed aggregation needs 20 and multilevel Schwarz 33.
    pub rebuild_cost: usize,
    /// The reference: the number of iterations of the first solve after a build.
    mark: Option<usize>,
    /// The iterations above `mark`, summed since the last build or update.
    lost: usize,
    /// The shares of touched rows, summed since the last build.
    touched: f64,
    /// What the last decision took from `lost`, if it was a build or update, and from `touched`, if it was a build.
    dropped: (usize, f64),
    /// `waiting`: builds left before the preconditioner is kept again. `patience`: builds after the next
    /// failure.
    waiting: usize,
    patience: usize,
    /// The last decisions, at most twice [`KEPT`].
    log: Vec<Decision>,
    /// The number of decisions dropped from the log.
    forgotten: usize,
    /// The number of times each action was done, over the whole run.
    counts: [usize; 4],
}

/// The number of builds in a row after the first failure of keeping the preconditioner.
const PATIENCE: usize = 4;

/// The largest number of builds in a row after repeated failures.
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
            lost: 0,
            touched: 0.0,
            dropped: (0, 0.0),
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
        let limit = self.mark.map(|mark| mark.saturating_add(self.rebuild_cost.saturating_sub(self.lost)));
        self.touched += touched.max(0.0);
        let (action, many_touched) = match (last, before, self.mark) {
            (Some(last), Some((before, Outcome::Converged)), Some(mark)) => {
                self.judge(last.action, before.saturating_sub(mark), touched)
            }
            _ => (Action::Build, false),
        };
        self.dropped = match action {
            Action::Build => (mem::take(&mut self.lost), mem::take(&mut self.touched)),
            Action::Update => (mem::take(&mut self.lost), 0.0),
            Action::Patch | Action::Keep => (0, 0.0),
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
        let (lost, touched) = mem::take(&mut self.dropped);
        (self.lost, self.touched) = match done {
            Action::Build => (0, 0.0),
            Action::Update => (0, self.touched + touched),
            Action::Patch | Action::Keep => (self.lost + lost, self.touched + touched),
        };
    }

    /// The next decision, if the solve after action `last` took `lost` iterations more than the reference, and whether the touched
    /// rows are its reason.
    fn judge(&mut self, last: Action, lost: usize, touched: f64) -> (Action, bool) {
        self.lost = self.lost.saturating_add(lost);
        if last != Action::Build {
            if lost > self.rebuild_cost {
                self.waiting = self.patience;
                self.patience = (2 * self.patience).min(MOST);
            } else {
                self.patience = PATIENCE;
            }
        }
        if self.waiting > 0 {
            self.waiting -= 1;
            return (Action::Build, false);
        }
        let many_touched = self.touched > PATCHED;
        let action = match self.lost > self.rebuild_cost {
            _ if many_touched => Action::Build,
            true => Action::Update,
            false if touched > 0.0 => Action::Patch,
            false => Action::Keep,
        };
        (action, many_touched)
    }

    /// Records the iterations of the solve after the last decision, and how it ended. Iterations of a solve that did not
    /// converge do not measure the preconditioner, so they set no reference.
    pub fn learn(&mut self, iterations: usize, outcome: Outcome) {
        let Some(last) = self.log.last_mut() else { return };
        last.after = Some((iterations, outcome));
        if last.action == Action::Build && outcome == Outcome::Converged {
            self.mark = Some(iterations);
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
