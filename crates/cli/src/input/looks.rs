//! Times of the analysis of a system before the solve, step by step.

use std::fmt;
use std::time::Instant;

use serde::Serialize;

/// A step and its seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Look {
    pub(crate) step: &'static str,
    pub(crate) seconds: f64,
}

/// The steps so far.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Looks(Vec<Look>);

impl Looks {
    /// Runs a step and records its time.
    pub(crate) fn time<R>(&mut self, step: &'static str, f: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = f();
        self.note(step, begun.elapsed().as_secs_f64());
        result
    }

    /// Records the time of a step; repeated steps are summed.
    pub(crate) fn note(&mut self, step: &'static str, seconds: f64) {
        match self.0.iter_mut().find(|look| look.step == step) {
            Some(look) => look.seconds += seconds,
            None => self.0.push(Look { step, seconds }),
        }
    }

    /// The seconds of all steps.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.iter().map(|look| look.seconds).sum()
    }
}

impl fmt::Display for Looks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.seconds())?;
        for (i, look) in self.0.iter().enumerate() {
            write!(f, "{} {} {:.3}", if i == 0 { ":" } else { "," }, look.step, look.seconds)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_listed_with_their_sum() {
        let mut looks = Looks::default();
        assert_eq!(looks.time("block size", || 7), 7);
        looks.note("ordering", 1.5);
        assert!((1.5..1.6).contains(&looks.seconds()));
        let text = looks.to_string();
        assert!(text.starts_with("1.50") && text.ends_with(": block size 0.000, ordering 1.500"), "{text}");
    }

    #[test]
    fn a_step_that_is_repeated_has_one_line() {
        let mut looks = Looks::default();
        looks.note("ordering", 1.5);
        looks.note("block size", 0.5);
        looks.note("ordering", 2.0);
        let expected = [("ordering", 3.5), ("block size", 0.5)].map(|(step, seconds)| Look { step, seconds });
        assert_eq!(looks.0, expected);
    }
}
