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

/// A fault that a rank finds before the first frame.
enum Fault {
    Usage(clap::Error),
    Check(Failure),
}

impl Fault {
    fn code(&self) -> u8 {
        match self {
            Self::Usage(error) => error.exit_code() as u8,
            Self::Check(_) => 1,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Usage(error) => error.to_string(),
            Self::Check(error) => format!("error: {error}\n"),
        }
    }
}

/// The options of this rank, its scene and its sheet.
fn checked() -> Result<Options, Fault> {
    let options: Options = options::parse(std::env::args_os()).map_err(|error| match error {
        OptionsError::Usage(told) => Fault::Usage(told),
        OptionsError::Scene(fault) => Fault::Check(fault.into()),
    })?;
    match options.ranks() {
        0 => cloth::check(&options).map_err(Fault::Check)?,
        _ => {
            let reason =
                "--ranks is for ranks as threads; leave it out, since mpirun sets the number of ranks";
            return Err(Fault::Check(reason.into()));
        }
    }
    Ok(options)
}

/// The options if no rank has a fault. Otherwise rank 0 prints the fault of the first rank that has one, and every rank
/// ends with its exit code. A fault that not all ranks have, such as a file that one host lacks, is printed with its
/// rank.
fn together(comm: &MpiComm, found: Result<Options, Fault>) -> Result<Options, u8> {
    let told = found.as_ref().err().map(|fault| [&[fault.code()], fault.text().as_bytes()].concat());
    // Without messages, the end of MPI prints the reason.
    let all = comm.all_gather(&told.unwrap_or_default()).map_err(|_| 1)?;
    let Some((rank, (code, text))) =
        all.iter().enumerate().find_map(|(k, told)| Some((k, told.split_first()?)))
    else {
        return found.map_err(|fault| fault.code());
    };
    if comm.rank() == 0 {
        match found {
            // Help goes to the output.
            Err(Fault::Usage(error)) if all.iter().all(|told| *told == all[0]) => return Err(usage(&error)),
            _ if all.iter().all(|told| *told == all[0]) => eprint!("{}", String::from_utf8_lossy(text)),
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
