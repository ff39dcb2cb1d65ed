//! Progress bars on a terminal; no output elsewhere.

use std::cell::RefCell;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The number of steps of the bar for each factor of ten in the residual.
const DECADE: f64 = 100.0;

/// The current phase of a run, on standard error if it is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The name of the running method, which is the prefix of every message.
    of: RefCell<String>,
}

impl Progress {
    /// A bar; invisible if `quiet` or if standard error is not a terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { bar, of: RefCell::new(String::new()) }
    }

    /// Sets the method that later messages name.
    pub(crate) fn method(&self, label: &str) {
        *self.of.borrow_mut() = format!("{label}: ");
    }

    fn tell(&self, what: &str) {
        self.bar.set_message(format!("{}{what}", self.of.borrow()));
    }

    /// The current message.
    #[cfg(test)]
    fn message(&self) -> String {
        self.bar.message()
    }

    /// Starts a phase.
    pub(crate) fn phase(&self, what: &'static str) {
        self.tell(what);
    }

    /// Starts the iterations. From then on the bar shows by how many decades the residual has fallen.
    pub(crate) fn iterations(&self, tolerance: f64) {
        let style = ProgressStyle::with_template("{msg} [{bar:40}] {elapsed}");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        self.bar.set_length((-tolerance.max(f64::EPSILON).log10() * DECADE).max(1.0) as u64);
    }

    /// Shows a residual.
    pub(crate) fn update(&self, iteration: usize, relative: f64) {
        if !self.bar.is_hidden() {
            self.bar.set_position((-relative.log10() * DECADE).max(0.0) as u64);
            self.tell(&format!("iteration {iteration}, residual {relative:.1e}"));
        }
    }

    /// Removes the bar from the terminal.
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
