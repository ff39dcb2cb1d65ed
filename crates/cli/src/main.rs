//! The coarsen command: solve a sparse system, look at one, make one.
//!
//! | file | what |
//! |---|---|
//! | `main` | parse, dispatch, exit code |
//! | `args` | the command line; `aggregation`, `domains` and `overlap` are the options of `--precond sa`, `mas`, and `as` and `ras`; `names` are what they choose between |
//! | `input` | matrix or problem, right-hand side, and what is known beside them |
//! | `ready` | the system in blocks, looked at |
//! | `choose` | what is done: as asked, else as `coarsen::auto` says; `attempts` does it |
//! | `solve` | from the input to the report |
//! | `job` | one system to solve, and what a method made of it |
//! | `iterate` | a Krylov method at one place and precision; `factor` is a direct one |
//! | `stage` | places, and what can be set up there; `device` is one of OpenCL, `devices` lists them |
//! | `ending` | how a solve ended, its cause and its cure |
//! | `report` | the report for machines and for people |
//! | `plot` | the residual history as a picture |
//! | `sequence` | a system that changes from step to step |
//! | `compare` | every method on one system; `table` and `chart` show it, `memory` counts bytes |
//! | `dump` | a folder that makes a run again |
//! | `minimize` | energies and descent methods; `elastic` joins a body and its preconditioner |
//! | `info`, `generate`, `spy` | the simple commands |
//! | `progress` | bars, on a terminal only |
//! | `error` | what is wrong with the command line or a file |

mod aggregation;
mod args;
mod attempts;
mod chart;
mod choose;
mod compare;
#[cfg(feature = "opencl")]
mod device;
mod devices;
mod domains;
mod dump;
mod elastic;
mod ending;
mod error;
mod factor;
mod generate;
mod info;
mod input;
mod iterate;
mod job;
mod looks;
mod memory;
mod minimize;
mod names;
mod overlap;
mod plot;
mod progress;
mod ready;
mod renumber;
mod report;
mod sequence;
mod solve;
mod spy;
mod stage;
mod table;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Solve(options) if sequence::is_asked(&options) => sequence::run(&options),
        Command::Solve(options) => solve::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Spy(options) => spy::run(&options),
        Command::Info(options) => info::run(&options),
        Command::Generate(options) => generate::run(&options),
        Command::Devices(options) => devices::run(&options),
        Command::Minimize(options) => minimize::run(&options),
    };
    done.unwrap_or_else(|failure| {
        complain(&format!("error: {}\n", failure.words()));
        ExitCode::from(failure.code())
    })
}

/// Prints to the standard output; a reader that went away is no error of ours.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints to the standard error, in the same way.
fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
