//! What rank 0 prints and writes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use coarsen_distributed::{CommError, Communicator, Counted, pack, unpack};
use serde::Serialize;

use crate::arguments::{Method, Place, Precond, Product, Solve, name};
use crate::failure::Failure;
use crate::input::Input;

/// The times of the steps, on this rank.
pub(crate) struct Times {
    pub(crate) read: Duration,
    pub(crate) setup: Duration,
    pub(crate) solve: Duration,
}

/// One rank during the solve.
#[derive(Serialize)]
struct Rank {
    /// The block rows of the rank.
    rows: u64,
    /// The block columns of other ranks in its rows.
    halo: u64,
    /// The bytes that it sends in a product.
    bytes_per_product: u64,
    /// The bytes and messages that it sent.
    bytes: u64,
    messages: u64,
    /// The seconds that it waited for other ranks.
    waiting_seconds: f64,
}

/// A stage of the solve, on all ranks.
#[derive(Default, Serialize)]
struct StageOfAll {
    stage: String,
    messages: u64,
    bytes: u64,
    /// The seconds that all ranks waited, and the rank that waited longest.
    waiting_seconds: f64,
    longest_seconds: f64,
}

/// The ranks and the stages of the solve.
#[derive(Serialize)]
pub(crate) struct Ranks {
    ranks: Vec<Rank>,
    stages: Vec<StageOfAll>,
}

impl Ranks {
    /// Collects the counts of all ranks; every rank returns the same. `own` has the block rows of this rank, its ghosts, and the bytes that it sends in a product.
    pub(crate) fn gather<C: Communicator>(comm: &Counted<C>, own: [usize; 3]) -> Result<Self, CommError> {
        let traffic = comm.traffic();
        let sum = |of: &dyn Fn(usize) -> f64| (0..traffic.len()).map(of).fold(0.0, |sum, v| sum + v);
        let mut bytes = Vec::new();
        pack(own.map(|n| n as f64), &mut bytes);
        pack(
            [
                sum(&|k| traffic[k].bytes as f64),
                sum(&|k| traffic[k].messages as f64),
                sum(&|k| traffic[k].waited),
            ],
            &mut bytes,
        );
        let all = comm.all_gather(&bytes)?;
        let ranks = all.iter().map(|bytes| {
            let v: Vec<f64> = unpack(bytes).collect();
            Rank {
                rows: v[0] as u64,
                halo: v[1] as u64,
                bytes_per_product: v[2] as u64,
                bytes: v[3] as u64,
                messages: v[4] as u64,
                waiting_seconds: v[5],
            }
        });
        Ok(Self { ranks: ranks.collect(), stages: stages(comm, &traffic)? })
    }
}

/// The stages that occur on any rank, in the order of their names. Ranks may have different ones: a rank whose rows
/// have no column of another rank sends no halo.
fn stages<C: Communicator>(
    comm: &Counted<C>,
    traffic: &[coarsen_distributed::Traffic],
) -> Result<Vec<StageOfAll>, CommError> {
    let mut bytes = Vec::new();
    for stage in traffic {
        pack([stage.stage.len() as u64, stage.messages, stage.bytes], &mut bytes);
        pack([stage.waited], &mut bytes);
        bytes.extend_from_slice(stage.stage.as_bytes());
    }
    let mut all: BTreeMap<String, StageOfAll> = BTreeMap::new();
    for part in comm.all_gather(&bytes)? {
        let mut rest = &part[..];
        while let Some((head, after)) = rest.split_at_checked(32) {
            let n: Vec<u64> = unpack(&head[..24]).collect();
            let waited = unpack::<f64>(&head[24..]).next().unwrap_or_default();
            let (name, after) = after.split_at(n[0] as usize);
            let name = String::from_utf8_lossy(name).into_owned();
            let stage = all.entry(name.clone()).or_default();
            stage.stage = name;
            stage.messages += n[1];
            stage.bytes += n[2];
            stage.waiting_seconds += waited;
            stage.longest_seconds = stage.longest_seconds.max(waited);
            rest = after;
        }
    }
    Ok(all.into_values().collect())
}

/// The report of a run; numbers that are not finite become `null`.
#[derive(Serialize)]
pub(crate) struct Report {
    source: String,
    n: usize,
    nnz: u64,
    block_size: usize,
    method: Method,
    precond: Precond,
    backend: Place,
    product: Product,
    threads_per_rank: usize,
    read_seconds: f64,
    setup_seconds: f64,
    solve_seconds: f64,
    iterations: usize,
    tolerance: f64,
    true_relative_residual: f64,
    outcome: &'static str,
    advice: &'static str,
    history: Vec<f64>,
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
        times: Times,
        solved: coarsen_core::Report<f64>,
        (history, levels): (Vec<f64>, Option<String>),
        ranks: Ranks,
    ) -> Self {
        Self {
            source: input.source.clone(),
            n: input.layout.unknowns(),
            nnz: input.nnz,
            block_size: input.layout.block(),
            method: options.method,
            precond: options.precond,
            backend: options.backend,
            product: options.product,
            threads_per_rank: threads,
            read_seconds: times.read.as_secs_f64(),
            setup_seconds: times.setup.as_secs_f64(),
            solve_seconds: times.solve.as_secs_f64(),
            iterations: solved.iterations,
            tolerance: options.tol,
            true_relative_residual: solved.true_residual,
            outcome: solved.outcome.name(),
            advice: solved.outcome.advice(),
            history,
            levels,
            ranks,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    pub(crate) fn converged(&self) -> bool {
        self.outcome == coarsen_core::Outcome::Converged.name()
    }

    pub(crate) fn outcome(&self) -> &'static str {
        self.outcome
    }

    pub(crate) fn advice(&self) -> &'static str {
        self.advice
    }

    /// Writes the JSON.
    pub(crate) fn write(&self, file: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::File { file: file.into(), kind: error.kind() };
        let mut text = serde_json::to_string_pretty(self).map_err(std::io::Error::other).map_err(failed)?;
        text.push('\n');
        std::fs::write(file, text).map_err(failed)
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, nnz, block_size: b, iterations, solve_seconds, .. } = self;
        let each = 1e3 * solve_seconds / (*iterations).max(1) as f64;
        writeln!(f, "system    {}: {n} unknowns, {nnz} entries, {b} x {b} blocks", self.source)?;
        writeln!(f, "method    {}", name(self.method))?;
        writeln!(f, "precond   {}", name(self.precond))?;
        for line in self.levels.iter().flat_map(|table| table.lines()) {
            writeln!(f, "          {line}")?;
        }
        writeln!(f, "product   {}", name(self.product))?;
        if self.backend != Place::Cpu {
            writeln!(f, "backend   {}", name(self.backend))?;
        }
        writeln!(f, "reading   {:.3} s", self.read_seconds)?;
        let ranks = count(self.ranks.ranks.len(), "rank");
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
        writeln!(f, "\nin the solve  block rows      halo   bytes/product  messages   MiB sent   waited s")?;
        for (rank, of) in self.ranks.ranks.iter().enumerate() {
            writeln!(
                f,
                "rank {rank:<7} {:>11} {:>9} {:>15} {:>9} {:>10.3} {:>10.3}",
                of.rows,
                of.halo,
                of.bytes_per_product,
                of.messages,
                mib(of.bytes),
                of.waiting_seconds
            )?;
        }
        if !self.ranks.stages.is_empty() {
            writeln!(f, "\nstage, all ranks                     messages   MiB sent   waited s   longest s")?;
        }
        for stage in &self.ranks.stages {
            writeln!(
                f,
                "{:<34} {:>10} {:>10.3} {:>10.3} {:>11.3}",
                stage.stage,
                stage.messages,
                mib(stage.bytes),
                stage.waiting_seconds,
                stage.longest_seconds
            )?;
        }
        Ok(())
    }
}
