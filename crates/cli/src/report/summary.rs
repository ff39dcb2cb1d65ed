//! The report, as JSON and as text.

use std::fmt;
use std::fs;
use std::time::Instant;

use coarsen::auto::Levels;
use coarsen::diagnose::Severity;
use coarsen::multigrid::{LevelSize, SetupStep};
use serde::Serialize;
use serde_json::{Value, json};

use super::json::Versions;
use crate::arguments::{Method, NullSpace, Precision, Precond, Solve, name};
use crate::console::{count, mib};
use crate::decision::choose::Choice;
use crate::input::analysis::AnalysisTimes;
use crate::input::ready::Ready;
use crate::run::solution::{Column, Numbers, Solution};
use crate::words::told;

/// The data of a run that are known before the solve.
pub(crate) struct Setting<'a> {
    pub(crate) options: &'a Solve,
    pub(crate) threads: usize,
    /// When the command began.
    pub(crate) begun: Instant,
    pub(crate) read_seconds: f64,
    pub(crate) ready: &'a Ready<'a>,
}

/// The report of a run; numbers that are not finite become `null`.
#[derive(Serialize)]
pub(crate) struct Report {
    source: String,
    n: usize,
    /// Whether the unknowns are real and imaginary parts of complex ones.
    complex: bool,
    /// The number of stored entries, both triangles.
    nnz: usize,
    block_size: usize,
    /// The setup is from the parsed matrix to the first iteration: analysis and preconditioner or factors, without `attempts`.
    #[serde(flatten)]
    pub(crate) numbers: Numbers,
    precision: Precision,
    threads: usize,
    read_seconds: f64,
    /// The analysis of the matrix, a part of the setup: each step with its seconds.
    analysis: AnalysisTimes,
    /// The seconds of the command, from its start to this report.
    total_seconds: f64,
    max_iterations: usize,
    pub(crate) tolerance: f64,
    /// The levels and the setup steps of a multigrid hierarchy.
    hierarchy: Option<Value>,
    /// The table of levels, as text.
    #[serde(skip)]
    table: Option<String>,
    condition_estimate: Option<f64>,
    peak_memory_bytes: Option<u64>,
    /// The results of each right-hand side, if there are several: the numbers above are sums, and the largest residual.
    right_hand_sides: Vec<Column>,
    /// The choice and its reasons: one line for the method, one for the preconditioner.
    choice: [String; 2],
    notes: Vec<String>,
    /// The warnings of `diagnose`.
    warnings: Vec<String>,
    versions: Versions,
}

/// The levels of a hierarchy, from the finest, and the steps of its setup.
fn hierarchy(levels: &Levels) -> Option<Value> {
    let level = |of: &LevelSize| {
        json!({
            "unknowns": of.unknowns, "nonzeros": of.nonzeros, "decoupled": of.decoupled, "without_basis": of.without_basis,
            "bytes": of.bytes,
        })
    };
    let step = |of: &SetupStep| json!({ "step": of.step, "seconds": of.seconds, "bytes": of.bytes });
    let sizes: Vec<Value> = levels.sizes.iter().map(level).collect();
    let steps: Vec<Value> = levels.steps.iter().map(step).collect();
    (!sizes.is_empty()).then(|| json!({ "levels": sizes, "steps": steps }))
}

impl Report {
    pub(crate) fn new(setting: &Setting<'_>, choice: &Choice, solution: &Solution) -> Self {
        let (options, ready) = (setting.options, setting.ready);
        let input = ready.input;
        let grave = ready.findings(&options.given).filter(|f| f.severity() >= Severity::Warning);
        let asked = !matches!(options.method, Method::Auto | Method::Direct);
        let untried = asked && solution.backend == "cpu" && options.given.null_space == NullSpace::None;
        let mut numbers = Numbers::of(solution, untried);
        numbers.setup_seconds += ready.analysis.borrow().seconds();
        Self {
            source: input.source.clone(),
            n: input.b.len(),
            complex: input.is_complex,
            nnz: input.matrix.nnz(),
            block_size: ready.matrix().block().0,
            numbers,
            precision: solution.precision,
            threads: setting.threads,
            read_seconds: setting.read_seconds,
            analysis: ready.analysis.borrow().clone(),
            total_seconds: setting.begun.elapsed().as_secs_f64(),
            max_iterations: options.given.max_iterations,
            tolerance: if solution.tolerance > 0.0 { solution.tolerance } else { options.given.tol },
            hierarchy: solution.levels.as_ref().and_then(hierarchy),
            table: solution.levels.as_ref().map(|levels| levels.table.clone()),
            condition_estimate: solution.condition,
            peak_memory_bytes: peak_memory(),
            right_hand_sides: solution.columns.clone(),
            choice: choice.because.clone(),
            notes: solution.notes.clone(),
            warnings: grave.map(told).chain(ready.warnings.iter().cloned()).collect(),
            versions: Versions::current(),
        }
    }

    /// `cg with ic0 on bcsstk14.mtx`, the title of a picture.
    pub(crate) fn title(&self) -> String {
        let solver = match (self.numbers.method, self.numbers.precond) {
            (method, Precond::None) => name(method),
            (method, precond) => format!("{} with {}", name(method), name(precond)),
        };
        format!("{solver} on {}", self.source)
    }
}

/// The peak memory of this process, if the operating system reports it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, nnz, block_size: b, threads, choice, numbers, .. } = self;
        let unknowns = match self.complex {
            true => format!("{} as {n} real ones", count(n / 2, "complex unknown")),
            false => count(*n, "unknown"),
        };
        writeln!(f, "system    {}: {unknowns}, {}, {b} x {b} blocks", self.source, count(*nnz, "entry"))?;
        writeln!(f, "method    {}", choice[0])?;
        let stored = if self.precision == Precision::Mixed { "; stored in f32" } else { "" };
        writeln!(f, "precond   {}{stored}", choice[1])?;
        for note in &self.notes {
            writeln!(f, "          {note}")?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning   {warning}")?;
        }
        for line in self.table.iter().flat_map(|table| table.lines()) {
            writeln!(f, "          {line}")?;
        }
        let memory = self
            .peak_memory_bytes
            .map_or(String::new(), |bytes| format!(", {:.0} MiB peak memory", mib(bytes as usize)));
        writeln!(f, "reading   {:.3} s", self.read_seconds)?;
        writeln!(f, "analysis  {}", self.analysis)?;
        for tried in &numbers.attempts {
            let (method, precond) = (name(tried.method), name(tried.precond));
            writeln!(f, "tried     {method} with {precond}: {tried}")?;
        }
        writeln!(
            f,
            "setup     {:.3} s on {}, analysis included",
            numbers.setup_seconds,
            count(*threads, "thread")
        )?;
        let step = if numbers.method == Method::Direct { "refinement" } else { "iteration" };
        let sides = match self.right_hand_sides.len() {
            0 => String::new(),
            several => format!(" for {several} right-hand sides"),
        };
        writeln!(
            f,
            "solve     {:.3} s, {}{sides}{memory}",
            numbers.solve_seconds,
            count(numbers.iterations, step)
        )?;
        for (k, column) in self.right_hand_sides.iter().enumerate() {
            writeln!(f, "          {}: {column}", k + 1)?;
        }
        let condition =
            self.condition_estimate.map_or(String::new(), |c| format!(", condition about {c:.0e}"));
        writeln!(
            f,
            "outcome   {}, true relative residual {:.2e} (asked {:.0e}){condition}",
            numbers.outcome.replace('_', " "),
            numbers.true_relative_residual,
            self.tolerance
        )
    }
}
