//! Times of the analysis of a system before the solve, step by step.

use std::fmt;
use std::time::Instant;

use serde::Serialize;

/// A step and its seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Step {
    pub(crate) step: &'static str,
    pub(crate) seconds: f64,
}

/// The steps so far.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct AnalysisTimes(Vec<Step>);

impl AnalysisTimes {
    /// Runs a step and records its time.
    pub(crate) fn time<R>(&mut self, step: &'static str, f: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = f();
        self.note(step, begun.elapsed().as_secs_f64());
        result
    }

    /// Records the time of a step; repeated steps are summed.
    pub(crate) fn note(&mut self, step: &'static str, seconds: f64) {
        match self.0.iter_mut().find(|known| known.step == step) {
            Some(known) => known.seconds += seconds,
            None => self.0.push(Step { step, seconds }),
        }
    }

    /// The seconds of all steps.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.iter().map(|step| step.seconds).sum()
    }
}

impl fmt::Display for AnalysisTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.seconds())?;
        for (i, step) in self.0.iter().enumerate() {
            write!(f, "{} {} {:.3}", if i == 0 { ":" } else { "," }, step.step, step.seconds)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_listed_with_their_sum() {
        let mut times = AnalysisTimes::default();
        assert_eq!(times.time("block size", || 7), 7);
        times.note("ordering", 1.5);
        assert!((1.5..1.6).contains(&times.seconds()));
        let text = times.to_string();
        assert!(text.starts_with("1.50") && text.ends_with(": block size 0.000, ordering 1.500"), "{text}");
    }

    #[test]
    fn a_step_that_is_repeated_has_one_line() {
        let mut times = AnalysisTimes::default();
        times.note("ordering", 1.5);
        times.note("block size", 0.5);
        times.note("ordering", 2.0);
        let expected = [("ordering", 3.5), ("block size", 0.5)].map(|(step, seconds)| Step { step, seconds });
        assert_eq!(times.0, expected);
    }
}
