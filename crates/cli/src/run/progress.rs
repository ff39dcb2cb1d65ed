//! Bars on a terminal; silence elsewhere.

use std::cell::RefCell;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar for a decade of the residual.
const DECADE: f64 = 100.0;

/// What a run is busy with, on the standard error where that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// What stands before every message: which of several methods runs.
    of: RefCell<String>,
}

impl Progress {
    /// A bar that shows nothing when `quiet`, or where nobody looks.
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { bar, of: RefCell::new(String::new()) }
    }

    /// All that follows belongs to one of several methods, until another one is named.
    pub(crate) fn method(&self, label: &str) {
        *self.of.borrow_mut() = format!("{label}: ");
    }

    fn tell(&self, what: &str) {
        self.bar.set_message(format!("{}{what}", self.of.borrow()));
    }

    /// What is shown.
    #[cfg(test)]
    fn message(&self) -> String {
        self.bar.message()
    }

    /// The part of the work that begins.
    pub(crate) fn phase(&self, what: &'static str) {
        self.tell(what);
    }

    /// Iterations begin: from here on the bar grows with the decades that the residual has fallen.
    pub(crate) fn iterations(&self, tolerance: f64) {
        let style = ProgressStyle::with_template("{msg} [{bar:40}] {elapsed}");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        self.bar.set_length((-tolerance.max(f64::EPSILON).log10() * DECADE).max(1.0) as u64);
    }

    /// One look at the residual.
    pub(crate) fn look(&self, iteration: usize, relative: f64) {
        if !self.bar.is_hidden() {
            self.bar.set_position((-relative.log10() * DECADE).max(0.0) as u64);
            self.tell(&format!("iteration {iteration}, residual {relative:.1e}"));
        }
    }

    /// Leaves no trace on the terminal.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_that_runs_is_named() {
        let progress = Progress::new(true);
        progress.phase("looking");
        assert_eq!(progress.message(), "looking");
        progress.method("cg + sa");
        progress.phase("setting up");
        assert_eq!(progress.message(), "cg + sa: setting up");
    }
}
