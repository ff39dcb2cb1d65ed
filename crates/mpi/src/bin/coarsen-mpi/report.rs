//! What rank 0 prints and writes.

use std::fmt;
use std::path::Path;

use coarsen_core::Outcome;
use serde::Serialize;

use crate::arguments::{Precond, Solve, name};
use crate::failure::Failure;
use crate::files::{is_standard, say};
use crate::input::Input;
use crate::ranks::Ranks;
use crate::schedule::{Chosen, Measured};
use crate::steps::Times;

/// What a solve has found.
pub(crate) struct Found {
    pub(crate) solved: coarsen_core::Report<f64>,
    pub(crate) history: Vec<f64>,
    /// The table of levels.
    pub(crate) levels: Option<String>,
    pub(crate) schedule: Option<Chosen>,
    /// The number of the device of each rank.
    pub(crate) devices: Option<Vec<u64>>,
}

/// The report of a run; numbers that are not finite become `null`.
#[derive(Serialize)]
pub(crate) struct Report {
    source: String,
    n: usize,
    nnz: u64,
    block_size: usize,
    /// The options of the command line.
    #[serde(flatten)]
    options: Solve,
    /// The number of the device of each rank.
    devices: Option<Vec<u64>>,
    /// Of a product of whole vectors.
    schedule: Option<Chosen>,
    threads_per_rank: usize,
    read_seconds: f64,
    setup_seconds: f64,
    solve_seconds: f64,
    iterations: usize,
    tolerance: f64,
    true_relative_residual: f64,
    pub(crate) outcome: &'static str,
    pub(crate) advice: &'static str,
    history: Vec<f64>,
    warnings: Vec<String>,
    /// The table of levels, as text.
    #[serde(skip)]
    levels: Option<String>,
    #[serde(flatten)]
    ranks: Ranks,
    version: &'static str,
}

impl Report {
    pub(crate) fn new(
        options: &Solve,
        input: &Input,
        threads: usize,
        times: &Times,
        Found { solved, history, levels, schedule, devices }: Found,
        ranks: Ranks,
    ) -> Self {
        Self {
            source: input.source.clone(),
            n: input.layout.unknowns(),
            nnz: input.nnz,
            block_size: input.layout.block(),
            options: options.clone(),
            devices,
            schedule,
            threads_per_rank: threads,
            read_seconds: times.read.time.as_secs_f64(),
            setup_seconds: times.setup.all.as_secs_f64(),
            solve_seconds: times.solve.as_secs_f64(),
            iterations: solved.iterations,
            tolerance: options.tol,
            true_relative_residual: solved.true_residual,
            outcome: solved.outcome.name(),
            advice: advice(solved.outcome, solved.true_residual, options.precond),
            history,
            warnings: input.warnings.clone(),
            levels,
            ranks,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    pub(crate) fn converged(&self) -> bool {
        self.outcome == Outcome::Converged.name()
    }

    /// Writes the JSON; to the standard output for `-`.
    pub(crate) fn write(&self, file: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::File { file: file.into(), kind: error.kind() };
        let mut text = serde_json::to_string_pretty(self).map_err(std::io::Error::other).map_err(failed)?;
        text.push('\n');
        if is_standard(file) { say(&text) } else { std::fs::write(file, text).map_err(failed) }
    }
}

/// Round-off of b - A x alone seldom leaves a larger relative residual.
const ROUND_OFF: f64 = 1e-6;

/// The likely cause of an outcome, and the options of this command that cure it; empty if converged.
fn advice(outcome: Outcome, residual: f64, precond: Precond) -> &'static str {
    match outcome {
        Outcome::Converged => "",
        Outcome::IterationLimit => {
            "the preconditioner is too weak for this system, or --max-iterations is too small; use --precond sa (or mas for a \
             symmetric matrix), or raise --max-iterations"
        }
        Outcome::Stagnated if residual > ROUND_OFF => match precond {
            Precond::Sa => {
                "the residual is far above round-off: the preconditioner does not suit A, or A is singular; use --precond \
                 block-jacobi (or mas for a symmetric matrix), or fix an unknown of a singular A"
            }
            _ => {
                "the residual is far above round-off: the preconditioner does not suit A, or A is singular; use --precond \
                 sa, or fix an unknown of a singular A"
            }
        },
        Outcome::Stagnated => {
            "--tol is below the attainable accuracy (round-off of b - A x), or A is singular; raise --tol, scale the system, \
             or fix an unknown of a singular A"
        }
        Outcome::IndefiniteOperator => {
            "A has a negative eigenvalue (a missing sign, an unprojected Hessian), or is singular; use --method minres or \
             gmres, or correct the assembly"
        }
        Outcome::IndefinitePreconditioner => {
            "the preconditioner is not positive definite, since A is indefinite; use --method gmres, or --precond none or \
             jacobi"
        }
        Outcome::Breakdown => {
            "a recurrence would divide by zero, usually because A is singular; fix an unknown, or use --method gmres"
        }
        Outcome::NotFinite => {
            "the matrix or the preconditioner holds NaN or infinity, or values overflowed; `coarsen info` says where"
        }
        Outcome::Inconsistent => {
            "A is singular and b is not in its range; x solves the least-squares problem; remove the net load, or fix an \
             unknown"
        }
        Outcome::Diverged => {
            "the residual grew far above that of the starting guess, and x is the best iterate found; use --method gmres, or \
             another --precond"
        }
        _ => "the solve ended early; x is the solution so far",
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, nnz, block_size: b, iterations, solve_seconds, options, .. } = self;
        let each = 1e3 * solve_seconds / (*iterations).max(1) as f64;
        writeln!(f, "system    {}: {n} unknowns, {nnz} entries, {b} x {b} blocks", self.source)?;
        writeln!(f, "method    {}", name(options.method))?;
        writeln!(f, "precond   {}", name(options.precond))?;
        for warning in &self.warnings {
            writeln!(f, "warning   {warning}")?;
        }
        for line in self.levels.iter().flat_map(|table| table.lines()) {
            writeln!(f, "          {line}")?;
        }
        writeln!(f, "product   {}", name(options.product))?;
        if let Some(Chosen { name: schedule, measured }) = &self.schedule {
            write!(f, "schedule  {}", name(*schedule))?;
            if let Some(measured) = measured {
                let Measured { seconds_per_message: [a, b], seconds_per_byte: [c, d], order, .. } = measured;
                let (a, b, c, d) = (1e6 * a, 1e6 * b, 1e9 * c, 1e9 * d);
                write!(
                    f,
                    ", best on links of {a:.1} to {b:.1} µs per message, {c:.2} to {d:.2} ns per byte"
                )?;
                if let Some(order) = order {
                    write!(f, ", ranks in the order {order:?}")?;
                }
            }
            writeln!(f)?;
        }
        if let Some(devices) = &self.devices {
            writeln!(f, "backend   {}, devices {devices:?} of the ranks", name(options.backend))?;
        }
        writeln!(f, "reading   {:.3} s", self.read_seconds)?;
        let ranks = count(self.ranks.count(), "rank");
        let threads = count(self.threads_per_rank, "thread");
        writeln!(f, "setup     {:.3} s on {ranks} of {threads}", self.setup_seconds)?;
        writeln!(
            f,
            "solve     {solve_seconds:.3} s, {}, {each:.3} ms each",
            count(*iterations, "iteration")
        )?;
        writeln!(
            f,
            "outcome   {}, true relative residual {:.2e} (asked {:.0e})",
            self.outcome.replace('_', " "),
            self.true_relative_residual,
            self.tolerance
        )?;
        write!(f, "\n{}", self.ranks)
    }
}
