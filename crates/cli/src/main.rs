//! The coarsen command: solve a sparse system, look at one, make one.
//!
//! Folders are layers: a file imports from those before its own, and from its own.
//!
//! | folder | what |
//! |---|---|
//! | `arguments` | the command line: `command` the options, `names` and `value` what they take; the options of `--precond sa` are in `aggregation`, those of `mas` in `domains`, of `as` and `ras` in `overlap` |
//! | `input` | `system`: matrix or problem, right-hand side, and what is known beside them; `ready`: the system in blocks and its diagnosis; `renumber`: another order of the nodes |
//! | `decision` | `choose` and `decide`: method and preconditioner, as asked or as `coarsen::auto` says; `candidates` of a comparison; `places` to solve at |
//! | `run` | `job`, one system to solve, and `solution`, what a method made of it; `attempt` is one solve and `attempts` those of `auto`; `iterate` is a Krylov method, `factor` a direct one; `stage` and `device` build preconditioners at a place; `ending` is how a solve ended |
//! | `report` | `summary`, `table`, `chart` and `plot` for people, `json` for machines, and `dump`, a folder that makes a run again |
//! | `commands` | a file a command |
//!
//! Below all of them: `error`, what is wrong with the command line or a file; `console`, what is printed; `memory`, which
//! counts bytes.

mod arguments;
mod commands;
mod console;
mod decision;
mod error;
mod input;
mod memory;
mod report;
mod run;

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
        console::complain(&format!("error: {}\n", failure.words()));
        ExitCode::from(failure.code())
    })
}
