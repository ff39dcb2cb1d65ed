//! The command `coarsen-mpi`: solves sparse linear systems on the ranks of `mpirun`.
//!
//! | file | what |
//! |---|---|
//! | `arguments` | the command line, with the words of `coarsen` |
//! | `files` | checks of the files of the command line; the standard output |
//! | `input` | the rows of this rank: a problem of the gallery or a file, right-hand side and starting guess |
//! | `matrix` | the unknowns of a node; properties that exclude a method |
//! | `division` | which nodes a rank takes: consecutive, in Morton order, by bisection, by a file |
//! | `schedule` | how products exchange vectors; the best schedule of measured links |
//! | `parameters` | the options of smoothed aggregation and of multilevel Schwarz |
//! | `solve` | partition, matrix, preconditioner, method |
//! | `device` | the same with an OpenCL device in each rank |
//! | `steps` | the times of setup, products and preconditioner |
//! | `ranks` | the tables of ranks, steps and stages |
//! | `report` | what rank 0 prints: the system, times, and these tables |
//! | `failure` | errors, their exit codes, and which rank prints |

mod arguments;
mod device;
mod division;
mod failure;
mod files;
mod input;
mod matrix;
mod parameters;
mod ranks;
mod report;
mod schedule;
mod solve;
mod steps;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use coarsen_core::parallel;
use coarsen_distributed::{Communicator, Counted};
use coarsen_mpi::{MpiComm, threads_per_rank};

use arguments::{Arguments, Command, Solve};
use failure::{Failure, together};
use files::{is_standard, say};
use report::Report;

/// The time limit until the command line is read.
const START: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let comm = match MpiComm::world(START) {
        Ok(comm) => comm,
        Err(error) => return complain(&Failure::Start(error), true),
    };
    let ended = run(&comm).unwrap_or_else(|failure| complain(&failure, failure.is_first(&comm)));
    drop(comm);
    ended
}

fn run(comm: &MpiComm) -> Result<ExitCode, Failure> {
    // mpirun can start ranks with different command lines.
    let Command::Solve(options) = together(comm, Arguments::try_parse().map_err(Failure::Parse))?.command;
    let all = comm.all_gather(format!("{options:?}").as_bytes())?;
    if let Some(rank) = all.iter().position(|other| *other != all[0]) {
        return Err(Failure::Usage(format!(
            "rank {rank} has another command line than rank 0; start all ranks with the same one"
        )));
    }
    let comm = match options.deadline {
        Some(seconds) => MpiComm::world(Duration::from_secs_f64(seconds))?,
        None => comm.clone(),
    };
    let threads = match options.threads {
        Some(threads) => threads as usize,
        None => threads_per_rank(&comm)?,
    };
    let ended = parallel::threads(threads, || on_threads(&comm, &options, threads));
    together(&comm, ended.map_err(Failure::Core))?
}

fn on_threads(comm: &MpiComm, options: &Solve, threads: usize) -> Result<ExitCode, Failure> {
    let report = solve::run(&Counted::new(comm.clone()), options, threads)?;
    let written = if comm.rank() == 0 { show(&report, options) } else { Ok(()) };
    together(comm, written)?;
    if report.converged() {
        return Ok(ExitCode::SUCCESS);
    }
    if comm.rank() == 0 {
        eprintln!("error: {}: {}", report.outcome, report.advice);
    }
    Ok(ExitCode::from(4))
}

/// Prints and writes the report. The standard output of `--out -` and `--report -` has no table.
fn show(report: &Report, options: &Solve) -> Result<(), Failure> {
    let is_data = options.out.iter().chain(&options.report).any(|file| is_standard(file));
    match (options.quiet, is_data) {
        (true, _) => (),
        (false, true) => drop(write!(std::io::stderr().lock(), "{report}")),
        (false, false) => say(&report.to_string())?,
    }
    options.report.as_deref().map_or(Ok(()), |file| report.write(file))
}

fn complain(failure: &Failure, aloud: bool) -> ExitCode {
    match failure {
        _ if !aloud => (),
        Failure::Parse(told) => {
            let printed = told.print().and_then(|()| std::io::stdout().flush());
            if let Some(error) = printed.err().filter(|error| error.kind() != ErrorKind::BrokenPipe) {
                eprintln!("error: <stdout>: cannot be written ({})", error.kind());
                return ExitCode::from(2);
            }
        }
        failure => eprintln!("error: {}", failure.text()),
    }
    ExitCode::from(failure.code())
}
