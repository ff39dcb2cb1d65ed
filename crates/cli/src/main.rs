//! The command `coarsen`: solves, inspects and generates sparse linear systems.
//!
//! Folders are layers. A file imports from its own folder and from folders above it in this table.
//!
//! | folder | contents |
//! |---|---|
//! | `arguments` | the command line: `command` has the options, `names` and `value` their values; `options` reads them from a file; `files` checks the files that they name; `aggregation` has the options of `--precond sa`, `classical` those of `rs`, `domains` those of `mas`, `overlap` those of `as` and `ras`, `skinning` those of `skinning`, `families` those that are given |
//! | `input` | `system`: matrix or problem, right-hand sides and additional data; `numpy`: files of NumPy and SciPy; `ready`: the system in blocks, with its diagnosis; `renumber`: reordering of the nodes |
//! | `decision` | `choose` and `decide`: method and preconditioner, as requested or chosen by `coarsen::auto`; `candidates` for a comparison; `backends` that solve |
//! | `run` | `solve`, one system by a plan, and its `solution`; `refuse`, what excludes a method; `sequence_solver`, the steps of a sequence; `elastic`, the preconditioner of a soft body; `backend` and `device` build preconditioners; `progress`, what is printed meanwhile |
//! | `report` | `summary`, `table`, `chart` and `plot` for people, drawn by `drawing`, `json` for programs, and `dump`, a folder from which a run can be repeated |
//! | `commands` | one file for each command |
//!
//! All folders use `error` (errors of the command line and of files), `words` (messages of the library in the words of
//! the command), `console` (printing) and `memory` (an allocator that counts bytes).

mod arguments;
mod commands;
mod console;
mod decision;
mod error;
mod input;
mod memory;
mod report;
mod run;
mod words;

use std::process::ExitCode;

use clap::Parser;

use arguments::options::expanded;
use arguments::{Arguments, Command};
use commands::{compare, devices, generate, info, manual, minimize, sequence, solve, spy};
use error::Failure;

fn main() -> ExitCode {
    let words = match expanded(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(failure) => return ended(failure),
    };
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(told) => return console::usage(&told),
    };
    let done = match arguments.command {
        Command::Solve(options) if sequence::is_asked(&options) => sequence::run(&options),
        Command::Solve(options) => solve::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Spy(options) => spy::run(&options),
        Command::Info(options) => info::run(&options),
        Command::Generate(options) => generate::run(&options),
        Command::Devices(options) => devices::run(&options),
        Command::Minimize(options) => minimize::run(&options),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { command } => manual::page(command.as_deref()),
    };
    done.unwrap_or_else(ended)
}

/// Prints an error, and returns its exit code.
fn ended(mut failure: Failure) -> ExitCode {
    console::complain(&format!("error: {}\n", failure.words()));
    ExitCode::from(failure.code())
}
