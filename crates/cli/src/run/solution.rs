//! The result of a method for a job.

use std::fmt;

use coarsen::auto::{Floor, attainable, is_floor};
use coarsen::sparse::Bsr;
use coarsen::{LinearOperator, Outcome};
use serde::Serialize;

use super::ending::Ending;
use super::job::{Grids, Job};
use crate::arguments::{Method, Precision, Precond};
use crate::console::count;
use crate::input::looks::Mark;

/// An attempt that was followed by another attempt.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Try {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    pub(crate) precision: Precision,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    pub(crate) iterations: usize,
}

impl Try {
    pub(crate) fn seconds(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

impl fmt::Display for Try {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setup_seconds, solve_seconds, iterations, .. } = self;
        let done = count(*iterations, "iteration");
        write!(f, "{setup_seconds:.3} s of setup, {solve_seconds:.3} s, {done}")
    }
}

/// The result of a method for a job.
pub(crate) struct Solution {
    pub(crate) method: Method,
    pub(crate) backend: &'static str,
    pub(crate) precond: Precond,
    /// The precision of the solve, never `auto`.
    pub(crate) precision: Precision,
    pub(crate) x: Vec<f64>,
    pub(crate) ending: Ending,
    /// ‖b − A x‖ / ‖b‖ of x in `f64`, with A as it was read.
    pub(crate) residual: f64,
    pub(crate) iterations: usize,
    /// The relative residuals that the method computed, beginning with the starting guess.
    pub(crate) history: Vec<f64>,
    /// The times of these residuals, in seconds since the start of the setup.
    pub(crate) times: Vec<f64>,
    pub(crate) grids: Option<Grids>,
    pub(crate) condition: Option<f64>,
    /// Whether a Cholesky factorisation failed.
    pub(crate) refactored: bool,
    /// The attempts before this attempt, from whose best x it started.
    pub(crate) tries: Vec<Try>,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    /// Remarks for the report.
    pub(crate) notes: Vec<String>,
    since: Mark,
}

impl Solution {
    /// The starting guess, before the setup.
    pub(crate) fn new(job: &Job<'_>, backend: &'static str) -> Self {
        let x = job.x0.map_or_else(|| vec![0.0; job.b.len()], <[f64]>::to_vec);
        Self {
            method: job.method,
            backend,
            precond: Precond::None,
            precision: Precision::F64,
            residual: relative_residual(job.original, job.b, &x),
            x,
            ending: Ending::Method(Outcome::Stopped),
            iterations: 0,
            history: Vec::new(),
            times: Vec::new(),
            grids: None,
            condition: None,
            refactored: false,
            tries: Vec::new(),
            setup_seconds: 0.0,
            solve_seconds: 0.0,
            notes: Vec::new(),
            since: job.since.get(),
        }
    }

    /// Marks the end of the setup and the start of the iterations.
    pub(crate) fn begin(&mut self, job: &Job<'_>) {
        let looks = job.looks.borrow();
        self.setup_seconds = looks.since(self.since);
        self.since = looks.mark();
    }

    /// Marks the end of the iterations.
    pub(crate) fn end(mut self, job: &Job<'_>) -> Self {
        self.solve_seconds = job.looks.borrow().since(self.since);
        self
    }

    /// This solution as an earlier attempt.
    pub(crate) fn tried(&self) -> Try {
        Try {
            method: self.method,
            precond: self.precond,
            precision: self.precision,
            setup_seconds: self.setup_seconds,
            solve_seconds: self.solve_seconds,
            iterations: self.iterations,
        }
    }

    /// Adds the earlier attempt, from whose x this attempt started, and keeps the better x of the two.
    pub(crate) fn after(mut self, before: Self) -> Self {
        let tried = before.tried();
        // In conjugate gradients the error in the norm of A decreases in every iteration, even if the
        // residual does not.
        let stopped = matches!(self.ending, Ending::Method(Outcome::Stopped));
        if !stopped && self.residual > before.residual {
            (self.x, self.residual) = (before.x, before.residual);
        }
        // The first residual of this attempt is the last residual of the earlier attempt.
        let first = self.history.len().min(1);
        self.history.splice(..first, before.history);
        self.times.splice(..first, before.times);
        let notes = before.notes.into_iter().filter(|note| !self.notes.contains(note)).collect::<Vec<_>>();
        self.notes.splice(0..0, notes);
        self.tries = before.tries;
        self.tries.push(tried);
        self
    }

    /// Ends the solve with the current x.
    pub(crate) fn fail(mut self, job: &Job<'_>, ending: Ending) -> Self {
        if self.setup_seconds == 0.0 {
            self.begin(job);
        }
        self.ending = ending;
        self.end(job)
    }

    /// Takes a new x and recomputes its residual, independently of the outcome of the method.
    pub(crate) fn take(&mut self, job: &Job<'_>, x: Vec<f64>, said: Outcome) {
        let residual = relative_residual(job.original, job.b, &x);
        let outcome = match said {
            _ if residual <= job.tolerance => Outcome::Converged,
            _ if !residual.is_finite() => Outcome::NotFinite,
            Outcome::Converged => Outcome::Stagnated,
            other => other,
        };
        let trouble = !matches!(outcome, Outcome::Converged | Outcome::IterationLimit | Outcome::Stopped);
        self.ending = if trouble && job.floats && job.null_space.is_none() {
            Ending::Singular(outcome)
        } else {
            Ending::Method(outcome)
        };
        let spent = matches!(outcome, Outcome::IterationLimit) || trouble;
        if spent && residual.is_finite() && matches!(self.ending, Ending::Method(_)) {
            let floor = attainable(job.original, job.b, &x);
            if is_floor(floor, job.tolerance, residual) {
                self.ending = Ending::Floor(Floor { floor, tolerance: job.tolerance });
            }
        }
        if residual.is_finite() {
            (self.x, self.residual) = (x, residual);
        }
    }
}

/// ‖b − A x‖ / ‖b‖, divided by 1 if b = 0; NaN if x is not finite.
pub(crate) fn relative_residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    if x.iter().any(|v| !v.is_finite()) {
        return f64::NAN;
    }
    let (b, x) = (b.to_vec(), x.to_vec());
    let mut r = vec![0.0; b.len()];
    a.residual(&b, &x, &mut r);
    let size = norm(&b);
    norm(&r) / if size > 0.0 { size } else { 1.0 }
}

/// ‖v‖₂, without overflow or underflow of the squares; NaN if v is not finite.
fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if v.iter().any(|v| !v.is_finite()) {
        return f64::NAN;
    }
    if largest == 0.0 { 0.0 } else { largest * v.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_neither_overflow_nor_vanish() {
        for scale in [1e-310, 1e-200, 1.0, 1e200, 1e307] {
            assert!((norm(&[3.0 * scale, -4.0 * scale]) / scale - 5.0).abs() < 1e-12, "{scale}");
        }
        assert_eq!((norm(&[]), norm(&[0.0])), (0.0, 0.0));
        assert!(norm(&[1.0, f64::NAN]).is_nan() && norm(&[f64::INFINITY]).is_nan());
    }

    #[test]
    fn residuals_of_what_is_not_finite_are_not_small() {
        let a = Bsr::identity(2, 1).unwrap();
        assert_eq!(relative_residual(&a, &[3.0, 4.0], &[0.0, 4.0]), 0.6);
        assert_eq!(relative_residual(&a, &[0.0, 0.0], &[0.0, 2.0]), 2.0);
        assert!(relative_residual(&a, &[1.0, 1.0], &[f64::NAN, 1.0]).is_nan());
    }
}
