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
    /// Iterations of the solve before it, where there was one.
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
            (Some(before), Some(limit)) => write!(f, ": {before} iterations, within {limit}"),
            _ => write!(f, ": the first"),
        }
    }
}

/// Keeps a preconditioner until iterations grow by a quarter, and remembers what it decided.
///
/// A build sets the mark: the iterations of the first solve after it. As long as solves need at most `growth` times as many, the preconditioner
/// is kept, or patched where rows changed; when one needs more, all numbers are computed anew, and when the solve after that still needs
/// more, the structure as well. Iterations alone decide, no clock: the same run takes the same decisions.
///
/// *Use* one for each preconditioner, whatever the method, in a loop of solves with a system that drifts. Nonlinear drivers have a policy of their own for what
/// happens inside one minimisation.
/// *Reference* Wu, Wang & Wang 2022, §5.3 and §6.3 build the structure every ten steps and patch in between; here the solves say when.
///
/// ```
/// use coarsen_core::{Action, Upkeep};
/// let mut upkeep = Upkeep::default();
/// let mut decide = |touched, iterations| {
///     let action = upkeep.decide(touched);
///     upkeep.learn(iterations); // after the solve
///     action
/// };
/// assert_eq!(decide(false, 20), Action::Build);
/// assert_eq!(decide(true, 25), Action::Patch);
/// assert_eq!(decide(false, 26), Action::Keep);
/// assert_eq!(decide(true, 30), Action::Update); // 26 are more than a quarter above 20
/// assert_eq!(decide(true, 22), Action::Build); // the update did not help
/// assert_eq!(decide(true, 27), Action::Patch);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Upkeep {
    /// How many times the iterations after a build are too many; 1.25 by default, at least 1.
    pub growth: f64,
    /// Iterations of the first solve after a build.
    mark: Option<usize>,
    log: Vec<Decision>,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self { growth: 1.25, mark: None, log: Vec::new() }
    }
}

impl Upkeep {
    /// What to do before the next solve; `touched` says whether some rows changed more than the rest drifts.
    ///
    /// A decision whose solve nobody told about counts as a build that failed: the next one is a build.
    pub fn decide(&mut self, touched: bool) -> Action {
        let last = self.log.last().copied();
        let before = last.and_then(|last| last.iterations);
        let limit = self.mark.map(|mark| (mark as f64 * self.growth.max(1.0)) as usize);
        let action =
            match (last, before, limit) {
                (Some(last), Some(before), Some(limit)) if before > limit => {
                    if last.action == Action::Update { Action::Build } else { Action::Update }
                }
                (Some(_), Some(_), Some(_)) if touched => Action::Patch,
                (Some(_), Some(_), Some(_)) => Action::Keep,
                _ => Action::Build,
            };
        self.log.push(Decision { action, before, limit, iterations: None });
        action
    }

    /// How many iterations the solve after the last decision took.
    pub fn learn(&mut self, iterations: usize) {
        let Some(last) = self.log.last_mut() else { return };
        last.iterations = Some(iterations);
        if last.action == Action::Build {
            self.mark = Some(iterations);
        }
    }

    /// All decisions, in their order.
    pub fn log(&self) -> &[Decision] {
        &self.log
    }

    /// How often an action was decided.
    pub fn count(&self, action: Action) -> usize {
        self.log.iter().filter(|decision| decision.action == action).count()
    }
}

impl fmt::Display for Upkeep {
    /// One line a decision.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.iter().enumerate().try_for_each(|(k, decision)| writeln!(f, "{k:>4}  {decision}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The actions for iterations that follow one by one.
    fn actions(iterations: &[usize]) -> (Vec<Action>, Upkeep) {
        let mut upkeep = Upkeep::default();
        let decide = |&its: &usize| {
            let action = upkeep.decide(true);
            upkeep.learn(its);
            action
        };
        (iterations.iter().map(decide).collect(), upkeep)
    }

    #[test]
    fn a_quarter_more_is_kept_and_one_above_is_not() {
        use Action::{Build, Patch, Update};
        assert_eq!(actions(&[100, 125, 125, 126, 110, 0]).0, [Build, Patch, Patch, Patch, Update, Patch]);
    }

    /// A system that becomes harder: a build sets a new mark, so that it is not built in vain for ever.
    #[test]
    fn a_harder_system_moves_the_mark() {
        use Action::{Build, Patch, Update};
        let (actions, upkeep) = actions(&[10, 40, 40, 40, 40, 40]);
        assert_eq!(actions, [Build, Patch, Update, Build, Patch, Patch]);
        assert_eq!([Build, Patch, Update].map(|a| upkeep.count(a)), [2, 3, 1]);
        let text = upkeep.to_string();
        assert!(text.contains("update: 40 iterations, more than 12"), "{text}");
        assert!(text.contains("patch: 40 iterations, within 50"), "{text}");
    }

    #[test]
    fn a_solve_that_nobody_tells_about_counts_as_failed() {
        let mut upkeep = Upkeep::default();
        upkeep.learn(3);
        assert!(upkeep.log().is_empty());
        assert_eq!([upkeep.decide(true), upkeep.decide(true)], [Action::Build; 2]);
    }
}
