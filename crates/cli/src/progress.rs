//! Bars on a terminal; silence elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar for a decade of the residual.
const DECADE: f64 = 100.0;

/// What a run is busy with, on the standard error where that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar that shows nothing when `quiet`, or where nobody looks.
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { bar }
    }

    /// The part of the work that begins.
    pub(crate) fn phase(&self, what: &'static str) {
        self.bar.set_message(what);
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
            self.bar.set_message(format!("iteration {iteration}, residual {relative:.1e}"));
        }
    }

    /// Leaves no trace on the terminal.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
