//! The example `cloth` on the ranks of `mpirun`: the same options and files, and the same positions to the bit at any
//! number of ranks.
//!
//! ```text
//! mpirun -n 4 target/release/cloth-mpi --scene twist --dt 5e-4 --frames 24
//! ```
//!
//! `--solver block-jacobi|mas|sa` chooses the preconditioner of the steps; with `sa`, positions agree to the tolerance.
//!
//! Rank 0 writes all files and prints. Each rank has threads of its own; by default, the ranks of a machine divide its
//! cores. `crates/mpi/README.md` says how MPI is installed and programs are started.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use cloth::Options;
use coarsen_core::parallel;
use coarsen_distributed::{CommError, Communicator};
use coarsen_mpi::{MpiComm, threads_per_rank};
use examples_common::Failure;

/// No rank waits longer for another.
const DEADLINE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let comm = match MpiComm::world(DEADLINE) {
        Ok(comm) => comm,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = program(&comm);
    drop(comm);
    ended
}

fn program(comm: &MpiComm) -> ExitCode {
    // Up to here all ranks find the same faults, and rank 0 prints them.
    let aloud = comm.rank() == 0;
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            if aloud {
                error.print().unwrap_or_default();
            }
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let checked = match options.ranks() {
        0 => cloth::check(&options),
        _ => {
            Err("--ranks is for ranks as threads; leave it out, since mpirun sets the number of ranks".into())
        }
    };
    if let Err(error) = checked {
        if aloud {
            eprintln!("error: {error}");
        }
        return ExitCode::FAILURE;
    }
    match run(comm, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Others may wait for this rank; the end of MPI prints the reason and ends all.
            if comm.failure().is_none() {
                let (rank, stage) = (comm.rank(), "the frames of cloth");
                comm.fail(CommError::Transport { rank, stage, reason: error.to_string() });
            }
            ExitCode::FAILURE
        }
    }
}

fn run(comm: &MpiComm, options: &Options) -> Result<(), Failure> {
    let threads = match options.threads() {
        0 => threads_per_rank(comm)?,
        threads => threads,
    };
    parallel::threads(threads, || cloth::on_ranks(comm.clone(), options))?
}
