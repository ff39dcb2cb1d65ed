//! The progress of a run: a bar on a terminal, a line now and then elsewhere.

use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::Talk;
use crate::console::complain;

/// The number of steps of the bar for each factor of ten in the residual.
const DECADE: f64 = 100.0;

/// The current phase of a run, on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The name of the running method or step, which is the prefix of every message.
    of: RefCell<String>,
    lines: RefCell<Option<Lines>>,
}

impl Progress {
    /// A bar, or lines if standard error is not a terminal; nothing if quiet.
    pub(crate) fn new(talk: &Talk) -> Self {
        let target = if talk.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        let mut lines = None;
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        } else if !talk.quiet {
            lines = Some(Lines::begin(Duration::from_secs_f64(talk.progress)));
        }
        Self { bar, of: RefCell::new(String::new()), lines: RefCell::new(lines) }
    }

    /// Sets the method or step that later messages name: number `at` of `all`.
    pub(crate) fn method(&self, label: &str, (at, all): (usize, usize)) {
        *self.of.borrow_mut() = format!("{label} ({at} of {all}): ");
    }

    /// Starts a phase.
    pub(crate) fn phase(&self, what: &str) {
        let message = format!("{}{what}", self.of.borrow());
        if let Some(lines) = &*self.lines.borrow() {
            lines.message.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&message);
        }
        self.bar.set_message(message);
    }

    /// The current message.
    #[cfg(test)]
    fn message(&self) -> String {
        self.bar.message()
    }

    /// Starts the iterations. From then on the bar shows by how many decades the residual has fallen.
    pub(crate) fn iterations(&self, tolerance: f64) {
        let style = ProgressStyle::with_template("{msg} [{bar:40}] {elapsed}");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        self.bar.set_length((-tolerance.max(f64::EPSILON).log10() * DECADE).max(1.0) as u64);
    }

    /// Shows a residual.
    pub(crate) fn update(&self, iteration: usize, relative: f64) {
        if !self.bar.is_hidden() || self.lines.borrow().is_some() {
            self.bar.set_position((-relative.log10() * DECADE).max(0.0) as u64);
            self.phase(&format!("iteration {iteration}, residual {relative:.1e}"));
        }
    }

    /// Removes the bar from the terminal, and ends the lines.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
        self.lines.borrow_mut().take();
    }
}

/// A thread that prints the current message at intervals, until it is dropped.
struct Lines {
    message: Arc<Mutex<String>>,
    end: Option<Sender<()>>,
    printer: Option<JoinHandle<()>>,
}

impl Lines {
    fn begin(every: Duration) -> Self {
        let message = Arc::new(Mutex::new(String::new()));
        let (end, ended) = channel();
        let (begun, current) = (Instant::now(), message.clone());
        let print = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let message = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
                complain(&format!("{:.1} s: {message}\n", begun.elapsed().as_secs_f64()));
            }
        };
        Self { message, end: Some(end), printer: std::thread::Builder::new().spawn(print).ok() }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.end.take();
        // A printer that panicked has nothing to tell.
        let _ = self.printer.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_that_runs_is_named() {
        let progress = Progress::new(&Talk { progress: 10.0, quiet: true });
        progress.phase("looking");
        assert_eq!(progress.message(), "looking");
        progress.method("cg + sa", (2, 5));
        progress.phase("setting up");
        assert_eq!(progress.message(), "cg + sa (2 of 5): setting up");
    }
}
