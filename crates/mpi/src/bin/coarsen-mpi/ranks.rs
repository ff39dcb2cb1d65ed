//! The tables of ranks, steps and stages.

use std::collections::BTreeMap;
use std::fmt;

use coarsen_distributed::{CommError, Communicator, Counted, Traffic, pack, unpack};
use serde::Serialize;

use crate::steps::{STEPS, Spent};

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

/// A step on all ranks.
#[derive(Serialize)]
struct StepOfAll {
    step: &'static str,
    /// The number of calls, the same on all ranks; 0 for the rest of the solve.
    calls: u64,
    /// The seconds of each rank.
    seconds: Vec<f64>,
}

/// The messages of a stage of the solve, on all ranks.
#[derive(Default, Serialize)]
struct StageOfAll {
    stage: String,
    messages: u64,
    bytes: u64,
    /// The seconds that all ranks waited, and those of the rank that waited longest.
    waiting_seconds: f64,
    longest_seconds: f64,
}

/// The ranks, the steps of the run and the stages of the solve.
#[derive(Serialize)]
pub(crate) struct Ranks {
    ranks: Vec<Rank>,
    steps: Vec<StepOfAll>,
    stages: Vec<StageOfAll>,
}

impl Ranks {
    /// Collects the counts and times of all ranks; every rank returns the same. `own` has the block rows of this rank,
    /// its ghosts, and the bytes that it sends in a product.
    pub(crate) fn gather<C: Communicator>(
        comm: &Counted<C>,
        own: [usize; 3],
        spent: [Spent; STEPS.len()],
    ) -> Result<Self, CommError> {
        let traffic = comm.traffic();
        let sum = |of: &dyn Fn(&Traffic) -> f64| traffic.iter().map(of).fold(0.0, |sum, v| sum + v);
        let mut bytes = Vec::new();
        pack(own.map(|n| n as f64), &mut bytes);
        pack([sum(&|t| t.bytes as f64), sum(&|t| t.messages as f64), sum(&|t| t.waited)], &mut bytes);
        pack(spent.map(|spent| spent.time.as_secs_f64()), &mut bytes);
        let all: Vec<Vec<f64>> = comm.all_gather(&bytes)?.iter().map(|part| unpack(part).collect()).collect();
        let ranks = all.iter().map(|v| Rank {
            rows: v[0] as u64,
            halo: v[1] as u64,
            bytes_per_product: v[2] as u64,
            bytes: v[3] as u64,
            messages: v[4] as u64,
            waiting_seconds: v[5],
        });
        let steps = STEPS.iter().zip(spent).enumerate().map(|(k, (step, spent))| StepOfAll {
            step,
            calls: spent.calls,
            seconds: all.iter().map(|v| v[6 + k]).collect(),
        });
        Ok(Self { ranks: ranks.collect(), steps: steps.collect(), stages: stages(comm, &traffic)? })
    }

    /// The number of ranks.
    pub(crate) fn count(&self) -> usize {
        self.ranks.len()
    }
}

/// The stages that occur on any rank, in the order of their names. Ranks may have different ones: a rank whose rows
/// have no column of another rank sends no halo.
fn stages<C: Communicator>(comm: &Counted<C>, traffic: &[Traffic]) -> Result<Vec<StageOfAll>, CommError> {
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

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "in the solve  block rows      halo   bytes/product  messages   MiB sent   waited s")?;
        for (rank, of) in self.ranks.iter().enumerate() {
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
        writeln!(f, "\nstep of a rank                          calls    least s   longest s   on rank")?;
        for StepOfAll { step, calls, seconds } in &self.steps {
            let longest = (0..seconds.len()).max_by(|i, j| seconds[*i].total_cmp(&seconds[*j])).unwrap_or(0);
            let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let calls = if *calls == 0 { String::new() } else { calls.to_string() };
            writeln!(f, "{step:<34} {calls:>10} {least:>10.3} {:>11.3} {longest:>9}", seconds[longest])?;
        }
        if !self.stages.is_empty() {
            writeln!(f, "\nstage, all ranks                     messages   MiB sent   waited s   longest s")?;
        }
        for stage in &self.stages {
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
