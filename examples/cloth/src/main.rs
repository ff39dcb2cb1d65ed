//! The program `cloth`; the library beside this file says what it does.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    cloth::start(&cloth::Options::parse())
}
