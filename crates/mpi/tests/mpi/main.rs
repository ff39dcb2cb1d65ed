//! The tests run under `mpirun`: this program starts itself again on 1, 2, 3, 4 and 7 ranks.
//!
//! `jobs` starts processes and reads how they end, `reports` what the command reports, `files` what it reads,
//! `matrices` what it finds out about a matrix; `invariants` and `faults` are what a rank runs.

// The systems, layouts and methods of the tests of threads as ranks: the invariants are the same.
#[path = "../../../distributed/tests/distributed/common.rs"]
#[allow(dead_code, reason = "helpers of tests with threads")]
mod common;
mod faults;
mod files;
mod flags;
// The program of the tutorial.
#[path = "../../examples/first.rs"]
#[allow(dead_code, unreachable_pub, reason = "it has a `main` of its own")]
mod first;
mod invariants;
mod jobs;
#[path = "../../../../tests/common/flags.rs"]
mod listed;
mod matrices;
#[path = "../../../../tests/common/outputs.rs"]
mod outputs;
mod parameters;
mod reports;

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::var(jobs::ROLE) {
        Ok(role) if role == "first" => {
            let folder = std::env::args().nth(1).expect("a folder");
            first::run(std::path::Path::new(&folder)).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        Ok(role) if role == "devices" => {
            matrices::list_devices();
            ExitCode::SUCCESS
        }
        Ok(role) => invariants::run(&role).or_else(|| faults::run(&role)).unwrap_or(ExitCode::from(2)),
        Err(_) => jobs::all(),
    }
}
