//! What the descents of a step did.

use coarsen::optimize::{DescentOutcome, DescentReport};

/// What was done in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Solved {
    pub(crate) converged: bool,
    /// Whether no step could be made.
    pub(crate) stuck: bool,
    pub(crate) finite: bool,
    /// Whether the limit on iterations ended the descent.
    pub(crate) limited: bool,
    pub(crate) outer: usize,
    pub(crate) inner: usize,
}

impl Solved {
    /// What is done after a further descent.
    pub(crate) fn then(self, report: &DescentReport<f64>) -> Self {
        let next = Self::from(report);
        Self { outer: self.outer + next.outer, inner: self.inner + next.inner, ..next }
    }
}

impl From<&DescentReport<f64>> for Solved {
    fn from(report: &DescentReport<f64>) -> Self {
        use DescentOutcome::{Converged, IterationLimit, LineSearchFailed, NoDirection, NotFinite};
        Self {
            converged: matches!(report.outcome, Converged(_)),
            stuck: matches!(report.outcome, LineSearchFailed(_) | NoDirection(_)),
            finite: report.outcome != NotFinite,
            limited: report.outcome == IterationLimit,
            outer: report.iterations,
            inner: report.inner,
        }
    }
}
