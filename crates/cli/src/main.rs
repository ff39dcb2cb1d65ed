//! The coarsen command: solve a sparse system, look at one, make one.
//!
//! Folders are layers: a file imports from those before it, and from its own.
//!
//! | folder | what |
//! |---|---|
//! | `arguments` | what the command line says: `command` the options, `names` what they choose between; `aggregation`, `domains` and `overlap` are the options of `--precond sa`, `mas`, and `as` and `ras` |
//! | `input` | what a run begins with: `system` the matrix or problem, right-hand side and what is known beside them; `ready` the system in blocks, looked at, with the seconds that took in `looks`; `renumber` another order of the nodes |
//! | `decision` | what is done: as asked, else as `coarsen::auto` says |
//! | `run` | that is done: `job` is one system to solve and what a method made of it, `attempts` are several, `iterate` a Krylov method at one place and precision, `factor` a direct one, `stage` and `device` the places; `follower` and `elastic` the preconditioners of sequences and bodies; `ending` how a solve ended, its cause and its cure |
//! | `report` | what is written: `summary` for machines and people, `table`, `chart` and `plot` of several, `dump` a folder that makes a run again |
//! | `commands` | one file a command |
//!
//! Beside them: `error`, what is wrong with the command line or a file, and `memory`, which counts bytes.

mod arguments;
mod commands;
mod decision;
mod error;
mod input;
mod memory;
mod report;
mod run;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use commands::{compare, devices, generate, info, minimize, sequence, solve, spy};

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
