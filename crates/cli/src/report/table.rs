//! The table of `compare`, as JSON and as text.

use std::fmt;

use serde::Serialize;

use super::json::Versions;
use crate::arguments::{Compare, Method, Precision, Precond, name};
use crate::console::{count, mib};
use crate::decision::choose::Choice;
use crate::input::ready::Ready;
use crate::run::solution::{Attempt, Numbers, Solution};

/// One method on the system.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) numbers: Numbers,
    /// Whether labels name the backend.
    #[serde(skip)]
    several: bool,
    /// Whether `auto` would choose this method.
    pub(crate) auto: bool,
    /// The seconds of all attempts.
    pub(crate) total_seconds: f64,
    /// The peak memory, vectors included.
    memory_bytes: usize,
    /// The times of the residuals in the history, in seconds from the start of the setup.
    pub(crate) times: Vec<f64>,
}

impl Row {
    /// Creates a row; if there are `several` backends, labels name the backend.
    pub(crate) fn new(
        (method, precond): (Method, Precond),
        solution: &Solution,
        bytes: usize,
        several: bool,
    ) -> Self {
        let tried: f64 = solution.attempts.iter().map(Attempt::seconds).sum();
        Self {
            numbers: Numbers { method, precond, ..Numbers::of(solution, false) },
            several,
            auto: false,
            total_seconds: tried + solution.setup_seconds + solution.solve_seconds,
            memory_bytes: bytes,
            times: solution.times.clone(),
        }
    }

    /// `cg + sa`.
    pub(crate) fn label(&self) -> String {
        let Numbers { method, precond, backend, .. } = self.numbers;
        label((method, precond), self.several.then_some(backend))
    }
}

/// A method, its preconditioner and, if given, the backend: `cg + sa, cpu`.
pub(crate) fn label((method, precond): (Method, Precond), backend: Option<&str>) -> String {
    let suffix = backend.map_or_else(String::new, |backend| format!(", {backend}"));
    match precond {
        Precond::None => name(method) + &suffix,
        precond => format!("{} + {}{suffix}", name(method), name(precond)),
    }
}

/// All methods, from the fastest to the slowest.
#[derive(Serialize)]
pub(crate) struct Table {
    pub(crate) source: String,
    pub(crate) n: usize,
    nnz: usize,
    /// The constraints onto which the system was projected.
    filtered: Option<String>,
    block_size: usize,
    threads: usize,
    pub(crate) tolerance: f64,
    limit_seconds: f64,
    /// The seconds of the common analysis of the matrix: diagnosis, conversion to blocks.
    analysis_seconds: f64,
    /// The seconds of `auto` after this analysis: choice and solution.
    auto_seconds: f64,
    /// The outcome of `auto`.
    auto_outcome: &'static str,
    /// The choice of `auto` and its reasons: one line for the method, one for the preconditioner.
    choice: [String; 2],
    pub(crate) rows: Vec<Row>,
    versions: Versions,
}

impl Table {
    pub(crate) fn new(
        options: &Compare,
        threads: usize,
        ready: &Ready<'_>,
        (auto, choice, auto_seconds): (&Solution, &Choice, f64),
        analysis_seconds: f64,
        mut rows: Vec<Row>,
    ) -> Self {
        rows.sort_by(|a, b| {
            let rank = |row: &Row| (!row.numbers.converged(), row.total_seconds);
            rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1))
        });
        Self {
            source: ready.input.source.clone(),
            n: ready.input.b.len(),
            nnz: ready.input.matrix.nnz(),
            filtered: ready.input.filter.as_ref().map(|filter| filter.density().to_string()),
            block_size: ready.matrix().block().0,
            threads,
            tolerance: options.given.tol,
            limit_seconds: options.time_limit,
            analysis_seconds,
            auto_seconds,
            auto_outcome: auto.ending.name(),
            choice: choice.because.clone(),
            rows,
            versions: Versions::current(),
        }
    }

    pub(crate) fn any_converged(&self) -> bool {
        self.rows.iter().any(|row| row.numbers.converged())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, n, nnz, block_size: b, tolerance, .. } = self;
        writeln!(
            f,
            "{source}: {}, {}, {b} x {b} blocks, to {tolerance:.0e}",
            count(*n, "unknown"),
            count(*nnz, "entry")
        )?;
        if let Some(filtered) = &self.filtered {
            writeln!(f, "{filtered}")?;
        }
        writeln!(
            f,
            "analysis {:.3} s; {}; at most {} s for each method\n",
            self.analysis_seconds,
            count(self.threads, "thread"),
            self.limit_seconds
        )?;
        writeln!(
            f,
            "  method                     setup s   solve s   total s  iterations       MiB  outcome"
        )?;
        for row in &self.rows {
            let mark = if row.auto { '*' } else { ' ' };
            writeln!(
                f,
                "{mark} {:<25} {:>8.3}  {:>8.3}  {:>8.3}  {:>10}  {:>8.1}  {}",
                row.label(),
                row.numbers.setup_seconds,
                row.numbers.solve_seconds,
                row.total_seconds,
                row.numbers.iterations,
                mib(row.memory_bytes),
                row.numbers.outcome.replace('_', " "),
            )?;
        }
        for row in &self.rows {
            for tried in &row.numbers.attempts {
                let (method, precond) = (name(tried.method), name(tried.precond));
                let stored = if tried.precision == Precision::Mixed { ", stored in f32" } else { "" };
                writeln!(f, "\n{}: before it, {method} with {precond}{stored}: {tried}", row.label())?;
            }
        }
        for row in self.rows.iter().filter(|row| !row.numbers.converged()) {
            writeln!(f, "\n{}: {}", row.label(), row.numbers.advice)?;
        }
        let outcome = self.auto_outcome.replace('_', " ");
        writeln!(f, "\n* auto, {:.3} s with its choice, {outcome}:", self.auto_seconds)?;
        self.choice.iter().try_for_each(|why| writeln!(f, "  {why}"))
    }
}
