//! The result of a solve.

use std::fmt;

use coarsen::Outcome;
use coarsen::auto::{self, Ending, Levels, Method as AutoMethod, relative_residual};
use serde::Serialize;

use super::refuse::Ended;
use crate::input::ready::Ready;
use crate::input::renumber;

use crate::arguments::{Method, Precision, Precond};
use crate::console::count;
use crate::words::told;

/// An attempt that was followed by another attempt.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Attempt {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    pub(crate) precision: Precision,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    pub(crate) iterations: usize,
}

impl Attempt {
    pub(crate) fn new(tried: &auto::Attempt, precision: Precision) -> Self {
        Self {
            method: tried.method.into(),
            precond: tried.precond.into(),
            precision: used(tried, precision),
            setup_seconds: tried.setup_seconds,
            solve_seconds: tried.solve_seconds,
            iterations: tried.iterations,
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

/// The precision of an attempt, never `auto`.
pub(crate) fn used(tried: &auto::Attempt, asked: Precision) -> Precision {
    match (tried.method, asked) {
        (AutoMethod::Direct, _) => Precision::F64,
        (_, Precision::Auto) if tried.single => Precision::Mixed,
        (_, Precision::Auto) => Precision::F64,
        (_, asked) => asked,
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setup_seconds, solve_seconds, iterations, .. } = self;
        let done = count(*iterations, "iteration");
        write!(f, "{setup_seconds:.3} s of setup, {solve_seconds:.3} s, {done}")
    }
}

/// The result of a solve: that of its last attempt, and the attempts before it.
pub(crate) struct Solution {
    pub(crate) method: Method,
    pub(crate) backend: &'static str,
    pub(crate) precond: Precond,
    /// The precision of the solve, never `auto`.
    pub(crate) precision: Precision,
    /// One column for each right-hand side.
    pub(crate) x: Vec<f64>,
    pub(crate) ending: Ended,
    /// The requested tolerance, relative to the right-hand side.
    pub(crate) tolerance: f64,
    /// ‖b − A x‖ / ‖b‖ of x in `f64`.
    pub(crate) residual: f64,
    pub(crate) iterations: usize,
    /// The relative residuals that the method computed, beginning with the starting guess.
    pub(crate) history: Vec<f64>,
    /// The times of these residuals, in seconds since the start of the setup.
    pub(crate) times: Vec<f64>,
    pub(crate) levels: Option<Levels>,
    pub(crate) condition: Option<f64>,
    /// The attempts before the last one.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    /// Remarks for the report.
    pub(crate) notes: Vec<String>,
    /// The results of each right-hand side; empty if there is one.
    pub(crate) columns: Vec<Column>,
}

/// The numbers of a solution that every report has.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Numbers {
    pub(crate) method: Method,
    pub(crate) precond: Precond,
    pub(crate) backend: &'static str,
    /// The seconds of the setup and of the iterations of the last attempt.
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    /// The number of iterations of the last attempt, or of refinement steps for a direct method.
    pub(crate) iterations: usize,
    /// The attempts before the last, with their own iterations and seconds.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) outcome: &'static str,
    /// The cause and the remedy; empty when converged.
    pub(crate) advice: String,
    /// |b - A x| / |b| in f64, with the matrix as it was read and the x that is written.
    pub(crate) true_relative_residual: f64,
    /// The number of levels of a hierarchy; 1 without a hierarchy.
    pub(crate) levels: usize,
    /// The number of entries in the matrices of all levels, divided by the number in the finest matrix.
    pub(crate) operator_complexity: f64,
    pub(crate) history: Vec<f64>,
}

impl Numbers {
    /// With `direct`, a factor was not tried and may be.
    pub(crate) fn of(solution: &Solution, direct: bool) -> Self {
        let levels = solution.levels.as_ref();
        Self {
            method: solution.method,
            precond: solution.precond,
            backend: solution.backend,
            setup_seconds: solution.setup_seconds,
            solve_seconds: solution.solve_seconds,
            iterations: solution.iterations,
            attempts: solution.attempts.clone(),
            outcome: solution.ending.name(),
            advice: advice(&solution.ending, direct),
            true_relative_residual: solution.residual,
            levels: levels.map_or(1, |levels| levels.count),
            operator_complexity: levels.map_or(1.0, |levels| levels.operator_complexity),
            history: solution.history.clone(),
        }
    }

    pub(crate) fn converged(&self) -> bool {
        self.outcome == Outcome::Converged.name()
    }
}

/// The result of one of several right-hand sides.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Column {
    outcome: &'static str,
    iterations: usize,
    setup_seconds: f64,
    solve_seconds: f64,
    tolerance: f64,
    true_relative_residual: f64,
}

impl Column {
    fn of(solution: &Solution) -> Self {
        Self {
            outcome: solution.ending.name(),
            iterations: solution.iterations,
            setup_seconds: solution.setup_seconds,
            solve_seconds: solution.solve_seconds,
            tolerance: solution.tolerance,
            true_relative_residual: solution.residual,
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outcome, iterations, solve_seconds, true_relative_residual: residual, .. } = self;
        let outcome = outcome.replace('_', " ");
        write!(
            f,
            "{outcome}, {}, {solve_seconds:.3} s, residual {residual:.2e}",
            count(*iterations, "iteration")
        )
    }
}

impl Solution {
    /// The result of several right-hand sides: seconds, iterations and attempts of all, the largest residual, and the
    /// ending of the first that did not converge. Method, levels and history are those of this one.
    pub(crate) fn with(mut self, others: Vec<Self>) -> Self {
        if !others.is_empty() {
            self.columns = std::iter::once(&self).chain(&others).map(Column::of).collect();
        }
        for other in others {
            let Self { x, ending, tolerance, residual, attempts, .. } = other;
            self.x.extend(x);
            if self.ending.converged() && !ending.converged() {
                (self.ending, self.tolerance) = (ending, tolerance);
            }
            if residual.is_nan() || residual > self.residual {
                self.residual = residual;
            }
            self.iterations += other.iterations;
            self.setup_seconds += other.setup_seconds;
            self.solve_seconds += other.solve_seconds;
            self.attempts.extend(attempts);
        }
        self
    }

    /// Nothing was tried. The solution is the guess, with its residual.
    pub(crate) fn refused((method, precond): (Method, Precond), ready: &Ready<'_>, ending: Ended) -> Self {
        let of = |b: &[f64], x0: &Option<Vec<f64>>| {
            Self::of_guess((method, precond), ready, ending.clone(), b, x0.as_deref())
        };
        let input = ready.input;
        of(&input.b, &input.x0).with(input.others.iter().map(|(b, x0)| of(b, x0)).collect())
    }

    fn of_guess(
        (method, precond): (Method, Precond),
        ready: &Ready<'_>,
        ending: Ended,
        b: &[f64],
        x0: Option<&[f64]>,
    ) -> Self {
        let x = x0.map_or_else(|| vec![0.0; b.len()], <[f64]>::to_vec);
        let (order, block) = (ready.order.as_ref(), ready.matrix().block().0);
        let [b, guess] = [b, &x].map(|v| renumber::arranged(order, block, v));
        let residual = relative_residual(ready.problem.matrix(), &b, &guess);
        Self {
            method,
            backend: "cpu",
            precond,
            precision: Precision::F64,
            x,
            ending,
            tolerance: 0.0,
            residual,
            iterations: 0,
            history: Vec::new(),
            times: Vec::new(),
            levels: None,
            condition: None,
            attempts: Vec::new(),
            setup_seconds: 0.0,
            solve_seconds: 0.0,
            notes: Vec::new(),
            columns: Vec::new(),
        }
    }
}

/// The advice of an ending, with the options of the command that cure it. With `direct`, a factor was not tried and may
/// be.
pub(crate) fn advice(ended: &Ended, direct: bool) -> String {
    let option = match ended {
        Ended::Solve(Ending::Singular(_)) => "; --null-space constants gives this null space",
        Ended::Unsymmetric { in_single: true, .. } => {
            "; the difference is that of single precision: --symmetrize takes the matrix as symmetric"
        }
        Ended::Solve(Ending::TimeLimit) | Ended::TooLong { .. } => "; see --time-limit",
        Ended::Solve(Ending::FactorTooLarge { .. }) => "; see --memory",
        Ended::Solve(Ending::NotNull { .. }) => "; see --null-space",
        Ended::Solve(Ending::Method(Outcome::Converged | Outcome::Stopped)) => "",
        Ended::Solve(Ending::Method(_) | Ending::Unstable(_) | Ending::Setup(_)) if direct => {
            "; or use --method direct"
        }
        _ => "",
    };
    told(ended) + option
}
