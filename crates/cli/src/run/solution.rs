//! The result of a solve.

use std::fmt;

use coarsen::Outcome;
use coarsen::auto::{Ending, Last, Levels, Tried};
use serde::Serialize;

use crate::arguments::{Method, Precision, Precond};
use crate::console::count;
use crate::words::told;

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
    pub(crate) fn new(tried: &Tried, precision: Precision) -> Self {
        let (method, precond) = labels(tried.of);
        Self {
            method,
            precond,
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

/// The method and the preconditioner as options of the command line.
pub(crate) fn labels(of: Last) -> (Method, Precond) {
    match of {
        Last::Factor => (Method::Direct, Precond::None),
        Last::Iterations(method, kind) => (method.into(), kind.into()),
    }
}

/// The precision of an attempt, never `auto`.
pub(crate) fn used(tried: &Tried, asked: Precision) -> Precision {
    match (tried.of, asked) {
        (Last::Factor, _) => Precision::F64,
        (_, Precision::Auto) if tried.single => Precision::Mixed,
        (_, Precision::Auto) => Precision::F64,
        (_, asked) => asked,
    }
}

impl fmt::Display for Try {
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
    pub(crate) x: Vec<f64>,
    pub(crate) ending: Ending,
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
    pub(crate) tries: Vec<Try>,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    /// Remarks for the report.
    pub(crate) notes: Vec<String>,
}

impl Solution {
    /// Nothing was tried.
    pub(crate) fn refused((method, precond): (Method, Precond), x: Vec<f64>, ending: Ending) -> Self {
        Self {
            method,
            backend: "cpu",
            precond,
            precision: Precision::F64,
            x,
            ending,
            residual: 1.0,
            iterations: 0,
            history: Vec::new(),
            times: Vec::new(),
            levels: None,
            condition: None,
            tries: Vec::new(),
            setup_seconds: 0.0,
            solve_seconds: 0.0,
            notes: Vec::new(),
        }
    }
}

/// The advice of an ending, with the options of the command that cure it. With `direct`, a factor was not tried and may
/// be.
pub(crate) fn advice(ending: &Ending, direct: bool) -> String {
    let option = match ending {
        Ending::Singular(_) => "; --null-space constants gives this null space",
        Ending::Unsymmetric { here, there, .. }
            if (here - there).abs() <= 1e-6 * here.abs().max(there.abs()) =>
        {
            "; if the difference is that of single precision, --symmetrize takes the matrix as symmetric"
        }
        Ending::TimeLimit | Ending::TooLong { .. } => "; see --limit",
        Ending::TooLarge { .. } => "; see --memory",
        Ending::NotNull { .. } | Ending::NotNullOfTranspose { .. } => "; see --null-space",
        Ending::Method(Outcome::Converged | Outcome::Stopped) => "",
        Ending::Method(_) | Ending::Unstable(_) | Ending::Setup(_) if direct => "; or use --method direct",
        _ => "",
    };
    told(ending) + option
}
