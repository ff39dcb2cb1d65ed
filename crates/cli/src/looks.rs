//! Seconds of what comes before a method: each step of looking at a system, in order.

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
    /// Does a step and notes its seconds.
    pub(crate) fn time<R>(&mut self, step: &'static str, f: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = f();
        self.note(step, begun.elapsed().as_secs_f64());
        result
    }

    /// Notes a step.
    pub(crate) fn note(&mut self, step: &'static str, seconds: f64) {
        self.0.push(Look { step, seconds });
    }

    /// Seconds of all.
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
}
