//! The example `cloth` on the ranks of `mpirun`: the same options but `--backend`, the same files, and the same positions to
//! the bit at any number of ranks.
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

use cloth::Options;
use coarsen_core::parallel;
use coarsen_distributed::{CommError, Communicator};
use coarsen_mpi::{MpiComm, threads_per_rank};
use examples_run::Failure;
use examples_run::arguments::{Unconverged, exit_code, usage};
use examples_scene::options::{self, OptionsError};

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
    let options = match together(comm, checked()) {
        Ok(options) => options,
        Err(code) => return ExitCode::from(code),
    };
    match run(comm, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Unconverged>() => {
            // All ranks have it, after the last frame.
            if comm.rank() == 0 {
                eprintln!("error: {error}");
            }
            ExitCode::from(exit_code(&error))
        }
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

/// The options of this rank, after a check of its scene and its sheet.
fn checked() -> Result<Options, Failure> {
    let options: Options = options::parse(std::env::args_os())?;
    if options.ranks() > 0 {
        return Err(
            "--ranks is for ranks as threads; leave it out, since mpirun sets the number of ranks".into()
        );
    }
    cloth::check(&options)?;
    Ok(options)
}

/// The exit code of a fault, and its words.
fn told(fault: &Failure) -> (u8, String) {
    match fault.downcast_ref() {
        Some(OptionsError::Usage(error)) => (error.exit_code() as u8, error.to_string()),
        _ => (1, format!("error: {fault}\n")),
    }
}

/// The options if no rank has a fault. Otherwise rank 0 prints the fault of the first rank that has one, and every rank
/// ends with its exit code. A fault that not all ranks have, such as a file that one host lacks, is printed with its
/// rank.
fn together(comm: &MpiComm, found: Result<Options, Failure>) -> Result<Options, u8> {
    let own = found.as_ref().err().map(told).map(|(code, text)| [&[code], text.as_bytes()].concat());
    // Without messages, the end of MPI prints the reason.
    let all = comm.all_gather(&own.unwrap_or_default()).map_err(|_| 1)?;
    let Some((rank, (code, text))) =
        all.iter().enumerate().find_map(|(k, told)| Some((k, told.split_first()?)))
    else {
        return found.map_err(|fault| told(&fault).0);
    };
    if comm.rank() == 0 {
        let alike = all.iter().all(|told| *told == all[0]);
        match found.as_ref().err().and_then(|fault| fault.downcast_ref()) {
            Some(OptionsError::Usage(error)) if alike => return Err(usage(error)), // help goes to the output
            _ if alike => eprint!("{}", String::from_utf8_lossy(text)),
            _ => eprint!("on rank {rank}: {}", String::from_utf8_lossy(text)),
        }
    }
    Err(*code)
}

fn run(comm: &MpiComm, options: &Options) -> Result<(), Failure> {
    let threads = match options.threads() {
        0 => threads_per_rank(comm)?,
        threads => threads,
    };
    parallel::threads(threads, || cloth::on_ranks(comm.clone(), options))?
}
