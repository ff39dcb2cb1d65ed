//! The number of threads of a rank.
//!
//! | symbol | here | |
//! |---|---|---|
//! | Cᵢ | `cores` | cores on which rank i may run |
//! | n_c | | number of ranks that may run on core c of the same machine |
//! | tᵢ | | threads of rank i: Σ over c in Cᵢ of 1 / n_c, rounded down, at least 1 |
//!
//! Σ tᵢ is at most the number of cores, unless there are more ranks than cores.

use coarsen_distributed::{CommError, Communicator};

/// The number of threads that this rank can use while no core runs two threads: the cores that it may use, divided
/// among the ranks that may use them. All ranks call it.
///
/// # Errors
/// Errors of communication.
pub fn threads_per_rank<C: Communicator>(comm: &C) -> Result<usize, CommError> {
    let machine = mpi::environment::processor_name().unwrap_or_default();
    let here = (machine, cores());
    let text = here.1.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let all = comm.all_gather(format!("{text}@{}", here.0).as_bytes())?;
    let ranks: Vec<(Vec<usize>, String)> =
        all.iter().map(|text| parse(&String::from_utf8_lossy(text))).collect();
    let sharing =
        |core: &usize| ranks.iter().filter(|(cores, name)| *name == here.0 && cores.contains(core)).count();
    let share: f64 = here.1.iter().map(|core| 1.0 / sharing(core).max(1) as f64).sum();
    // A control group may allow fewer cores than the list holds.
    let quota =
        std::thread::available_parallelism().map_or(1, usize::from) as f64 / here.1.len().max(1) as f64;
    Ok(((share * quota.min(1.0) + 1e-9) as usize).max(1))
}

fn parse(text: &str) -> (Vec<usize>, String) {
    let (cores, name) = text.split_once('@').unwrap_or(("", text));
    (cores.split(',').filter_map(|core| core.parse().ok()).collect(), name.to_owned())
}

/// The cores on which this process may run, as Linux lists them; otherwise as many as the system reports.
fn cores() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cores: Vec<usize> = list.map(ranges).unwrap_or_default();
    let count = || 0..std::thread::available_parallelism().map_or(1, usize::from);
    if cores.is_empty() { count().collect() } else { cores }
}

/// The numbers of a list such as `0-3,8`.
fn ranges(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse::<usize>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}
