//! The table of a sequence.

use std::fmt;

use coarsen::Outcome;
use coarsen::problems::Sequence;
use serde::Serialize;

use crate::arguments::{Precond, Solve, UpdatePolicy, name};
use crate::console::count;
use crate::report::json::Versions;
use crate::run::sequence_solver::Solved;

/// The results of one step.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) step: usize,
    /// The number of pairs of nodes in contact.
    pub(crate) pairs: usize,
    /// The number of block rows with changed pairs.
    pub(crate) touched: usize,
    pub(crate) assembly_seconds: f64,
    #[serde(flatten)]
    pub(crate) solved: Solved,
}

impl Row {
    fn converged(&self) -> bool {
        self.solved.outcome == Outcome::Converged
    }
}

/// All steps of a run.
#[derive(Serialize)]
pub(crate) struct Table {
    pub(crate) source: String,
    n: usize,
    pub(crate) precond: Precond,
    pub(crate) update: UpdatePolicy,
    threads: usize,
    tolerance: f64,
    pub(crate) rows: Vec<Row>,
    versions: Versions,
}

impl Table {
    pub(super) fn new(options: &Solve, threads: usize, sequence: &Sequence, rows: Vec<Row>) -> Self {
        Self {
            source: sequence.name().to_owned(),
            n: sequence.elastic().shape().0,
            precond: options.precond,
            update: options.update,
            threads,
            tolerance: options.given.tol,
            rows,
            versions: Versions::current(),
        }
    }

    /// The first step that did not converge.
    pub(super) fn worst(&self) -> Option<&Row> {
        self.rows.iter().find(|row| !row.converged())
    }

    /// The sum of a column.
    fn sum(&self, column: fn(&Row) -> f64) -> f64 {
        self.rows.iter().map(column).sum()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, n, threads, tolerance, .. } = self;
        let (precond, update) = (name(self.precond), name(self.update));
        let [unknowns, steps, threads] = [(*n, "unknown"), (self.rows.len(), "step"), (*threads, "thread")]
            .map(|(n, what)| count(n, what));
        writeln!(f, "{source}: {unknowns}, {steps}, to {tolerance:.0e}")?;
        match self.precond {
            Precond::Auto => writeln!(f, "auto, on {threads}\n")?,
            _ => writeln!(f, "cg with {precond}, policy {update}, on {threads}\n")?,
        }
        writeln!(
            f,
            "step     pairs  touched  done    with          reused              assembly s  setup s  iterations  solve s  residual"
        )?;
        for row in &self.rows {
            let Row { step, pairs, touched, assembly_seconds, solved } = row;
            let Solved {
                precond,
                action,
                reused,
                setup_seconds,
                iterations,
                solve_seconds,
                residual,
                outcome,
                ..
            } = solved;
            let reused = reused.as_deref().unwrap_or_default();
            let ended = match outcome {
                Outcome::Converged => String::new(),
                other => format!(" {}", other.name().replace('_', " ")),
            };
            writeln!(
                f,
                "{step:>4} {pairs:>9} {touched:>8}  {:<7} {precond:<13} {reused:<19} {assembly_seconds:>10.3} {setup_seconds:>8.3} \
                 {iterations:>11} {solve_seconds:>8.3}  {residual:.2e}{ended}",
                action.name()
            )?;
        }
        let [assembly, setup, solve] = [
            |r: &Row| r.assembly_seconds,
            |r: &Row| r.solved.setup_seconds,
            |r: &Row| r.solved.solve_seconds,
        ]
        .map(|column| self.sum(column));
        let iterations = self.sum(|row| row.solved.iterations as f64);
        writeln!(f, "all {:>65} {assembly:>10.3} {setup:>8.3} {iterations:>11} {solve:>8.3}", "")?;
        writeln!(f, "\nsetup and solve together {:.3} s; decisions:", setup + solve)?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{:>4}  {}", row.step, row.solved.because))
    }
}
