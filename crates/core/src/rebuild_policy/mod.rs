//! When a preconditioner follows its system, and how far.

use std::fmt;

/// What to do with a preconditioner before a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Build it anew: structure and numbers.
    Build,
    /// Compute all numbers anew on the structure there is.
    Update,
    /// Compute anew what local changes touch.
    Patch,
    /// Leave it as it is.
    Keep,
}

impl Action {
    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Keep => "keep",
        }
    }
}

/// What was decided before a solve, on what grounds, and how it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was to be done.
    pub action: Action,
    /// Whether nothing was decided before.
    pub first: bool,
    /// Iterations of the solve before it, where they are known.
    pub before: Option<usize>,
    /// Iterations above which a preconditioner counted as stale.
    pub limit: Option<usize>,
    /// Iterations of the solve after it, once they are known.
    pub iterations: Option<usize>,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.action.name())?;
        match (self.before, self.limit) {
            (Some(before), Some(limit)) if before > limit => {
                write!(f, ": {before} iterations, more than {limit}")
            }
            (Some(before), Some(_)) if self.action == Action::Build => {
                write!(f, ": {before} iterations, and keeping failed not long ago")
            }
            (Some(before), Some(limit)) => write!(f, ": {before} iterations, within {limit}"),
            _ if self.first => write!(f, ": the first"),
            _ => write!(f, ": the solve before gave no count"),
        }
    }
}

/// Keeps a preconditioner until the iterations lost by keeping it are worth a build, and remembers what it decided.
///
/// A build sets the mark: the iterations of the first solve after it. What later solves need above the mark is lost, and adds up; while
/// it stays within `price`, the preconditioner is kept, or patched where rows changed. Beyond, all numbers are computed anew. Where losses grow
/// steadily from step to step, this is the cheapest rhythm. A single solve that loses more than the price says that nothing can be kept: what follows is
/// built, four times at first and twice as often after every such failure, up to sixteen, before keeping is tried again. So a run is never much
/// dearer than one that builds in every step. Iterations alone decide, no clock: the same run takes the same decisions.
///
/// *Use* one for each preconditioner, whatever the method, in a loop of solves with a system that drifts. Nonlinear drivers have a policy of their own for what
/// happens inside one minimisation.
/// *Reference* Wu, Wang & Wang 2022, §5.3 and §6.3 build the structure every ten steps and patch in between; here the solves say when.
///
/// ```
/// use coarsen_core::{Action, RebuildPolicy};
/// let mut policy = RebuildPolicy::default();
/// policy.price = 10;
/// let mut decide = |touched, iterations| {
///     let action = policy.decide(touched);
///     policy.learn(iterations); // after the solve
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
    /// What a build costs more than a patch, in iterations: seconds of setup by seconds of an iteration. 25 by default, which is what smoothed aggregation and
    /// multilevel Schwarz take on cloth (20 and 33).
    pub price: usize,
    /// Iterations of the first solve after a build.
    mark: Option<usize>,
    /// Iterations above the mark since the last build or update.
    lost: usize,
    /// Builds to come before anything is kept again, and how many there will be after the next failure.
    waiting: usize,
    patience: usize,
    /// The last decisions, [`RebuildPolicy::KEPT`] to twice as many.
    log: Vec<Decision>,
    /// Those no longer in the log, and how often each action is among all.
    forgotten: usize,
    counts: [usize; 4],
}

/// Builds in a row after keeping has failed: at first, and at most.
const PATIENCE: usize = 4;
const MOST: usize = 16;

impl Default for RebuildPolicy {
    fn default() -> Self {
        Self {
            price: 25,
            mark: None,
            lost: 0,
            waiting: 0,
            patience: PATIENCE,
            log: Vec::new(),
            forgotten: 0,
            counts: [0; 4],
        }
    }
}

impl RebuildPolicy {
    /// Decisions that the log holds at least, where there have been as many; it never holds more than twice as many.
    pub const KEPT: usize = 256;

    /// What to do before the next solve; `touched` says whether some rows changed more than the rest drifts.
    ///
    /// A decision whose solve nobody told about counts as a build that failed: the next one is a build.
    pub fn decide(&mut self, touched: bool) -> Action {
        let last = self.log.last().copied();
        let before = last.and_then(|last| last.iterations);
        let limit = self.mark.map(|mark| mark.saturating_add(self.price.saturating_sub(self.lost)));
        let action = match (last, before, self.mark) {
            (Some(last), Some(before), Some(mark)) => {
                self.judge(last.action, before.saturating_sub(mark), touched)
            }
            _ => Action::Build,
        };
        if matches!(action, Action::Build | Action::Update) {
            self.lost = 0;
        }
        if self.log.len() == 2 * Self::KEPT {
            self.log.drain(..Self::KEPT);
            self.forgotten += Self::KEPT;
        }
        self.counts[action as usize] += 1;
        self.log.push(Decision { action, first: last.is_none(), before, limit, iterations: None });
        action
    }

    /// The decision after an action that lost so many iterations.
    fn judge(&mut self, last: Action, lost: usize, touched: bool) -> Action {
        self.lost = self.lost.saturating_add(lost);
        if last != Action::Build {
            if lost > self.price {
                self.waiting = self.patience;
                self.patience = (2 * self.patience).min(MOST);
            } else {
                self.patience = PATIENCE;
            }
        }
        if self.waiting > 0 {
            self.waiting -= 1;
            return Action::Build;
        }
        match self.lost > self.price {
            true => Action::Update,
            false if touched => Action::Patch,
            false => Action::Keep,
        }
    }

    /// How many iterations the solve after the last decision took. *Use* where it converged: a solve that failed says nothing of what the preconditioner
    /// is worth, and untold it makes the next decision a build.
    pub fn learn(&mut self, iterations: usize) {
        let Some(last) = self.log.last_mut() else { return };
        last.iterations = Some(iterations);
        if last.action == Action::Build {
            self.mark = Some(iterations);
        }
    }

    /// The last decisions in their order: all of them up to twice [`KEPT`](Self::KEPT), then at least `KEPT`, so that a run of any length takes the same memory.
    pub fn log(&self) -> &[Decision] {
        &self.log
    }

    /// How often an action was decided, over the whole run.
    pub fn count(&self, action: Action) -> usize {
        self.counts[action as usize]
    }
}

impl fmt::Display for RebuildPolicy {
    /// One line a decision of the log, numbered from the first of the run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbered = (self.forgotten..).zip(&self.log);
        numbered.try_for_each(|(k, decision)| writeln!(f, "{k:>4}  {decision}"))
    }
}

#[cfg(test)]
mod tests;
