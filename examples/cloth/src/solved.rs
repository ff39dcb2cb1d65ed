//! What the descents of a step did.

use coarsen::optimize::{DescentOutcome, DescentReport};

/// What was done in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Solved {
    pub(crate) converged: bool,
    /// Whether no step could be made.
    pub(crate) stuck: bool,
    pub(crate) finite: bool,
    pub(crate) outer: usize,
    pub(crate) inner: usize,
}

impl Solved {
    /// What is done after a further descent.
    pub(crate) fn then(self, report: &DescentReport<f64>) -> Self {
        let next = Self::from(report);
        Self { outer: self.outer + next.outer, inner: self.inner + next.inner, ..next }
    }

    /// Whether a descent ended for its limit on iterations.
    pub(crate) fn goes_on(&self) -> bool {
        !self.converged && !self.stuck && self.finite
    }
}

impl From<&DescentReport<f64>> for Solved {
    fn from(report: &DescentReport<f64>) -> Self {
        use DescentOutcome::{Converged, LineSearchFailed, NoDirection, NotFinite};
        Self {
            converged: matches!(report.outcome, Converged(_)),
            stuck: matches!(report.outcome, LineSearchFailed(_) | NoDirection(_)),
            finite: report.outcome != NotFinite,
            outer: report.iterations,
            inner: report.inner,
        }
    }
}
